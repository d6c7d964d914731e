//! Guesses: of a leaf by what was found before, of a place by what was inserted. Wrong ones change nothing.

use super::*;
use crate::classic::tree::{Find, Fingers, Near};

/// Sequences that grow side by side, keys that go, leaves that split and are unlinked; two sessions, each with its own
/// fingers.
fn history(entries: usize, rounds: u32, seed: u64) {
    let fixture = Fixture::new(IntegerKeys::new(8), entries);
    let mut journal = fixture.log.journal();
    let mut sessions = [Fingers::default(), Fingers::default()];
    let (mut dice, mut model) = (Dice(seed), BTreeMap::new());
    let mut next = [0_u64; 4];
    for round in 0..rounds {
        let sequence = dice.below(4);
        match dice.below(8) {
            0..=3 => {
                // Some in a row, as the lines of an order; perhaps with those that follow.
                let mut step = || {
                    let number = sequence << 20 | next[sequence as usize];
                    next[sequence as usize] += 1 + dice.below(3) / 2;
                    number
                };
                let numbers: Vec<_> = (0..=round % 6).map(|_| (step(), rid(u64::from(round)))).collect();
                let mut left = &numbers[..];
                while let Some(((number, rid), following)) = left.split_first() {
                    let key = key(*number, 8);
                    let fingers = Some(&mut sessions[dice.below(2) as usize]);
                    let following = if dice.below(2) == 0 { following } else { &[] };
                    let mut near = Near::new((&key, *rid), Undo::Logical, fingers, following);
                    let asks = dice.below(2) == 0;
                    let done = fixture.tree().insert_near(&mut journal, &mut near, asks, |_| true).unwrap();
                    assert_eq!(done, Inserted::Done);
                    let (done, others) = left.split_at(1 + near.followed);
                    model.extend(done.iter().map(|(number, rid)| (super::key(*number, 8), *rid)));
                    left = others;
                }
            }
            4 => {
                let number = dice.below(next[sequence as usize] + 1);
                next[sequence as usize] = next[sequence as usize].max(number + 1);
                let key = key(sequence << 20 | number, 8);
                let fingers = Some(&mut sessions[0]);
                let mut near = Near::new((&key, rid(1)), Undo::Logical, fingers, &[]);
                match fixture.tree().insert_near(&mut journal, &mut near, true, |_| true).unwrap() {
                    Inserted::Done => assert_eq!(model.insert(key, rid(1)), None),
                    Inserted::Exists(other) => assert_eq!(model.get(&key), Some(&other)),
                    Inserted::Refused(_) => unreachable!("everything is admitted"),
                }
            }
            5 => {
                // From the lower end of what is there, so that leaves become empty; or anywhere.
                for _ in 0..dice.below(12) {
                    let from = key(if dice.below(3) == 0 { sequence << 20 | dice.below(50) } else { 0 }, 8);
                    let Some((key, rid)) = model.range(from..).next().map(|(key, rid)| (key.clone(), *rid)) else {
                        break;
                    };
                    assert_eq!(remove(&fixture, &mut journal, &key), Removed::Done(rid));
                    model.remove(&key);
                }
            }
            _ => {
                let key = key(sequence << 20 | dice.below(next[sequence as usize] + 2), 8);
                let found = fixture.tree().find(&key, |_| true).unwrap();
                assert_eq!(found, model.get(&key).map_or(Find::Missing, |rid| Find::Found(*rid)));
            }
        }
    }
    fixture.agrees(&model);
    fixture.replays();
}

#[test]
fn are_right_or_harmless() {
    for seed in 1..20 {
        history(4 + seed as usize % 5, 1500, seed);
    }
    history(usize::MAX, 20_000, 20);
}

/// A sequence that grows before many other keys gets a leaf of its own; the root, which cannot give it one, does not
/// try for ever.
#[test]
fn sequences_settle_before_others() {
    let fixture = Fixture::new(IntegerKeys::new(8), usize::MAX);
    let mut journal = fixture.log.journal();
    let mut model = BTreeMap::new();
    let mut add = |number: u64| {
        assert_eq!(insert(&fixture, &mut journal, &key(number, 8), rid(number)), Inserted::Done);
        model.insert(key(number, 8), rid(number));
    };
    (1000..1200).chain(0..50).for_each(&mut add);
    assert_eq!(fixture.tree().pages().unwrap().len(), 1);
    // The root grows at 252 entries; then there are leaves.
    (50..60).chain(2000..2100).chain(500..510).for_each(&mut add);
    let before = fixture.tree().pages().unwrap().len();
    (510..560).for_each(&mut add);
    assert!(fixture.tree().pages().unwrap().len() <= before + 1);
    fixture.agrees(&model);
    fixture.replays();
}
