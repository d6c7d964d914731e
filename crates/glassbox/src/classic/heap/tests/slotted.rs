//! The slotted page against a model, its inverses, and redo.

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::heap::{HeapChange, slotted};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::PageKind;
use crate::classic::page::pages::Pages;
use crate::classic::testing::{MemoryLog, MemoryPages};
use crate::io::Dice;

/// What a slot holds, and whether as a ghost.
type Model = Vec<(Vec<u8>, bool)>;

fn new_page(pages: &MemoryPages, log: &MemoryLog) {
    let body = slotted::new_body(pages.page_bytes(), PageId(2), 7);
    let format = Change::Format { kind: PageKind::Heap, store: StoreId(1), body: &body };
    log.journal().change(&mut pages.fix_new(PageId(5)).unwrap(), format, Undo::Page).unwrap();
}

fn check(page: &[u8], model: &Model) {
    slotted::check(page).unwrap();
    assert_eq!(usize::from(slotted::slots(page)), model.len());
    for (number, (bytes, is_ghost)) in model.iter().enumerate() {
        let expected = (!is_ghost).then_some(bytes.as_slice());
        assert_eq!(slotted::record(page, number as u16), expected, "slot {number}");
        assert_eq!(slotted::slot(page, number as u16).unwrap().length, bytes.len());
    }
    assert_eq!(slotted::record(page, model.len() as u16), None);
    assert_eq!(slotted::list_place(page), (PageId(2), 7));
}

fn live(page: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let record = |slot| slotted::record(page, slot).map(|record| (slot, record.to_vec()));
    (0..slotted::slots(page)).filter_map(record).collect()
}

fn edited(dice: &mut Dice, before: &[u8]) -> Vec<u8> {
    let mut after = before.to_vec();
    for _ in 0..dice.place(4) {
        if !after.is_empty() {
            let (at, length) = (dice.place(after.len()), dice.place(12));
            let end = (at + length).min(after.len());
            after[at..end].copy_from_slice(&dice.bytes(end - at));
        }
    }
    after
}

/// A dice change that fits, done to the model too. The bytes live in `bytes`.
fn step<'a>(
    dice: &mut Dice,
    page: &[u8],
    model: &mut Model,
    lengths: &[usize],
    bytes: &'a mut Vec<u8>,
) -> Option<HeapChange<'a>> {
    let chosen = dice.place(model.len() + 1);
    let slot = chosen as u16;
    match (dice.place(8), model.get_mut(chosen)) {
        (0..=3, at) => {
            *bytes = {
                let length = lengths[dice.place(lengths.len())];
                dice.bytes(length)
            };
            match at {
                None if slotted::fits_fresh(page, bytes.len()) => model.push((bytes.clone(), false)),
                Some(place) if place.1 => {
                    let ghost = slotted::slot(page, slot).unwrap();
                    if !slotted::fits_ghost(page, ghost, bytes.len()) {
                        return None;
                    }
                    *place = (bytes.clone(), false);
                }
                _ => return None,
            }
            Some(HeapChange::Insert { slot, record: bytes })
        }
        (4, Some((record, is_ghost @ false))) => {
            *is_ghost = true;
            bytes.clone_from(record);
            Some(HeapChange::Delete { slot, record: bytes })
        }
        (5, Some((record, is_ghost @ true))) => {
            *is_ghost = false;
            *bytes = dice.bytes(record.len());
            record.clone_from(bytes);
            Some(HeapChange::Undelete { slot, record: bytes })
        }
        (_, Some((record, false))) => {
            let after = edited(dice, record);
            *bytes = super::between(record, &after);
            *record = after;
            Some(HeapChange::Update { slot, ranges: bytes, back: false })
        }
        _ => None,
    }
}

fn history(page_bytes: usize, lengths: &[usize], seed: u64) {
    let (pages, log, mut dice) = (MemoryPages::new(page_bytes), MemoryLog::default(), Dice(seed));
    new_page(&pages, &log);
    let mut journal = log.journal();
    let mut model = Model::new();
    for _ in 0..600 {
        let mut page = pages.fix_exclusive(PageId(5)).unwrap();
        let mut bytes = Vec::new();
        let Some(change) = step(&mut dice, &page, &mut model, lengths, &mut bytes) else { continue };
        let before = live(&page);
        journal.change(&mut page, Change::Heap(change), Undo::Page).unwrap();
        check(&page, &model);
        let mut taken_back = page.to_vec();
        change.inverse().apply(&mut taken_back).unwrap();
        slotted::check(&taken_back).unwrap();
        // The bytes of a ghost need not come back.
        assert_eq!(live(&taken_back), before);
        change.inverse().inverse().apply(&mut taken_back).unwrap_or_else(|_| {
            assert!(matches!(change, HeapChange::Insert { .. }), "only an insert comes back as something else");
        });
    }
    assert!(log.replay(page_bytes).contents() == pages.contents(), "redo gives other pages");
}

#[test]
fn random_changes_do_what_the_model_does_and_redo_does_the_same() {
    for seed in 0..40 {
        history(128, &[0, 1, 7, 20, 41], seed);
        history(256, &[24], seed);
        history(4096, &[89], seed);
    }
    for seed in 0..6 {
        history(4096, &[1, 50, 300, 4052], seed);
        history(32768, &[2000, 5000, 32724, 13], seed);
    }
}

#[test]
fn a_full_page_is_compacted_when_that_makes_room() {
    let (pages, log) = (MemoryPages::new(128), MemoryLog::default());
    new_page(&pages, &log);
    let mut journal = log.journal();
    let mut page = pages.fix_exclusive(PageId(5)).unwrap();
    let mut change =
        |page: &mut _, change: HeapChange<'_>| journal.change(page, Change::Heap(change), Undo::Page).unwrap();
    // 88 bytes: four slots of 4 bytes, and 72 bytes of records.
    for slot in 0..4 {
        change(&mut page, HeapChange::Insert { slot, record: &[slot as u8 + 1; 18] });
    }
    assert!(!slotted::fits_fresh(&page, 0));
    change(&mut page, HeapChange::Delete { slot: 1, record: &[2; 18] });
    change(&mut page, HeapChange::Delete { slot: 3, record: &[4; 18] });
    // Two bytes fit into the first ghost's room only if what is behind it moves.
    change(&mut page, HeapChange::Insert { slot: 1, record: &[9; 2] });
    change(&mut page, HeapChange::Insert { slot: 3, record: &[8; 34] });
    let expected: Model = vec![(vec![1; 18], false), (vec![9; 2], false), (vec![3; 18], false), (vec![8; 34], false)];
    check(&page, &expected);
    drop(page);
    assert!(log.replay(128).contents() == pages.contents());
}

#[test]
fn the_longest_record_fits_and_no_longer_one() {
    for page_bytes in [128, 4096, 32768] {
        let (pages, log) = (MemoryPages::new(page_bytes), MemoryLog::default());
        new_page(&pages, &log);
        let mut page = pages.fix_exclusive(PageId(5)).unwrap();
        let most = slotted::most_record_bytes(page_bytes);
        let long = vec![7; most + 1];
        assert!(!slotted::fits_fresh(&page, most + 1));
        assert!(HeapChange::Insert { slot: 0, record: &long }.apply(&mut page).is_err());
        HeapChange::Insert { slot: 0, record: &long[1..] }.apply(&mut page).unwrap();
        assert_eq!(slotted::record(&page, 0), Some(&long[1..]));
        slotted::check(&page).unwrap();
    }
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let (pages, log) = (MemoryPages::new(128), MemoryLog::default());
    new_page(&pages, &log);
    let mut page = pages.fix_exclusive(PageId(5)).unwrap();
    HeapChange::Insert { slot: 0, record: b"abc" }.apply(&mut page).unwrap();
    HeapChange::Insert { slot: 1, record: b"de" }.apply(&mut page).unwrap();
    HeapChange::Delete { slot: 0, record: b"abc" }.apply(&mut page).unwrap();
    assert_eq!(page[16..24], [5, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(page[24..40], [2, 0, 123, 0, 0, 0, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(page[40..48], [125, 0, 3, 0x80, 123, 0, 2, 0]);
    assert_eq!(page[123..], *b"deabc");
    let mut bytes = Vec::new();
    let ranges = super::between(b"0123456789", b"0x23456789");
    Change::Heap(HeapChange::Update { slot: 258, ranges: &ranges, back: true }).encode(&mut bytes);
    assert_eq!(bytes, [3, 4, 2, 1, 1, 0, 1, 0, b'1', b'x']);
}
