//! Keys compared column by column, as a schema tells what is in them.

use std::cmp::Ordering;

use super::entries::Entries;
use super::keys::{self, Keys};
use crate::record::ColumnType;
use crate::record::layout::width_of;

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPart {
    /// The type of its values.
    pub(crate) kind: ColumnType,
    /// Whether a value may be missing: then a byte 0 or 1 stands before it.
    pub(crate) nullable: bool,
}

/// Columns of which a probe has the values; of keys with more, the others are read from the key each time.
const PROBED: usize = 4;

/// Keys of these columns, in key order.
///
/// In a key, numbers are stored with the highest byte first and, if they have a sign, its bit flipped: so the numbers
/// that the bytes make have the order of those that are meant. Text is filled up with zeros, which it does not contain,
/// so it has the order of its bytes, 8 at a time.
#[derive(Clone, Debug)]
pub(crate) struct SchemaKeys {
    columns: Box<[KeyWord]>,
    width: usize,
}

/// Bytes of a key that are compared as one number: a column, or 8 bytes of one that has more.
#[derive(Clone, Copy, Debug)]
struct KeyWord {
    at: u32,
    /// Of the 8 bytes from there on, the bits of those that do not belong to it.
    behind: u32,
}

/// A key, and the values of its first columns: made for a search.
struct Values<'k> {
    values: [u64; PROBED],
    key: &'k [u8],
}

impl KeyWord {
    /// Its value in a key that ends somewhere behind it.
    #[inline(always)]
    fn of(self, key: &[u8]) -> u64 {
        let bytes = &key[self.at as usize..];
        if let Some(word) = bytes.first_chunk() {
            return u64::from_be_bytes(*word) >> self.behind;
        }
        let own = &bytes[..(64 - self.behind as usize) / 8];
        own.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

impl SchemaKeys {
    /// Keys of these columns.
    pub(crate) fn new(parts: &[KeyPart]) -> Self {
        let (mut columns, mut width) = (Vec::new(), 0);
        let mut add = |bytes: usize| {
            for at in (0..bytes).step_by(8) {
                let own = (bytes - at).min(8);
                columns.push(KeyWord { at: (width + at) as u32, behind: 64 - 8 * own as u32 });
            }
            width += bytes;
        };
        for part in parts {
            if part.nullable {
                // Bounds of scans have other bytes than 0 and 1 here, and something behind a 0.
                add(1);
            }
            add(width_of(&part.kind));
        }
        Self { columns: columns.into(), width }
    }

    fn values<'k>(&self, key: &'k [u8]) -> Values<'k> {
        let mut values = [0; PROBED];
        for (value, column) in values.iter_mut().zip(&self.columns) {
            *value = column.of(key);
        }
        Values { values, key }
    }

    /// The order of a stored key and a probe.
    #[inline(always)]
    fn order(&self, entries: Entries<'_>, at: u32, probe: &Values<'_>) -> Ordering {
        for (column, value) in self.columns.iter().zip(&probe.values) {
            let stored = entries.word(at, column.at) >> column.behind;
            if stored != *value {
                return stored.cmp(value);
            }
        }
        if self.columns.len() > PROBED { self.order_behind(entries, at, probe.key) } else { Ordering::Equal }
    }

    /// Their order by the columns of which the probe does not have the values.
    #[inline(never)]
    fn order_behind(&self, entries: Entries<'_>, at: u32, key: &[u8]) -> Ordering {
        let values = |column: &KeyWord| (entries.word(at, column.at) >> column.behind, column.of(key));
        let differs = self.columns[PROBED..].iter().map(values).find(|(stored, value)| stored != value);
        differs.map_or(Ordering::Equal, |(stored, value)| stored.cmp(&value))
    }
}

impl Keys for SchemaKeys {
    type Probe<'k> = &'k [u8];

    // Integer keys ask for it once, and a program with them alone has no other code of this type's.
    #[inline(always)]
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn probe<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        assert_eq!(key.len(), self.width, "the width of a tree's keys");
        key
    }

    #[inline(never)]
    fn smaller(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        let values = self.values(probe);
        entries.partition(|at| self.order(entries, at, &values).is_lt())
    }

    #[inline(never)]
    fn not_greater(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        let values = self.values(probe);
        entries.partition(|at| self.order(entries, at, &values).is_le())
    }

    /// Values are equal exactly if their bytes are.
    #[inline(always)]
    fn is_at(&self, entries: Entries<'_>, at: usize, probe: &[u8]) -> bool {
        match self.width {
            ..=8 => (keys::padded_8(probe) ^ entries.word(at as u32, 0)) >> (64 - 8 * self.width as u32) == 0,
            width => entries.key(at as u32, width) == probe,
        }
    }

    #[inline(always)]
    fn number(&self, probe: &[u8]) -> Option<u64> {
        (self.width <= 8).then(|| keys::padded_8(probe) >> (64 - 8 * self.width as u32))
    }

    #[inline(always)]
    fn distance(&self, entries: Entries<'_>, probe: &[u8]) -> usize {
        let behind = 64 - 8 * self.width.min(8) as u32;
        keys::distance(entries, keys::padded_8(probe), behind)
    }

    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        let values = |column: &KeyWord| (column.of(left), column.of(right));
        let differs = self.columns.iter().map(values).find(|(left, right)| left != right);
        differs.map_or(Ordering::Equal, |(left, right)| left.cmp(&right))
    }
}
