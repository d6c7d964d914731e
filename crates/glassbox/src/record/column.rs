//! Columns: the types a row may hold, their stored form, and their part in a key.
//!
//! Stored form: numbers little-endian, fixed width, no gaps, so that a column's place in a row is a constant.
//! Key form: big-endian with the sign bit flipped, so that comparing bytes compares values (the memcomparable order).
//! Two values are the same to a key if their key forms are.

use std::fmt::Debug;

use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

/// Stored bytes that are no value of their column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {expected}")]
pub struct BadColumn {
    /// What the bytes should have been, for a person to read.
    pub expected: &'static str,
}

/// A type that a row may hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a column",
    label = "not a column type",
    note = "columns are u8 to u128, i8 to i128, f32, f64, bool, Decimal<digits>, Text<bytes>, Bytes<bytes>, Timestamp, \
            Date, TimeOfDay, Uuid, an enum with `#[derive(Column)]`, or an Option of one"
)]
pub trait Column: Copy + PartialEq + Send + Sync + 'static {
    /// The type as data, for the stored schema.
    const TYPE: ColumnType;
    /// Stored width in bytes.
    const WIDTH: usize;
    /// Whether the value may be missing.
    const NULLABLE: bool = false;
    /// Whether values that are the same key are stored in the same bytes: all but floats.
    #[doc(hidden)]
    const HAS_ONE_FORM: bool = true;

    /// Writes exactly [`Column::WIDTH`] bytes.
    fn store(&self, out: &mut [u8]);

    /// Reads exactly [`Column::WIDTH`] bytes.
    ///
    /// # Errors
    /// When the bytes are no value of this type (a `bool` of 2, a text that is not UTF-8).
    fn load(bytes: &[u8]) -> Result<Self, BadColumn>;

    /// Whether it is stored in the same bytes as another value.
    #[doc(hidden)]
    #[inline(always)]
    fn is_stored_as(&self, other: &Self) -> bool {
        self == other
    }

    /// As [`Column::load`], of bytes that are known to be a value of this type.
    #[doc(hidden)]
    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        Self::load(bytes.all()).expect("a value of the column's type")
    }
}

/// A column that may be part of a key: its key form orders as its values do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "not a type of key columns",
    note = "keys are made of numbers, bool, Decimal, Text, Bytes, Timestamp, Date, TimeOfDay, Uuid, enums with \
            `#[derive(Column)]`, and Options of these"
)]
pub trait KeyColumn: Column + Debug {
    /// Width in bytes of the key form.
    const KEY_WIDTH: usize;

    /// Appends the key form.
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>);

    /// Reads exactly [`KeyColumn::KEY_WIDTH`] bytes of the key form.
    ///
    /// # Errors
    /// When the bytes are no value of this type.
    #[inline(always)]
    fn from_key(bytes: &[u8]) -> Result<Self, BadColumn> {
        // Many are stored as they are in a key.
        Self::load(bytes)
    }

    /// Whether it is the same key as another value.
    #[inline(always)]
    fn is_key(&self, other: &Self) -> bool {
        self == other
    }

    /// The number that placement takes modulo the number of partitions. Integers give themselves, so that
    /// neighbours spread evenly; others give a hash of their bytes that is the same for ever.
    fn placement(&self) -> u64;
}

/// The items of a [`Column`] whose stored form are the bytes of a number, the least significant first.
macro_rules! stored_as_number {
    ($type:ty, $variant:ident) => {
        const TYPE: ColumnType = ColumnType::$variant;
        const WIDTH: usize = size_of::<$type>();

        #[inline(always)]
        fn store(&self, out: &mut [u8]) {
            out.copy_from_slice(&self.to_le_bytes());
        }

        #[inline(always)]
        fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
            let bytes = bytes.try_into().map_err(|_| BadColumn { expected: stringify!($type) })?;
            Ok(<$type>::from_le_bytes(bytes))
        }

        #[inline(always)]
        fn load_sound(bytes: Sound<'_>) -> Self {
            <$type>::from_le_bytes(*bytes.bytes())
        }
    };
}
pub(super) use stored_as_number;

macro_rules! integer_columns {
    ($($type:ty, $unsigned:ty, $variant:ident, $flip:expr;)*) => {$(
        impl Column for $type {
            stored_as_number!($type, $variant);
        }

        impl KeyColumn for $type {
            const KEY_WIDTH: usize = size_of::<$type>();

            #[inline(always)]
            fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
                let ordered = u128::from(*self as $unsigned ^ $flip);
                if Self::KEY_WIDTH > 8 {
                    to.push_uint((ordered >> 64) as u64, Self::KEY_WIDTH.saturating_sub(8));
                }
                to.push_uint(ordered as u64, Self::KEY_WIDTH.min(8));
            }

            #[inline(always)]
            fn from_key(bytes: &[u8]) -> Result<Self, BadColumn> {
                let bytes = bytes.try_into().map_err(|_| BadColumn { expected: stringify!($type) })?;
                Ok((<$unsigned>::from_be_bytes(bytes) ^ $flip) as $type)
            }

            #[inline(always)]
            fn placement(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}

integer_columns! {
    u8, u8, U8, 0;
    u16, u16, U16, 0;
    u32, u32, U32, 0;
    u64, u64, U64, 0;
    u128, u128, U128, 0;
    i8, u8, I8, 1 << 7;
    i16, u16, I16, 1 << 15;
    i32, u32, I32, 1 << 31;
    i64, u64, I64, 1 << 63;
    i128, u128, I128, 1 << 127;
}

impl Column for bool {
    const TYPE: ColumnType = ColumnType::Bool;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(&[u8::from(*self)]);
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        match bytes {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(BadColumn { expected: "bool (0 or 1)" }),
        }
    }

    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        bytes.bytes::<1>()[0] != 0
    }
}

impl KeyColumn for bool {
    const KEY_WIDTH: usize = 1;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        to.push_uint(u64::from(*self), 1);
    }

    #[inline(always)]
    fn placement(&self) -> u64 {
        u64::from(*self)
    }
}

/// `None` is stored as a zero byte and a zeroed value, and orders before every value.
impl<C: Column> Column for Option<C> {
    const TYPE: ColumnType = {
        assert!(!C::NULLABLE, "a column cannot be an Option of an Option");
        C::TYPE
    };
    const WIDTH: usize = 1 + C::WIDTH;
    const NULLABLE: bool = true;
    const HAS_ONE_FORM: bool = C::HAS_ONE_FORM;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        match self {
            None => out.fill(0),
            Some(value) => {
                out[0] = 1;
                value.store(&mut out[1..]);
            }
        }
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        match bytes.split_first() {
            Some((0, rest)) if rest.iter().all(|&byte| byte == 0) => Ok(None),
            Some((1, rest)) => C::load(rest).map(Some),
            _ => Err(BadColumn { expected: "option (a byte of 0 or 1, then the value)" }),
        }
    }

    #[inline(always)]
    fn is_stored_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(value), Some(other)) => value.is_stored_as(other),
            _ => self.is_none() && other.is_none(),
        }
    }

    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        (bytes.all()[0] != 0).then(|| C::load_sound(bytes.column(1, Self::WIDTH)))
    }
}

impl<C: KeyColumn> KeyColumn for Option<C> {
    const KEY_WIDTH: usize = 1 + C::KEY_WIDTH;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        match self {
            None => to.push_zeros(1 + C::KEY_WIDTH),
            Some(value) => {
                to.push_uint(1, 1);
                value.push(to);
            }
        }
    }

    #[inline(always)]
    fn from_key(bytes: &[u8]) -> Result<Self, BadColumn> {
        match bytes.split_first() {
            Some((1, rest)) => C::from_key(rest).map(Some),
            // As it is stored.
            _ => Self::load(bytes),
        }
    }

    #[inline(always)]
    fn is_key(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(value), Some(other)) => value.is_key(other),
            _ => self.is_none() && other.is_none(),
        }
    }

    #[inline(always)]
    fn placement(&self) -> u64 {
        self.as_ref().map_or(0, KeyColumn::placement)
    }
}

/// FNV-1a over `bytes`: placement must never change between versions, and keys are short.
pub(crate) fn placement_of_bytes(bytes: &[u8]) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    // The low bits of FNV are weak; placement takes a remainder, so they are mixed with the high ones.
    hash ^ (hash >> 32)
}
