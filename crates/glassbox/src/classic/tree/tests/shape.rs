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
    let mut dice = Dice(1);
    let mut next = [0; 10];
    for _ in 0..40_000 {
        let sequence = dice.below(10);
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
fn dice_keys_leave_nodes_two_thirds_full() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    let mut dice = Dice(1);
    for number in 0..20_000 {
        insert(&fixture, &mut journal, &key(dice.roll() << 16, 8), rid(number));
    }
    let filling = filling(&fixture);
    assert!((0.6..0.8).contains(&filling), "{filling}");
}

/// The node that docs/formats/tree.md draws.
#[test]
fn the_bytes_of_a_leaf() {
    let pages = MemoryPages::new(PAGE_BYTES);
    let (space, log) = (TestSpace::new(), MemoryLog::default());
    let mut journal = log.journal();
    let root = create(&pages, &space, &mut journal, StoreId(9), 2).unwrap();
    let definition = Definition::new(StoreId(9), root, IntegerKeys::new(2), PAGE_BYTES);
    let tree = Tree::new(&pages, &space, &definition);
    for (key, page, slot) in [([1, 2], 7, 0), ([1, 4], 8, 1)] {
        let rid = Rid { page: PageId(page), slot };
        assert_eq!(tree.insert(&mut journal, &key, rid, Undo::Logical, |_| true).unwrap(), Inserted::Done);
    }
    let page = pages.fix_shared(ROOT).unwrap();
    let mut expected = vec![0; PAGE_BYTES];
    expected[4] = 5;
    expected[8] = 24;
    expected[16] = 3;
    expected[20] = 9;
    let node = [
        &[0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0][..],
        &[1, 2, 0, 0, 0, 7, 0, 0, 0, 0],
        &[1, 4, 0, 0, 0, 8, 0, 0, 0, 1],
    ];
    let node = node.concat();
    expected[24..24 + node.len()].copy_from_slice(&node);
    assert_eq!(&page[..], expected);
    let insert = log.0.lock().unwrap()[2].change.clone();
    assert_eq!(insert, [5, 0, 9, 0, 0, 0, 1, 0, 1, 4, 0, 0, 0, 8, 0, 0, 0, 1]);
}
