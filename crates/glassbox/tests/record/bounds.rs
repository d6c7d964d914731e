//! Bounds: the encoded keys between the encoded ends are those that a filter over all keys would keep.

use std::fmt::Debug;
use std::ops::{Range, RangeFrom, RangeInclusive};

use proptest::prelude::*;

use super::*;

type Small = (i8, u16, bool);
type Middle = (u8, i64, u16);
type Wide = (Text<17>, i8, u16);

fn smalls() -> Vec<Small> {
    let seconds = [0, 1, 255, 256, u16::MAX];
    let firsts = [i8::MIN, -1, 0, 1, i8::MAX];
    let pairs = firsts.into_iter().flat_map(|first| seconds.map(|second| (first, second)));
    pairs.flat_map(|(first, second)| [(first, second, false), (first, second, true)]).collect()
}

fn middles() -> Vec<Middle> {
    let seconds = [i64::MIN, -1, 0, i64::MAX];
    let pairs = [0, 7, 255_u8].into_iter().flat_map(|first| seconds.map(|second| (first, second)));
    pairs.flat_map(|(first, second)| [0, 1, u16::MAX].map(|third| (first, second, third))).collect()
}

fn wides() -> Vec<Wide> {
    let firsts = ["", "a", "a\u{1}", "ab", "zzzzzzzzzzzzzzzzz"].map(|text| Text::new(text).unwrap());
    let pairs = firsts.into_iter().flat_map(|first| [i8::MIN, 0, i8::MAX].map(|second| (first, second)));
    pairs.flat_map(|(first, second)| [0, 256, u16::MAX].map(|third| (first, second, third))).collect()
}

/// `bounds` keeps the keys that `keep` does, and claims a placement only where all of them share it.
fn agrees<K: Key + Debug, E: EncodedKey>(keys: &[K], bounds: &impl Bounds<K>, keep: impl Fn(&K) -> bool) {
    let encoded = bounds.encode::<E>();
    for key in keys {
        let within = encoded.is_some_and(|ends| (ends.low..=ends.high).contains(&key.encode()));
        assert_eq!(within, keep(key), "{key:?}");
        for position in 0..3 {
            if let Some(placement) = bounds.placement_at(position).filter(|_| keep(key)) {
                assert_eq!(placement, key.placement_at(position), "{key:?} at {position}");
            }
        }
    }
}

fn all_ranges<K: Key + Ord + Debug, E: EncodedKey>(keys: &[K]) {
    agrees::<K, E>(keys, &(..), |_| true);
    for &a in keys {
        agrees::<K, E>(keys, &(a..), |key| RangeFrom { start: a }.contains(key));
        for &b in keys {
            agrees::<K, E>(keys, &(a..b), |key| Range { start: a, end: b }.contains(key));
            agrees::<K, E>(keys, &(a..=b), |key| RangeInclusive::new(a, b).contains(key));
        }
    }
}

#[test]
fn ranges_of_keys_in_one_word() {
    all_ranges::<Small, u64>(&smalls());
}

#[test]
fn ranges_of_keys_in_two_words() {
    all_ranges::<Middle, u128>(&middles());
}

#[test]
fn ranges_of_wide_keys() {
    all_ranges::<Wide, [u8; 20]>(&wides());
}

#[test]
fn prefixes() {
    for &(a, b, _) in &smalls() {
        agrees::<Small, u64>(&smalls(), &Prefix(a), |key| key.0 == a);
        agrees::<Small, u64>(&smalls(), &Prefix((a,)), |key| key.0 == a);
        agrees::<Small, u64>(&smalls(), &Prefix((a, b)), |key| (key.0, key.1) == (a, b));
    }
    for &(a, b, _) in &middles() {
        agrees::<Middle, u128>(&middles(), &Prefix(a), |key| key.0 == a);
        agrees::<Middle, u128>(&middles(), &Prefix((a, b)), |key| (key.0, key.1) == (a, b));
    }
    for &(a, b, _) in &wides() {
        agrees::<Wide, [u8; 20]>(&wides(), &Prefix(a), |key| key.0 == a);
        agrees::<Wide, [u8; 20]>(&wides(), &Prefix((a, b)), |key| (key.0, key.1) == (a, b));
    }
}

#[test]
fn a_range_before_the_first_key_is_empty() {
    assert_eq!(Bounds::<u8>::encode::<u64>(&(0..0_u8)), None);
    assert_eq!(Bounds::<u8>::encode::<u64>(&(0..1_u8)), Some(Encoded { low: 0, high: 0 }));
    assert_eq!(Bounds::<u8>::encode::<u64>(&(..)), Some(Encoded { low: 0, high: 255 }));
    let (first, last): (Wide, Wide) = ((Text::EMPTY, i8::MIN, 0), (Text::EMPTY, i8::MIN, 0));
    assert_eq!((first..last).encode::<[u8; 20]>(), None);
}

#[test]
fn placement_is_known_where_the_bounds_fix_its_column() {
    let at = |bounds: &dyn Fn(usize) -> Option<u64>| [bounds(0), bounds(1), bounds(2)];
    let prefix = Prefix((3_i8, 9_u16));
    assert_eq!(at(&|position| Bounds::<Small>::placement_at(&prefix, position)), [Some(3), Some(9), None]);
    let range = (3_i8, 9_u16, false)..(3, 10, false);
    assert_eq!(at(&|position| range.placement_at(position)), [Some(3), None, None]);
    let row = (3_i8, 9_u16, true)..=(3, 9, true);
    assert_eq!(at(&|position| row.placement_at(position)), [Some(3), Some(9), Some(1)]);
    assert_eq!(at(&|position| Bounds::<Small>::placement_at(&(..), position)), [None; 3]);
}

proptest! {
    #[test]
    fn any_two_ends(a: (i8, u16, bool), b: (i8, u16, bool), keys in proptest::collection::vec(any::<Small>(), 1..20)) {
        agrees::<Small, u64>(&keys, &(a..b), |key| (a..b).contains(key));
        agrees::<Small, u64>(&keys, &(a..=b), |key| (a..=b).contains(key));
        agrees::<Small, u64>(&keys, &(a..), |key| *key >= a);
    }
}
