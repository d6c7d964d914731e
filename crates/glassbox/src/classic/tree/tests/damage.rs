//! Changes and pages with wrong bytes are refused, never a panic, never an endless walk.

use super::*;
use crate::classic::page;
use crate::record::Direction;

/// A tree that has split, shrunk and grown, and the log of it.
fn used(seed: u64, width: usize) -> Fixture<IntegerKeys> {
    let fixture = Fixture::new(IntegerKeys::new(width), 5);
    let mut journal = fixture.log.journal();
    let mut dice = Dice(seed);
    for step in 0..400 {
        let key = key(dice.below(80), width);
        if (step < 150) ^ (step > 320) {
            insert(&fixture, &mut journal, &key, rid(step));
        } else {
            remove(&fixture, &mut journal, &key);
        }
    }
    fixture
}

/// Keys of nodes of both formats.
const WIDTHS: [usize; 2] = [8, 300];

#[test]
fn mutated_changes_are_refused_or_done() {
    WIDTHS.into_iter().for_each(mutate);
}

fn mutate(width: usize) {
    let fixture = used(1, width);
    let mut dice = Dice(2);
    let pages: Vec<(PageId, Vec<u8>)> = fixture.pages.contents().into_iter().collect();
    let log = fixture.log.0.lock().unwrap().clone();
    let (mut refused, mut done) = (0, 0);
    for _ in 0..60_000 {
        let mut bytes = log[dice.below(log.len() as u64) as usize].change.clone();
        for _ in 0..1 + dice.below(3) {
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(4) {
                0 => bytes[at] = dice.roll() as u8,
                1 => bytes[at] ^= 1 << dice.below(8),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.push(dice.roll() as u8),
            }
        }
        let Ok(change) = Change::decode(&bytes) else {
            refused += 1;
            continue;
        };
        let (id, page) = &pages[dice.below(pages.len() as u64) as usize];
        let mut changed = page.clone();
        match change.apply(*id, &mut changed) {
            Err(_) => {
                assert!(changed == *page, "a refused change leaves the page as it was: {change:?}");
                refused += 1;
            }
            Ok(()) => {
                done += 1;
                if let (Change::Node(_), Some(inverse)) = (change, change.inverse()) {
                    inverse.apply(*id, &mut changed).expect("an applied change can be undone");
                }
            }
        }
        let mut encoded = Vec::new();
        change.encode(&mut encoded);
        assert_eq!(encoded, bytes);
    }
    assert!(refused > 1000 && done > 1000, "{refused} {done}");
}

/// Each change, undone on the page that it was applied to, gives the entries, siblings and level that were there.
#[test]
fn every_change_has_its_inverse() {
    WIDTHS.into_iter().for_each(invert);
}

fn invert(width: usize) {
    let fixture = used(3, width);
    let pages = MemoryPages::new(PAGE_BYTES);
    for logged in fixture.log.0.lock().unwrap().iter() {
        let mut page = pages.fix_exclusive(logged.page).unwrap();
        let change = Change::decode(&logged.change).unwrap();
        if let (Change::Node(change), Ok(before)) = (change, super::node::Node::read(&page)) {
            let mut copy = page.to_vec();
            change.apply(&mut copy).unwrap();
            change.inverse().apply(&mut copy).unwrap();
            let after = super::node::Node::read(&copy).unwrap();
            assert_eq!((after.level, after.links()), (before.level, before.links()));
            assert_eq!(after.bytes(0, after.count), before.bytes(0, before.count));
        }
        change.apply(logged.page, &mut page).unwrap();
    }
}

#[test]
fn damaged_pages_are_errors() {
    WIDTHS.into_iter().for_each(damage);
}

fn damage(width: usize) {
    let fixture = used(5, width);
    let tree = fixture.tree();
    let pages = tree.pages().unwrap();
    let mut dice = Dice(7);
    let mut errors = 0;
    for _ in 0..8000 {
        let id = pages[dice.below(pages.len() as u64) as usize];
        let whole = fixture.pages.fix_shared(id).unwrap().to_vec();
        {
            let mut page = fixture.pages.fix_exclusive(id).unwrap();
            // The header, the first entries, or a link to another page of the tree.
            let at = page::HEADER_BYTES - 20 + dice.below(80) as usize;
            if dice.below(4) == 0 {
                let other = pages[dice.below(pages.len() as u64) as usize];
                let at = 28 + 4 * dice.below(2) as usize;
                page[at..at + 4].copy_from_slice(&other.0.to_le_bytes());
            } else {
                page[at] = dice.roll() as u8;
            }
        }
        let mut damaged = |error: Option<Error>| match error {
            None => {}
            Some(Error::Damaged { .. }) => errors += 1,
            Some(other) => panic!("{other}"),
        };
        damaged(tree.find(&key(dice.below(80), width), |_| true).err());
        damaged(tree.check().err());
        for direction in [Direction::Forward, Direction::Backward] {
            let mut cursor = Cursor::new(direction, &key(0, width), &key(90, width));
            let mut steps = 0;
            loop {
                steps += 1;
                assert!(steps < 2000, "the walk ends");
                match cursor.step(&tree, |_| true) {
                    Ok(Step::Got(_)) => {}
                    Ok(_) => break,
                    Err(error) => {
                        damaged(Some(error));
                        break;
                    }
                }
            }
        }
        fixture.pages.fix_exclusive(id).unwrap().copy_from_slice(&whole);
    }
    assert!(errors > 1000, "{errors}");
}

#[test]
fn check_names_what_is_wrong() {
    let fixture = used(9, 8);
    let tree = fixture.tree();
    let pages = tree.pages().unwrap();
    assert!(pages.len() > 8);
    let problems = |id: PageId, at: usize, bytes: &[u8]| {
        let whole = fixture.pages.fix_shared(id).unwrap().to_vec();
        fixture.pages.fix_exclusive(id).unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        let problems = tree.check().unwrap();
        fixture.pages.fix_exclusive(id).unwrap().copy_from_slice(&whole);
        problems
    };
    let is = |id: PageId, level: u8| fixture.pages.fix_shared(id).unwrap()[24] == level;
    let half = pages.len() / 2;
    let leaf = *pages[half..].iter().find(|id| is(**id, 0)).unwrap();
    let inner = *pages[1..].iter().find(|id| is(**id, 1)).unwrap();
    for (id, at, bytes, text) in [
        (leaf, 24, &[3][..], "has another level than its parent says"),
        (leaf, 25, &[7], "is no node of this tree"),
        (leaf, 4, &[3], "is no node of a tree"),
        (leaf, 20, &[9], "is no node of this tree"),
        (leaf, 26, &[255, 255], "claims more entries than fit"),
        (leaf, 28, &[99, 0, 0, 0], "names the siblings 99"),
        (leaf, 40, &[255; 8], "has a key that belongs to its right neighbour"),
        (leaf, 40, &[0; 8], "has a key below its separator"),
        (inner, 28, &[1], "is an inner node with siblings"),
        (inner, 26, &[0, 0], "is an inner node without children"),
        (leaf, 40, &[255; 8], "has keys out of order"),
        (inner, 48, &ROOT.0.to_le_bytes(), "is in the tree twice"),
    ] {
        let found = problems(id, at, bytes);
        assert!(found.iter().any(|problem| problem.text.contains(text)), "{text}: {found:?}");
    }
}
