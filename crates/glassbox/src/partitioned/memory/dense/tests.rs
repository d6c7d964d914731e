//! Dense keys: found where they are, whatever the prefix; sparse ones, and those that look alike.

use super::*;

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
        assert_eq!(index.probable(key), None);
        let row = place(&mut index, &mut next, key).unwrap();
        assert!(index.link(key, row));
    }
    assert_eq!((index.len(), index.used), (15_000, 5 * 47));
    keys().for_each(|key| assert_eq!(index.probable(key), index.place(key)));
    assert_eq!((index.probable(0), index.probable(3_001 | 1 << 40)), (None, None));
    let key = 7 | 2 << 40;
    let row = index.place(key).unwrap();
    assert!(!index.unlink(key, RowId::new(row.get() + 1)) && index.unlink(key, row));
    assert_eq!((index.probable(key), index.place(key), index.len()), (None, Some(row), 14_999));
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

#[test]
fn of_two_blocks_with_the_same_tag_only_one_gets_places() {
    let (mut index, mut next) = (DenseIndex::new(), 0);
    let entry = |block: u64| hash_of(block) >> 32 & (index.entries.len() - 1) as u64;
    let (one, far) = (5, 1_u64 << 32);
    let other = (1..).map(|times| one + times * far).find(|&other| entry(other) == entry(one)).unwrap();
    assert_eq!(tag_of(hash_of(one)), tag_of(hash_of(other)));
    let row = place(&mut index, &mut next, one << BLOCK_BITS).unwrap();
    assert!(index.link(one << BLOCK_BITS, row));
    assert_eq!(place(&mut index, &mut next, other << BLOCK_BITS), None);
    // It looks as if it were the other's.
    assert_eq!(index.probable(other << BLOCK_BITS), Some(row));
    assert!(!index.unlink(other << BLOCK_BITS, row));
}

/// Prefixes of which the tag knows nothing: it grows through many sizes, and nobody gets in another's way.
#[test]
fn blocks_with_the_same_tag_are_told_apart_while_it_grows() {
    for shift in [38, 39, 40] {
        let (mut index, mut next, mut linked) = (DenseIndex::new(), 0, Vec::new());
        let prefixes = (1..3_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48 << shift);
        for key in prefixes.flat_map(|prefix| (0..320).map(move |number| prefix | number)) {
            if let Some(row) = place(&mut index, &mut next, key)
                && index.probable(key).is_none()
            {
                assert!(index.link(key, row));
                linked.push((key, row));
            }
        }
        assert!(linked.len() > 500_000, "{}", linked.len());
        let lost = linked.iter().filter(|&&(key, row)| index.probable(key) != Some(row)).count();
        assert_eq!(lost, 0);
    }
}
