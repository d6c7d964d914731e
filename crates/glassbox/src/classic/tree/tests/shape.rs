//! How full nodes become, where the root stays, and that empty leaves go.

use super::*;

fn filling(fixture: &Fixture<IntegerKeys>) -> f64 {
    let tree = fixture.tree();
    let capacity = super::node::capacity(PAGE_BYTES, 0, fixture.definition.key_width());
    tree.len().unwrap() as f64 / (tree.pages().unwrap().len() * capacity) as f64
}

#[test]
fn growing_keys_fill_nodes() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    for number in 0..20_000 {
        insert(&fixture, &mut journal, &key(number, 8), rid(number));
    }
    assert!(filling(&fixture) > 0.97, "{}", filling(&fixture));
}

#[test]
fn several_growing_sequences_side_by_side_fill_nodes() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    let mut random = Random::new(1);
    let mut next = [0; 10];
    for _ in 0..40_000 {
        let sequence = random.below(10);
        let number = &mut next[sequence as usize];
        insert(&fixture, &mut journal, &key(sequence << 32 | *number, 8), rid(*number));
        *number += 1;
    }
    assert_eq!(fixture.tree().check().unwrap(), []);
    assert!(filling(&fixture) > 0.9, "{}", filling(&fixture));
}

/// A queue: keys come at the upper end of each sequence and go at its lower end.
#[test]
fn queues_keep_few_pages() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    for number in 0..30_000_u64 {
        for sequence in [1, 2, 3] {
            insert(&fixture, &mut journal, &key(sequence << 32 | number, 8), rid(number));
            if number >= 1000 {
                let gone = key(sequence << 32 | (number - 1000), 8);
                assert_eq!(remove(&fixture, &mut journal, &gone), Removed::Done(rid(number - 1000)));
            }
        }
    }
    assert_eq!(fixture.tree().check().unwrap(), []);
    // 3000 entries of 16 bytes, and at both ends of each sequence a leaf that is not full.
    assert!(fixture.space.in_use() < 30, "{}", fixture.space.in_use());
}

#[test]
fn random_keys_leave_nodes_two_thirds_full() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    let mut random = Random::new(1);
    for number in 0..20_000 {
        insert(&fixture, &mut journal, &key(random.next() << 16, 8), rid(number));
    }
    let filling = filling(&fixture);
    assert!((0.6..0.8).contains(&filling), "{filling}");
}
