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
    columns: Box<[Column]>,
    width: usize,
}

/// Bytes of a key that are compared as one value.
#[derive(Clone, Copy, Debug)]
struct Column {
    at: u32,
    form: Form,
}

/// How bytes are compared. In a key, numbers are stored with the highest byte first and, if they have a sign, its bit
/// flipped: so the numbers that the bytes make have the order of those that are meant. Text is filled up with zeros,
/// which it does not contain, so it has the order of its bytes.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number1,
    Number2,
    Number4,
    Number8,
    Bytes(u32),
}

impl Form {
    fn of(kind: ColumnType) -> Self {
        match kind {
            ColumnType::U8 | ColumnType::I8 | ColumnType::Bool => Self::Number1,
            ColumnType::U16 | ColumnType::I16 => Self::Number2,
            ColumnType::U32 | ColumnType::I32 => Self::Number4,
            ColumnType::U64 | ColumnType::I64 | ColumnType::Timestamp | ColumnType::Decimal(_) => Self::Number8,
            ColumnType::Text(bytes) | ColumnType::Bytes(bytes) => Self::Bytes(bytes as u32),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Number1 => 1,
            Self::Number2 => 2,
            Self::Number4 => 4,
            Self::Number8 => 8,
            Self::Bytes(bytes) => bytes as usize,
        }
    }
}

impl Column {
    #[inline(always)]
    fn order(self, left: &[u8], right: &[u8]) -> Ordering {
        fn part<const N: usize>(key: &[u8], at: usize) -> [u8; N] {
            *key[at..].first_chunk().expect("the column lies within the key")
        }
        let at = self.at as usize;
        match self.form {
            Form::Number1 => left[at].cmp(&right[at]),
            Form::Number2 => u16::from_be_bytes(part(left, at)).cmp(&u16::from_be_bytes(part(right, at))),
            Form::Number4 => u32::from_be_bytes(part(left, at)).cmp(&u32::from_be_bytes(part(right, at))),
            Form::Number8 => u64::from_be_bytes(part(left, at)).cmp(&u64::from_be_bytes(part(right, at))),
            Form::Bytes(bytes) => left[at..][..bytes as usize].cmp(&right[at..][..bytes as usize]),
        }
    }
}

impl SchemaKeys {
    /// Keys of these columns.
    pub(crate) fn new(parts: &[KeyPart]) -> Self {
        let (mut columns, mut width) = (Vec::new(), 0);
        let mut add = |form: Form| {
            columns.push(Column { at: width as u32, form });
            width += form.bytes();
        };
        for part in parts {
            if part.nullable {
                // Bounds of scans have other bytes than 0 and 1 here, and something behind a 0.
                add(Form::Number1);
            }
            add(Form::of(part.kind));
        }
        Self { columns: columns.into(), width }
    }

    #[inline(always)]
    fn order(&self, left: &[u8], right: &[u8]) -> Ordering {
        for column in &self.columns {
            let order = column.order(left, right);
            if order.is_ne() {
                return order;
            }
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

    #[inline(never)]
    fn smaller(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        entries.partition(|at| self.order(entries.key(at, self.width), probe).is_lt())
    }

    #[inline(never)]
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
