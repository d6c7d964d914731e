//! What the callers are asked: exactly the records whose locks protect what they read or change.

use super::*;
use crate::classic::tree::Near;
use crate::record::Direction;

/// Keys 0, 10, 20 ... 590, in nodes of few entries, so that many neighbours are on other pages.
fn fixture() -> Fixture<IntegerKeys> {
    let fixture = Fixture::new(IntegerKeys::new(2), 4);
    let mut journal = fixture.log.journal();
    for number in (0..60).map(|number| number * 7 % 60 * 10) {
        assert_eq!(insert(&fixture, &mut journal, &key(number, 2), rid(number)), Inserted::Done);
    }
    fixture
}

/// The next key above `number`.
fn above(number: u64) -> Next {
    let next = number / 10 * 10 + 10;
    if next < 600 { Next::Record(rid(next)) } else { Next::End }
}

#[test]
fn a_lookup_asks_about_the_key_or_the_next_one() {
    let fixture = fixture();
    for number in 0..620 {
        for admitted in [true, false] {
            let here = number < 600 && number % 10 == 0;
            let expected = if here { Neighbour::Here(rid(number)) } else { Neighbour::Beyond(above(number)) };
            let mut asked = Vec::new();
            let found = fixture.tree().find(&key(number, 2), |InLeaf { found, .. }| {
                asked.push(found);
                admitted
            });
            assert_eq!(asked, [expected]);
            let done = if here { Find::Found(rid(number)) } else { Find::Missing };
            assert_eq!(found.unwrap(), if admitted { done } else { Find::Refused(expected) });
        }
    }
}

#[test]
fn a_refused_change_changes_nothing() {
    let fixture = fixture();
    let before = fixture.pages.contents();
    for number in 0..620 {
        let mut journal = fixture.log.journal();
        let mut asked = Vec::new();
        let mut refuse = |InLeaf { found: next, .. }| {
            asked.push(next);
            false
        };
        let key = key(number, 2);
        if number < 600 && number % 10 == 0 {
            let done = fixture.tree().remove(&mut journal, &key, Undo::Logical, &mut refuse).unwrap();
            assert_eq!(done, Removed::Refused(above(number)));
            for admitted in [false, true] {
                let here = Neighbour::Here(rid(number));
                let admit = |what: InLeaf<Neighbour>| what.found == here && admitted;
                let done = fixture.tree().insert(&mut journal, &key, rid(1), Undo::Logical, admit).unwrap();
                assert_eq!(done, if admitted { Inserted::Exists(rid(number)) } else { Inserted::Refused(here) });
            }
        } else {
            let refuse = |InLeaf { leaf, found }| match found {
                Neighbour::Beyond(next) => refuse(InLeaf { leaf, found: next }),
                Neighbour::Here(_) => panic!("it is not there"),
            };
            let done = fixture.tree().insert(&mut journal, &key, rid(1), Undo::Logical, refuse).unwrap();
            assert_eq!(done, Inserted::Refused(Neighbour::Beyond(above(number))));
            let done = fixture.tree().remove(&mut journal, &key, Undo::Logical, |_| panic!("not asked"));
            assert_eq!(done.unwrap(), Removed::Missing);
        }
        assert_eq!(asked, [above(number)]);
    }
    assert!(fixture.pages.contents() == before, "nothing was written");
}

#[test]
fn a_scan_asks_about_each_key_and_the_first_above_the_range() {
    let fixture = fixture();
    for (low, high) in [(0, 599), (5, 5), (10, 10), (15, 333), (340, 620), (595, 620), (600, 620), (120, 131)] {
        let inside: Vec<Rid> = (low..=high.min(599)).filter(|number| number % 10 == 0).map(rid).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            for room in [1, 3, 64] {
                let mut expected: Vec<Neighbour> = inside.iter().copied().map(Neighbour::Here).collect();
                expected.push(Neighbour::Beyond(above(high)));
                if direction == Direction::Backward {
                    expected.reverse();
                }
                let (mut asked, mut found) = (Vec::new(), Vec::new());
                let mut cursor = Cursor::new(direction, &key(low, 2), &key(high, 2));
                let mut out = vec![rid(0); room];
                let admit = |what: Neighbour, asked: &mut Vec<Neighbour>| {
                    asked.push(what);
                    true
                };
                while let Step::Got(count) =
                    cursor.steps(&fixture.tree(), &mut out, |what| admit(what.found, &mut asked)).unwrap()
                {
                    found.extend_from_slice(&out[..count]);
                }
                assert_eq!(asked, expected, "{low} to {high}");
                let mut inside = inside.clone();
                if direction == Direction::Backward {
                    inside.reverse();
                }
                assert_eq!(found, inside);
                assert_eq!(cursor.steps(&fixture.tree(), &mut out, |_| panic!("not asked")).unwrap(), Step::End);
            }
        }
    }
}

#[test]
fn a_refused_step_is_taken_again() {
    let fixture = fixture();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut cursor = Cursor::new(direction, &key(200, 2), &key(300, 2));
        let mut got = Vec::new();
        let mut refused: Option<Neighbour> = None;
        loop {
            // Refuse what was not refused the last time.
            let mut now = None;
            let step = cursor.step(&fixture.tree(), |InLeaf { found: what, .. }| {
                let again = refused == Some(what);
                if !again && now.is_none() {
                    now = Some(what);
                }
                again
            });
            match step.unwrap() {
                Step::Got(rid) => got.push(rid),
                Step::End => break,
                Step::Refused(what) => assert_eq!(Some(what), now),
            }
            refused = now.or(refused);
        }
        let mut expected: Vec<Rid> = (20..=30).map(|number| rid(number * 10)).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        assert_eq!(got, expected);
    }
}

/// The leaf that the caller is asked to lock is the one where the key is or would be, and the one that changes.
#[test]
fn a_question_names_the_leaf_where_the_key_belongs() {
    let fixture = fixture();
    let leaf_of = |number: u64| {
        let tree = fixture.tree();
        let key = key(number, 2);
        let probe = tree.keys().probe(&key);
        tree.leaf(|node| tree.child_at(node, probe)).unwrap().id
    };
    let leaves: std::collections::BTreeSet<PageId> = (0..620).map(leaf_of).collect();
    assert!(leaves.len() > 10, "{leaves:?}");
    let note = |leaves: &mut Vec<PageId>, leaf| {
        leaves.push(leaf);
        true
    };
    for number in 0..620 {
        let mut leaves_asked = Vec::new();
        fixture.tree().find(&key(number, 2), |asked| note(&mut leaves_asked, asked.leaf)).unwrap();
        assert_eq!(leaves_asked, [leaf_of(number)]);
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let mut leaves_asked = Vec::new();
        let mut cursor = Cursor::new(direction, &key(0, 2), &key(620, 2));
        while let Step::Got(_) = cursor.step(&fixture.tree(), |asked| note(&mut leaves_asked, asked.leaf)).unwrap() {}
        // Once for the end of the range, in the last leaf.
        let mut expected: Vec<PageId> = (0..60).map(|number| leaf_of(number * 10)).chain([leaf_of(620)]).collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        assert_eq!(leaves_asked, expected);
    }
    let mut journal = fixture.log.journal();
    for number in (0..600).filter(|number| number % 10 == 5) {
        let key = key(number, 2);
        let mut leaves_asked = Vec::new();
        let mut near = Near::new((&key, rid(number)), Undo::Logical, None, &[]);
        let before = leaf_of(number);
        let pages = fixture.tree().pages().unwrap();
        let admit = |asked: InLeaf<Neighbour>| note(&mut leaves_asked, asked.leaf);
        assert_eq!(fixture.tree().insert_near(&mut journal, &mut near, true, admit).unwrap(), Inserted::Done);
        // The leaf as it was first, and after a split the one that the key went into; and the new ones are named.
        assert_eq!((leaves_asked[0], *leaves_asked.last().unwrap()), (before, leaf_of(number)));
        let made = fixture.tree().pages().unwrap().into_iter().filter(|page| !pages.contains(page));
        let made: Vec<PageId> = made.filter(|page| (0..620).any(|number| leaf_of(number) == *page)).collect();
        let named = near.new_leaves.into_iter().filter(|page| *page != PageId::NONE);
        assert_eq!(named.collect::<Vec<_>>(), made, "row {number}");
        let mut leaves_asked = Vec::new();
        let admit = |asked: InLeaf<Next>| note(&mut leaves_asked, asked.leaf);
        let before = leaf_of(number);
        let removed = fixture.tree().remove(&mut journal, &key, Undo::Logical, admit).unwrap();
        assert_eq!((removed, leaves_asked), (Removed::Done(rid(number)), vec![before]));
    }
}

/// Between two steps others change what is before and behind the cursor.
#[test]
fn a_cursor_survives_changes_between_steps() {
    for direction in [Direction::Forward, Direction::Backward] {
        for seed in 1..40 {
            let fixture = fixture();
            let mut dice = Dice(seed);
            let mut journal = fixture.log.journal();
            let mut cursor = Cursor::new(direction, &key(0, 2), &key(999, 2));
            let mut seen = Vec::new();
            let mut model: BTreeMap<u64, ()> = (0..60).map(|number| (number * 10, ())).collect();
            // What the cursor must give next, by the model as it is at that moment.
            let mut last: Option<u64> = None;
            loop {
                for _ in 0..dice.below(8) {
                    let number = dice.below(600);
                    if dice.below(3) > 0 {
                        remove(&fixture, &mut journal, &key(number / 10 * 10, 2));
                        model.remove(&(number / 10 * 10));
                    } else {
                        insert(&fixture, &mut journal, &key(number, 2), rid(number));
                        model.insert(number, ());
                    }
                }
                let expected = match (direction, last) {
                    (Direction::Forward, None) => model.keys().next(),
                    (Direction::Forward, Some(last)) => model.range(last + 1..).next().map(|(key, ())| key),
                    (Direction::Backward, None) => model.keys().next_back(),
                    (Direction::Backward, Some(last)) => model.range(..last).next_back().map(|(key, ())| key),
                };
                let Step::Got(found) = cursor.step(&fixture.tree(), |_| true).unwrap() else {
                    assert_eq!(expected, None);
                    break;
                };
                assert_eq!(Some(&u64::from(found.page.0)), expected, "seed {seed}, behind {last:?}");
                assert_eq!(cursor.key(), key(u64::from(found.page.0), 2));
                last = expected.copied();
                seen.push(found);
            }
            assert!(seen.len() > 5);
        }
    }
}
