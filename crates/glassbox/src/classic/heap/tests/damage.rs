//! Damaged pages and damaged logged changes: a change applies or is refused, and never panics.

use crate::classic::change::Change;
use crate::classic::heap::{HeapChange, ListChange, slotted};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::{HEADER_BYTES, PageKind};
use crate::classic::space::MapChange;
use crate::io::Dice;

fn formatted(kind: PageKind, body: &[u8]) -> Vec<u8> {
    let mut page = vec![0xff; 256];
    Change::Format { kind, store: StoreId(1), body }.apply(PageId(4), &mut page).unwrap();
    page
}

fn pages() -> Vec<Vec<u8>> {
    let mut records = formatted(PageKind::Heap, &slotted::new_body(256, PageId(2), 0));
    for slot in 0..5 {
        HeapChange::Insert { slot, record: &[slot as u8; 30] }.apply(&mut records).unwrap();
    }
    for slot in [1, 3] {
        HeapChange::Delete { slot, record: &[slot as u8; 30] }.apply(&mut records).unwrap();
    }
    let mut list = formatted(PageKind::HeapPages, &[]);
    for index in 0..4 {
        ListChange::Append { index, page: PageId(9 + u32::from(index)) }.apply(&mut list).unwrap();
    }
    let mut map = formatted(PageKind::Map, &[0, 0, 0, 0, 0, 0, 0, 0, 1]);
    MapChange::Take { bit: 5 }.apply(&mut map).unwrap();
    vec![records, list, map]
}

fn changes() -> Vec<Vec<u8>> {
    let ranges = super::between(&[2; 30], &[[2; 10], [7; 10], [2; 10]].concat());
    let changes = [
        Change::Format { kind: PageKind::Heap, store: StoreId(1), body: &[1, 2, 3] },
        Change::Heap(HeapChange::Insert { slot: 5, record: &[1; 9] }),
        Change::Heap(HeapChange::Insert { slot: 1, record: &[1; 30] }),
        Change::Heap(HeapChange::Insert { slot: 3, record: &[1; 60] }),
        Change::Heap(HeapChange::Delete { slot: 2, record: &[2; 30] }),
        Change::Heap(HeapChange::Undelete { slot: 3, record: &[4; 30] }),
        Change::Heap(HeapChange::Update { slot: 2, ranges: &ranges, back: false }),
        Change::HeapPages(ListChange::Append { index: 4, page: PageId(50) }),
        Change::HeapPages(ListChange::Remove { index: 3, page: PageId(12) }),
        Change::HeapPages(ListChange::SetRoom { index: 2, has_room: false }),
        Change::HeapPages(ListChange::Link { next: PageId(60) }),
        Change::Map(MapChange::Take { bit: 6 }),
        Change::Map(MapChange::Give { bit: 5 }),
        Change::Map(MapChange::Extend),
    ];
    let encoded = |change: &Change<'_>| {
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        bytes
    };
    changes.iter().map(encoded).collect()
}

fn read_all(page: &[u8]) -> usize {
    let _ = slotted::check(page);
    (0..u16::MAX).step_by(3).filter_map(|slot| slotted::record(page, slot)).map(<[u8]>::len).sum()
}

/// Applies what can be decoded to the page; returns whether it was done.
fn try_it(page: &[u8], bytes: &[u8]) -> bool {
    let Ok(change) = Change::decode(bytes) else { return false };
    let mut after = page.to_vec();
    match change.apply(PageId(4), &mut after) {
        Ok(()) => {
            if let Some(inverse) = change.inverse() {
                let _ = inverse.apply(PageId(4), &mut after);
            }
            true
        }
        Err(_) => {
            assert!(after == page, "a refused change leaves the page as it was");
            false
        }
    }
}

#[test]
fn what_fits_is_done_and_nothing_else() {
    let (pages, changes) = (pages(), changes());
    let done = |change: &&Vec<u8>| pages.iter().filter(|page| try_it(page, change)).count();
    // The first one formats any page; every other one fits just one of the kinds.
    let counts: Vec<_> = changes.iter().map(|change| done(&change)).collect();
    assert_eq!(counts, [3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn mutated_changes_apply_or_are_refused() {
    let (pages, changes, mut dice) = (pages(), changes(), Dice(7));
    let mut refused = 0;
    for _ in 0..40_000 {
        let mut bytes = changes[dice.place(changes.len())].clone();
        for _ in 0..=dice.place(3) {
            let at = dice.place(bytes.len());
            match dice.place(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = dice.roll() as u8,
                2 => bytes[at] ^= 1 << dice.place(8),
                _ => bytes.extend(vec![dice.roll() as u8; dice.place(300)]),
            }
        }
        refused += usize::from(!try_it(&pages[dice.place(3)], &bytes));
    }
    assert!(refused > 1000);
    for length in 0..40 {
        for _ in 0..200 {
            try_it(&pages[dice.place(3)], &dice.bytes(length));
        }
    }
}

#[test]
fn damaged_pages_refuse_or_take_changes_and_reads() {
    let (pages, changes, mut dice) = (pages(), changes(), Dice(8));
    let mut read = 0;
    for _ in 0..4000 {
        let mut page = pages[dice.place(3)].clone();
        for _ in 0..=dice.place(4) {
            // Mostly where what they are made of is described.
            let end = if dice.place(4) == 0 { 232 } else { 40 };
            let at = HEADER_BYTES + dice.place(end);
            page[at] = [0, 1, 0x7f, 0x80, 0xff, dice.roll() as u8][dice.place(6)];
        }
        for change in &changes {
            try_it(&page, change);
        }
        read += read_all(&page);
    }
    assert!(read > 0);
}
