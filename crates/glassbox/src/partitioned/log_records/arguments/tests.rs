//! Every kind of value is encoded as `postcard` does it.

use std::fmt;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};

use crate::partitioned::log_records::arguments::room::MAX_VARINT_BYTES;
use crate::partitioned::log_records::arguments::*;

/// A value of each kind that serde knows.
#[derive(Debug, Clone)]
enum Value {
    Bool(bool),
    Signed(i128),
    Unsigned(u128),
    Float(f64),
    Char(char),
    Text(String),
    Bytes(Vec<u8>),
    Displayed(String),
    Unit,
    Variant(u32),
    Optional(Option<Box<Value>>),
    Newtype(Box<Value>),
    NewtypeVariant(u32, Box<Value>),
    Many(usize, u32, Vec<Value>),
    Map(Vec<(Value, Value)>),
}

struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| write!(f, "{letter}-"))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => to.serialize_bool(*value),
            // As the least of its size that holds it.
            Self::Signed(value) => match *value {
                it if it as i8 as i128 == it => to.serialize_i8(it as i8),
                it if it as i16 as i128 == it => to.serialize_i16(it as i16),
                it if it as i32 as i128 == it => to.serialize_i32(it as i32),
                it if it as i64 as i128 == it => to.serialize_i64(it as i64),
                it => to.serialize_i128(it),
            },
            Self::Unsigned(value) => match *value {
                it if it as u8 as u128 == it => to.serialize_u8(it as u8),
                it if it as u16 as u128 == it => to.serialize_u16(it as u16),
                it if it as u32 as u128 == it => to.serialize_u32(it as u32),
                it if it as u64 as u128 == it => to.serialize_u64(it as u64),
                it => to.serialize_u128(it),
            },
            Self::Float(value) if f64::from(*value as f32) == *value => to.serialize_f32(*value as f32),
            Self::Float(value) => to.serialize_f64(*value),
            Self::Char(value) => to.serialize_char(*value),
            Self::Text(value) => to.serialize_str(value),
            Self::Bytes(value) => to.serialize_bytes(value),
            Self::Displayed(value) => to.collect_str(&Shown(value)),
            Self::Unit => to.serialize_unit(),
            Self::Variant(number) => to.serialize_unit_variant("Kind", *number, "It"),
            Self::Optional(None) => to.serialize_none(),
            Self::Optional(Some(value)) => to.serialize_some(value),
            Self::Newtype(value) => to.serialize_newtype_struct("Kind", value),
            Self::NewtypeVariant(number, value) => to.serialize_newtype_variant("Kind", *number, "It", value),
            Self::Many(kind, number, values) => many(to, *kind, *number, values),
            Self::Map(pairs) => {
                let mut map = to.serialize_map(Some(pairs.len()))?;
                pairs.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

fn many<S: Serializer>(to: S, kind: usize, number: u32, values: &[Value]) -> Result<S::Ok, S::Error> {
    macro_rules! with {
        ($begin:expr, $add:ident($($name:literal)?)) => {{
            let mut all = $begin?;
            values.iter().try_for_each(|value| all.$add($($name,)? value))?;
            all.end()
        }};
    }
    let length = values.len();
    match kind {
        0 => with!(to.serialize_seq(Some(length)), serialize_element()),
        1 => with!(to.serialize_tuple(length), serialize_element()),
        2 => with!(to.serialize_tuple_struct("Kind", length), serialize_field()),
        3 => with!(to.serialize_tuple_variant("Kind", number, "It", length), serialize_field()),
        4 => with!(to.serialize_struct("Kind", length), serialize_field("a")),
        _ => with!(to.serialize_struct_variant("Kind", number, "It", length), serialize_field("a")),
    }
}

/// Of all sizes.
fn number() -> impl Strategy<Value = u128> {
    (any::<u128>(), 0_u32..128).prop_map(|(number, shift)| number >> shift)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (number(), any::<bool>()).prop_map(|(it, not)| Value::Signed(if not { !it } else { it } as i128)),
        number().prop_map(Value::Unsigned),
        any::<f64>().prop_map(Value::Float),
        any::<f32>().prop_map(|it| Value::Float(it.into())),
        any::<char>().prop_map(Value::Char),
        any::<String>().prop_map(Value::Text),
        vec(any::<u8>(), 0..300).prop_map(Value::Bytes),
        any::<String>().prop_map(Value::Displayed),
        Just(Value::Unit),
        any::<u32>().prop_map(Value::Variant),
        Just(Value::Optional(None)),
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed().prop_map(|it| Value::Optional(Some(it))),
            boxed().prop_map(Value::Newtype),
            (any::<u32>(), boxed()).prop_map(|(number, it)| Value::NewtypeVariant(number, it)),
            (0_usize..6, any::<u32>(), vec(inner.clone(), 0..6)).prop_map(|(kind, it, all)| Value::Many(kind, it, all)),
            btree_map(any::<u16>(), inner.clone(), 0..4).prop_map(|pairs| {
                Value::Map(pairs.into_iter().map(|(key, it)| (Value::Unsigned(key.into()), it)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_are_those_of_postcard(value in value()) {
        let expected = postcard::to_stdvec(&value).unwrap();
        let mut room = vec![0xa5; expected.len() + MAX_VARINT_BYTES];
        prop_assert_eq!(encode(&value, &mut room).unwrap(), expected.len());
        prop_assert_eq!(&room[..expected.len()], &expected);
        // Nothing is written behind the room, and nothing is said to fit that does not.
        for short in 0..expected.len().min(100) {
            prop_assert!(matches!(encode(&value, &mut room[..short]), Err(BadArguments::Full)));
        }
    }
}

#[test]
fn limits_of_numbers_are_those_of_postcard() {
    let shifts = (0..128).flat_map(|shift| [1_u128 << shift, (1 << shift) - 1, !0 >> shift]);
    for value in shifts.flat_map(|it| [Value::Unsigned(it), Value::Signed(it as i128), Value::Signed(!it as i128)]) {
        let mut room = [0; 32];
        let length = encode(&value, &mut room).unwrap();
        assert_eq!(room[..length], postcard::to_stdvec(&value).unwrap(), "{value:?}");
    }
}

#[test]
fn what_has_no_form_is_refused() {
    struct Endless;
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_seq(None)?.end()
        }
    }
    let error = encode(&Endless, &mut [0; 32]).unwrap_err();
    assert_eq!(error.to_string(), "a sequence does not know its length");
}
