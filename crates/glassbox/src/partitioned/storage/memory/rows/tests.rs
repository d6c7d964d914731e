//! Rows: numbers, reuse, limits, damage.

use crate::huge_pages::HUGE_PAGE_BYTES;
use crate::partitioned::storage::memory::rows::*;

#[test]
fn numbers_are_reused_last_in_first_out() {
    let mut rows = Rows::<[u8; 24]>::new(usize::MAX, &mut Default::default()).unwrap();
    let ids: Vec<RowId> = (0..200).map(|n| rows.insert(&[n; 24]).unwrap()).collect();
    for n in [5, 77, 130] {
        rows.remove(ids[n]);
    }
    rows.check().unwrap();
    assert_eq!((rows.len(), rows.slots()), (197, 200));
    assert!(!rows.is_live(ids[77]) && rows.is_live(ids[78]) && !rows.is_live(RowId::new(200)));
    assert!(
        rows.iter()
            .map(|(id, row)| (id.get(), row[0]))
            .eq((0..200).filter(|n| ![5, 77, 130].contains(n)).map(|n| (n, n as u8)))
    );
    let used = rows.used_bytes();
    for n in [130, 77, 5] {
        assert_eq!(rows.insert(&[9; 24]).unwrap(), ids[n]);
    }
    assert_eq!((rows.slots(), rows.used_bytes()), (200, used));
    rows.get_mut(ids[5])[3] = 1;
    assert_eq!(rows.get(ids[5])[..5], [9, 9, 9, 1, 9]);
    rows.check().unwrap();
}

#[test]
fn a_full_table_says_so() {
    let mut rows = Rows::<[u64; 512]>::new(1, &mut Default::default()).unwrap();
    let fit = HUGE_PAGE_BYTES / 4096;
    for _ in 0..fit {
        rows.insert(&[1; 512]).unwrap();
    }
    assert_eq!(rows.insert(&[1; 512]), Err(Full { rows: fit }));
    rows.remove(RowId::new(3));
    assert_eq!(rows.insert(&[1; 512]), Ok(RowId::new(3)));
}

#[test]
fn rows_smaller_than_a_link_work() {
    let mut rows = Rows::<u8>::new(usize::MAX, &mut Default::default()).unwrap();
    let ids: Vec<RowId> = (0..100).map(|n| rows.insert(&n).unwrap()).collect();
    ids.iter().step_by(2).for_each(|&id| rows.remove(id));
    rows.check().unwrap();
    assert!(rows.iter().map(|(_, &row)| row).eq((1..100).step_by(2)));
}

#[test]
#[should_panic(expected = "is not live")]
fn removing_twice_is_refused() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    let id = rows.insert(&1).unwrap();
    rows.remove(id);
    rows.remove(id);
}

#[test]
fn damage_is_found() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    let id = rows.insert(&1).unwrap();
    rows.insert(&2).unwrap();
    rows.remove(id);
    rows.free = RowId::new(1);
    assert!(rows.check().unwrap_err().contains("free list"));
}

#[test]
fn reserved_places_are_filled_by_number_only() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    rows.insert(&0).unwrap();
    let first = rows.reserve().unwrap();
    assert_eq!((first, rows.slots(), rows.len()), (RowId::new(128), 256, 1));
    let place = RowId::new(170);
    assert!(rows.insert_at(place, &7) && !rows.insert_at(place, &8));
    rows.check().unwrap();
    // The places between are the others'.
    let others: Vec<_> = (0..128).map(|n| rows.insert(&n).unwrap().get()).collect();
    assert!(others.iter().copied().eq((1..128).chain([256])));
    rows.remove(place);
    rows.remove(RowId::new(3));
    rows.check().unwrap();
    rows.put_back(RowId::new(3), &3);
    rows.put_back(place, &7);
    assert_eq!((*rows.get(place), rows.len()), (7, 130));
    rows.check().unwrap();
}

#[test]
fn rows_are_put_back_from_anywhere_on_the_list() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    let ids: Vec<_> = (0..100).map(|n| rows.insert(&n).unwrap()).collect();
    for n in [7, 8, 9] {
        rows.remove(ids[n]);
    }
    // Those that are skipped come first on the list now.
    let reserved = rows.reserve().unwrap();
    assert_eq!(reserved.get(), 128);
    for n in [7, 9, 8] {
        rows.put_back(ids[n], &(n as u64));
        rows.check().unwrap();
    }
    assert!((7..10).all(|n| *rows.get(ids[n]) == n as u64));
    assert_eq!(rows.insert(&1).unwrap().get(), 100);
    rows.check().unwrap();
}

#[test]
#[should_panic(expected = "is not free")]
fn putting_back_where_another_row_is_is_refused() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    let id = rows.insert(&1).unwrap();
    rows.remove(id);
    assert_eq!(rows.insert(&2), Ok(id));
    rows.put_back(id, &1);
}

/// Half of all places may be free, and a thousand besides.
#[test]
fn nothing_is_reserved_when_too_much_is_free() {
    let mut rows = Rows::<u64>::new(usize::MAX, &mut Default::default()).unwrap();
    let reserved = std::iter::from_fn(|| rows.reserve()).count() as u32;
    assert_eq!(reserved, 2 * 1_024 / 128);
    (0..reserved * 128).for_each(|n| assert!(rows.insert_at(RowId::new(n), &1)));
    assert!(rows.reserve().is_some());
}

#[test]
fn nothing_is_reserved_without_room() {
    let mut rows = Rows::<[u64; 512]>::new(1, &mut Default::default()).unwrap();
    let fit = HUGE_PAGE_BYTES / 4096;
    let reserved = std::iter::from_fn(|| rows.reserve()).count();
    assert_eq!((reserved, rows.slots() as usize), (fit / 128, fit));
    rows.check().unwrap();
}
