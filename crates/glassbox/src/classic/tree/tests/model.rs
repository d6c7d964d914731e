//! Dice histories against a sorted map.

use super::*;
use crate::record::Direction;

/// Inserts, removes, looks up and scans; the structure is checked now and then and at the end.
fn history<K: Keys>(keys: K, entries: usize, seed: u64, steps: usize) {
    let width = keys.width();
    let fixture = Fixture::new(keys, entries);
    let mut model = BTreeMap::new();
    let mut dice = Dice(seed);
    let mut journal = fixture.log.journal();
    let space = if width == 1 { 256 } else { 600 };
    // Growing and shrinking by turns, so that levels come and go.
    for step in 0..steps {
        let growing = step / 300 % 2 == 0;
        let number = dice.below(space);
        let key = key(number, width);
        match dice.below(10) {
            0..6 if growing => insert_both(&fixture, &mut journal, &mut model, &key, rid(step as u64)),
            0..2 => insert_both(&fixture, &mut journal, &mut model, &key, rid(step as u64)),
            2..8 => {
                let expected = model.remove(&key).map_or(Removed::Missing, Removed::Done);
                assert_eq!(remove(&fixture, &mut journal, &key), expected);
            }
            8 => {
                let expected = model.get(&key).map_or(Find::Missing, |rid| Find::Found(*rid));
                assert_eq!(fixture.tree().find(&key, |_| true).unwrap(), expected);
            }
            _ => {
                let high = super::key((number + dice.below(60)).min(space - 1), width);
                scan_both(&fixture, &model, &key, &high, &mut dice);
            }
        }
        if step % 16 == 0 {
            fixture.agrees(&model);
        }
    }
    for key in model.keys().cloned().collect::<Vec<_>>() {
        assert_eq!(remove(&fixture, &mut journal, &key), Removed::Done(model.remove(&key).unwrap()));
    }
    fixture.agrees(&model);
    fixture.replays();
    assert_eq!(fixture.space.in_use(), 1, "an empty tree is its root");
}

fn insert_both<K: Keys>(
    fixture: &Fixture<K>,
    journal: &mut MemoryJournal,
    model: &mut BTreeMap<Vec<u8>, Rid>,
    key: &[u8],
    rid: Rid,
) {
    let expected = model.get(key).map_or(Inserted::Done, |rid| Inserted::Exists(*rid));
    assert_eq!(insert(fixture, journal, key, rid), expected);
    model.entry(key.to_vec()).or_insert(rid);
}

fn scan_both<K: Keys>(fixture: &Fixture<K>, model: &BTreeMap<Vec<u8>, Rid>, low: &[u8], high: &[u8], dice: &mut Dice) {
    let mut expected: Vec<Rid> = model.range(low.to_vec()..=high.to_vec()).map(|(_, rid)| *rid).collect();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut cursor = Cursor::new(direction, low, high);
        let mut out = [rid(0); 5];
        let room = 1 + dice.below(5) as usize;
        let mut found = Vec::new();
        loop {
            // Now and then the caller does not get a lock.
            let refuse = dice.below(4) == 0;
            match cursor.steps(&fixture.tree(), &mut out[..room], |_| !refuse).unwrap() {
                Step::Got(count) => found.extend_from_slice(&out[..count]),
                Step::End => break,
                Step::Refused(_) => assert!(refuse),
            }
        }
        assert_eq!(found, expected, "{direction:?}");
        expected.reverse();
    }
}

#[test]
fn histories_with_few_entries_in_a_node() {
    for seed in 1..7 {
        history(IntegerKeys::new(4), 4, seed, 2400);
    }
}

#[test]
fn histories_for_every_way_to_compare_keys() {
    for width in [1, 3, 8, 9, 12, 16, 17, 24, 31, 128, 255, 256, MAX_KEY_BYTES] {
        history(IntegerKeys::new(width), 5, width as u64, 900);
    }
    let part = |kind| KeyPart { kind, nullable: false };
    use crate::record::ColumnType;
    history(SchemaKeys::new(&[part(ColumnType::U16), part(ColumnType::I32)]), 5, 1, 900);
    history(SchemaKeys::new(&[part(ColumnType::Text(12)), part(ColumnType::U16)]), 6, 2, 900);
}

#[test]
fn histories_on_full_pages() {
    history(IntegerKeys::new(MAX_KEY_BYTES), usize::MAX, 1, 3000);
    history(IntegerKeys::new(120), usize::MAX, 2, 3000);
}

#[test]
fn growing_and_falling_keys() {
    for falling in [false, true] {
        let fixture = Fixture::new(IntegerKeys::new(8), 8);
        let mut journal = fixture.log.journal();
        let mut model = BTreeMap::new();
        for number in 0..3000 {
            let key = key(if falling { 2999 - number } else { number }, 8);
            insert_both(&fixture, &mut journal, &mut model, &key, rid(number));
        }
        fixture.agrees(&model);
        for number in 0..3000 {
            let key = key(number, 8);
            assert_eq!(remove(&fixture, &mut journal, &key), Removed::Done(model.remove(&key).unwrap()));
            if number % 50 == 0 {
                fixture.agrees(&model);
            }
        }
        fixture.agrees(&model);
    }
}
