//! Dense keys: found where they are, whatever the prefix; sparse ones; blocks that begin at the same entry.

use crate::partitioned::storage::memory::dense::*;

/// Gives each block the next places, as rows do.
fn place(index: &mut DenseIndex, next: &mut u32, key: u64) -> Option<RowId> {
    index.place_or_begin(key, || {
        *next += BLOCK;
        Some(RowId::new(*next - BLOCK))
    })
}

#[test]
fn dense_keys_are_found_in_their_places_whatever_the_prefix() {
    let (mut index, mut next) = (DenseIndex::new(), 0);
    let keys = || (1..=5_u64).flat_map(|prefix| (1..=3_000).map(move |number| prefix << 40 | number));
    for key in keys() {
        assert_eq!(index.find(key), None);
        let row = place(&mut index, &mut next, key).unwrap();
        assert!(index.link(key, row));
    }
    assert_eq!((index.len(), index.used), (15_000, 5 * 24));
    keys().for_each(|key| assert_eq!(index.find(key), index.place(key)));
    assert_eq!((index.find(0), index.find(3_001 | 1 << 40)), (None, None));
    let key = 7 | 2 << 40;
    let row = index.place(key).unwrap();
    assert!(!index.unlink(key, RowId::new(row.get() + 1)) && index.unlink(key, row));
    assert_eq!((index.find(key), index.place(key), index.len()), (None, Some(row), 14_999));
    index.check(|row| keys().find(|&key| index.place(key) == Some(row))).unwrap();
    assert!(index.check(|_| None).is_err());
}

#[test]
fn sparse_keys_get_no_places() {
    let (mut index, mut next) = (DenseIndex::new(), 0);
    let linked = (0..1_000_u64)
        .filter(|number| {
            let key = number * 1_000;
            place(&mut index, &mut next, key).is_some_and(|row| index.link(key, row))
        })
        .count();
    assert_eq!(linked, FREE_BLOCKS);
    assert_eq!(place(&mut index, &mut next, 1).map(RowId::get), Some(1));
}

/// Prefixes that hashes spread badly: it grows through many sizes, and no key is found as another's.
#[test]
fn blocks_are_told_apart_while_it_grows() {
    for shift in [32, 38, 40, 47] {
        let (mut index, mut next, mut linked) = (DenseIndex::new(), 0, Vec::new());
        let prefixes = (1..3_000_u64).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) << shift);
        for key in prefixes.flat_map(|prefix| (0..320).map(move |number| prefix | number)) {
            assert_eq!(index.find(key), None);
            if let Some(row) = place(&mut index, &mut next, key) {
                assert!(index.link(key, row));
                linked.push((key, row));
            }
        }
        assert!(linked.len() > 900_000, "{}", linked.len());
        let lost = linked.iter().filter(|&&(key, row)| index.find(key) != Some(row)).count();
        assert_eq!(lost, 0);
        let places: std::collections::HashSet<_> = linked.iter().map(|(_, row)| row).collect();
        assert_eq!(places.len(), linked.len());
    }
}
