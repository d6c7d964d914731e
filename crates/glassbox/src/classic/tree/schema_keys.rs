//! Keys compared column by column, as a schema tells what is in them.

use std::cmp::Ordering;

use super::entries::Entries;
use super::keys::Keys;
use crate::record::ColumnType;

/// A column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPart {
    /// The type of its values.
    pub(crate) kind: ColumnType,
    /// Whether a value may be missing: then a byte 0 or 1 stands before it.
    pub(crate) nullable: bool,
}

/// Keys of these columns, in key order.
#[derive(Clone, Debug)]
pub(crate) struct SchemaKeys {
    parts: Box<[KeyPart]>,
    width: usize,
}

/// A column's value. Comparing values of one type is comparing what is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value<'k> {
    Unsigned(u64),
    Signed(i64),
    Bytes(&'k [u8]),
}

impl KeyPart {
    /// Bytes of the value's key form, without the byte that tells whether there is one.
    fn value_bytes(self) -> usize {
        match self.kind {
            ColumnType::U8 | ColumnType::I8 | ColumnType::Bool => 1,
            ColumnType::U16 | ColumnType::I16 => 2,
            ColumnType::U32 | ColumnType::I32 => 4,
            ColumnType::U64 | ColumnType::I64 | ColumnType::Timestamp | ColumnType::Decimal(_) => 8,
            ColumnType::Text(bytes) | ColumnType::Bytes(bytes) => bytes,
        }
    }

    fn value(self, bytes: &[u8]) -> Value<'_> {
        match self.kind {
            ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 | ColumnType::Bool => {
                Value::Unsigned(unsigned(bytes))
            }
            ColumnType::I8 | ColumnType::I16 | ColumnType::I32 | ColumnType::I64 => Value::Signed(signed(bytes)),
            ColumnType::Timestamp | ColumnType::Decimal(_) => Value::Signed(signed(bytes)),
            ColumnType::Text(_) => Value::Bytes(without_padding(bytes)),
            ColumnType::Bytes(_) => Value::Bytes(bytes),
        }
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The sign bit is stored flipped.
fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len() as u32;
    let value = unsigned(bytes) << unused;
    ((value ^ 1 << 63) as i64) >> unused
}

fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

impl SchemaKeys {
    /// Keys of these columns.
    pub(crate) fn new(parts: &[KeyPart]) -> Self {
        let width = parts.iter().map(|part| usize::from(part.nullable) + part.value_bytes()).sum();
        Self { parts: parts.into(), width }
    }

    fn order(&self, mut left: &[u8], mut right: &[u8]) -> Ordering {
        for part in &self.parts {
            if part.nullable {
                // Bounds of scans have other bytes than 0 and 1 here, and something behind a 0.
                match left[0].cmp(&right[0]) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
                (left, right) = (&left[1..], &right[1..]);
            }
            let (value, left_rest) = left.split_at(part.value_bytes());
            let (other, right_rest) = right.split_at(part.value_bytes());
            match part.value(value).cmp(&part.value(other)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
            (left, right) = (left_rest, right_rest);
        }
        Ordering::Equal
    }
}

impl Keys for SchemaKeys {
    type Probe<'k> = &'k [u8];

    fn width(&self) -> usize {
        self.width
    }

    fn probe<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        assert_eq!(key.len(), self.width, "the width of a tree's keys");
        key
    }

    fn smaller(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        entries.partition(|at| self.order(entries.key(at, self.width), probe).is_lt())
    }

    fn not_greater(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        entries.partition(|at| self.order(entries.key(at, self.width), probe).is_le())
    }

    fn is_at(&self, entries: Entries<'_>, at: usize, probe: &[u8]) -> bool {
        self.order(entries.key(at as u32, self.width), probe).is_eq()
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        self.order(left, right)
    }
}
