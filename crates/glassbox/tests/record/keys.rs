//! Encoded keys: golden bytes of each column type, and the order of encoded keys, which is the order of the values.

use std::cmp::Ordering;
use std::fmt::Debug;

use proptest::prelude::*;

use super::*;

/// The bytes of a key by way of a byte string of `W` bytes, its width.
fn bytes_of<K: Key, const W: usize>(key: K) -> [u8; W] {
    assert_eq!(K::WIDTH, W);
    key.encode()
}

#[test]
fn each_type_has_one_encoding() {
    assert_eq!(bytes_of(0x12_u8), [0x12]);
    assert_eq!(bytes_of(0x1234_u16), [0x12, 0x34]);
    assert_eq!(bytes_of(0x1234_5678_u32), [0x12, 0x34, 0x56, 0x78]);
    assert_eq!(bytes_of(0x0102_0304_0506_0708_u64), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes_of(-1_i8), [0x7f]);
    assert_eq!(bytes_of(1_i16), [0x80, 0x01]);
    assert_eq!(bytes_of(i32::MIN), [0, 0, 0, 0]);
    assert_eq!(bytes_of(-2_i64), [0x7f, 255, 255, 255, 255, 255, 255, 0xfe]);
    assert_eq!(bytes_of(true), [1]);
    assert_eq!(bytes_of(Decimal::<2>::from_units(-1)), [0x7f, 255, 255, 255, 255, 255, 255, 255]);
    assert_eq!(bytes_of(Timestamp::from_micros(5)), [0x80, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(bytes_of(Text::<4>::new("ab").unwrap()), [b'a', b'b', 0, 0]);
    assert_eq!(bytes_of(Bytes([9, 0, 8])), [9, 0, 8]);
    assert_eq!(bytes_of(None::<u16>), [0, 0, 0]);
    assert_eq!(bytes_of(Some(0_u16)), [1, 0, 0]);
    assert_eq!(bytes_of((7_u16, -1_i8, Some(Text::<2>::new("z").unwrap()))), [0, 7, 0x7f, 1, b'z', 0]);
}

#[test]
fn integers_hold_the_same_bytes_as_byte_strings() {
    let key = (7_u16, -1_i8, Some(Text::<2>::new("z").unwrap()));
    assert_eq!(key.encode::<u64>(), 0x0007_7f01_7a00);
    assert_eq!(key.encode::<u128>(), 0x0007_7f01_7a00);
    key.encode::<u64>().for_bytes(6, |bytes| assert_eq!(bytes, bytes_of::<_, 6>(key)));
    assert_eq!(u64::from_bytes(&bytes_of::<_, 6>(key)), key.encode::<u64>());
    // Whole widths, where a shift by all bits would overflow.
    assert_eq!(u64::MAX.encode::<u64>(), u64::MAX);
    assert_eq!((u64::MAX, 1_u64).encode::<u128>(), u128::from(u64::MAX) << 64 | 1);
    assert_eq!(None::<Bytes<7>>.encode::<u64>(), 0);
    assert_eq!(None::<Bytes<15>>.encode::<u128>(), 0);
}

#[test]
fn placement_never_changes() {
    assert_eq!([7_u16.placement(), u64::MAX.placement(), (-1_i32).placement()], [7, u64::MAX, u64::MAX]);
    assert_eq!((1_u8, 9_u16).placement_at(1), 9);
    assert_eq!(None::<u8>.placement(), 0);
    // FNV-1a of "ab\0\0", its high half mixed into its low half.
    assert_eq!(Text::<4>::new("ab").unwrap().placement(), fnv(b"ab\0\0"));
    assert_eq!(Bytes(*b"ab\0\0").placement(), fnv(b"ab\0\0"));
}

fn fnv(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 14_695_981_039_346_656_037;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    hash ^ (hash >> 32)
}

/// Values near the ends and near zero are where an order breaks.
fn signed() -> impl Strategy<Value = i64> {
    prop_oneof![-2..3_i64, Just(i64::MIN), Just(i64::MAX), any::<i64>()]
}

fn texts<const N: usize>() -> impl Strategy<Value = Text<N>> {
    prop_oneof!["[ab\u{1}]{0,3}", "\\PC{0,8}"].prop_map(|text| Text::truncated(&text))
}

fn bytes<const N: usize>() -> impl Strategy<Value = Bytes<N>> {
    prop_oneof![any::<[u8; N]>(), proptest::array::uniform(prop_oneof![Just(0_u8), Just(255)])].prop_map(Bytes)
}

fn same_order<K: Key + Ord + Debug, E: EncodedKey>(a: K, b: K) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.encode::<E>().cmp(&b.encode()), a.cmp(&b), "{:?} and {:?}", a, b);
    if a.cmp(&b) == Ordering::Equal {
        prop_assert_eq!(a.encode::<E>().hash64(), b.encode::<E>().hash64());
    }
    let key: E = a.encode();
    prop_assert_eq!(key.for_bytes(K::WIDTH, E::from_bytes), key);
    prop_assert_eq!(key.for_bytes(K::WIDTH, K::decode), Ok(a));
    Ok(())
}

macro_rules! in_order {
    ($($test:ident: $key:ty, $strategy:expr;)*) => {
        proptest! {$(
            #[test]
            fn $test(a in $strategy, b in $strategy) {
                same_order::<$key, <KeyWidth<{ <$key as Key>::WIDTH }> as EncodedFor>::Key>(a, b)?;
            }
        )*}
    };
}

in_order! {
    unsigned_order: (u8, u16, u32), (0..2_u8, 0..3_u16, any::<u32>());
    wide_unsigned_order: (u8, u64), (0..2_u8, any::<u64>());
    one_column_order: i64, signed();
    signed_order: (i8, i16, i32), (-1..2_i8, any::<i16>(), signed().prop_map(|value| value as i32));
    wide_signed_order: (i64, i64), (signed(), signed());
    bool_order: (bool, Option<bool>), (any::<bool>(), any::<Option<bool>>());
    decimal_order: (Decimal<4>, u8), (signed().prop_map(Decimal::from_units), 0..3_u8);
    timestamp_order: (u8, Timestamp), (0..2_u8, signed().prop_map(Timestamp::from_micros));
    text_order: (Text<5>, u8), (texts(), 0..3_u8);
    wide_text_order: (u16, Text<16>, Text<16>, u32), (0..2_u16, texts(), texts(), 0..3_u32);
    bytes_order: (Bytes<3>, Bytes<8>), (bytes(), bytes());
    wide_bytes_order: (Bytes<17>, i8), (bytes(), -1..2_i8);
    option_order: (Option<u8>, Option<i16>, u8), (proptest::option::of(0..2_u8), any::<Option<i16>>(), 0..2_u8);
    wide_option_order: (Option<Text<12>>, Option<Decimal<2>>),
        (proptest::option::of(texts()), proptest::option::of(signed().prop_map(Decimal::from_units)));
    eight_columns_order: (u8, i8, bool, u8, u8, u8, u8, u8),
        (0..2_u8, -1..1_i8, any::<bool>(), 0..2_u8, 0..2_u8, 0..2_u8, 0..2_u8, 0..2_u8);
}

proptest! {
    #[test]
    fn a_predecessor_is_one_less(key: [u8; 20], zeros in 0..20_usize) {
        let mut key = key;
        key[20 - zeros..].fill(0);
        match key.predecessor() {
            None => prop_assert_eq!(key, [0; 20]),
            Some(less) => {
                prop_assert!(less < key);
                // Adding one again by hand gives the key.
                let mut more = less;
                for byte in more.iter_mut().rev() {
                    *byte = byte.wrapping_add(1);
                    if *byte != 0 {
                        break;
                    }
                }
                prop_assert_eq!(more, key);
            }
        }
    }
}
