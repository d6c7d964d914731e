//! The schema as data: enough to read a database without the Rust types it was written with.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::row::Access;

/// The type of a column's values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ColumnType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Bool,
    /// Microseconds since 1970, UTC, as an `i64`.
    Timestamp,
    /// An `i64` of units; the number of digits after the point.
    Decimal(u32),
    /// UTF-8 of at most so many bytes, padded with zeros.
    Text(usize),
    /// Exactly so many bytes.
    Bytes(usize),
    U128,
    I128,
    F32,
    F64,
    /// Days since 1970-01-01, as an `i32`.
    Date,
    /// Microseconds since midnight, as an `i64`.
    TimeOfDay,
    /// 16 bytes.
    Uuid,
    /// A number that stands for a name.
    Enum(EnumType),
}

/// The type of an enum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumType {
    /// Width of the number in the row: 1, 2 or 4 bytes.
    pub bytes: usize,
    /// The values, with ascending numbers.
    pub values: Cow<'static, [EnumValue]>,
}

/// A value of an enum: its number in the row, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumValue {
    /// The number.
    pub number: u64,
    /// The name.
    pub name: Cow<'static, str>,
}

/// One column: its name, type, and place in the stored row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSchema {
    /// The field's name.
    pub name: Cow<'static, str>,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Whether a value may be missing: then a byte 0 or 1 stands before it.
    pub nullable: bool,
    /// Offset in the stored row, bytes.
    pub offset: usize,
    /// Width in the stored row, bytes.
    pub width: usize,
}

impl EnumType {
    /// The name of a number; `None`: it is no value.
    pub fn name_of(&self, number: u64) -> Option<&str> {
        self.values.iter().find(|value| value.number == number).map(|value| &*value.name)
    }
}

impl ColumnSchema {
    /// Whether each value of this column is one of the other, in the same bytes: the same column, of which an enum may
    /// have more values.
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        let (ColumnType::Enum(values), ColumnType::Enum(others)) = (&self.kind, &other.kind) else {
            return self == other;
        };
        let has = |value: &EnumValue| others.values.contains(value);
        values.bytes == others.bytes && values.values.iter().all(has) && {
            let kind = self.kind.clone();
            *self == Self { kind, ..other.clone() }
        }
    }
}

impl fmt::Display for ColumnSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ", self.name)?;
        match &self.kind {
            ColumnType::Enum(EnumType { values, .. }) => {
                let all = values.iter().map(|EnumValue { number, name }| format!("{name} = {number}"));
                write!(f, "enum({})", all.collect::<Vec<_>>().join(", "))?;
            }
            kind => write!(f, "{kind:?}")?,
        }
        f.write_str(if self.nullable { " or nothing" } else { "" })
    }
}

/// One secondary index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexSchema {
    /// Name, unique within the table.
    pub name: Cow<'static, str>,
    /// Positions of the key's columns, in key order. A non-unique index ends with those of the primary key that it did
    /// not name, so that its entries differ.
    pub columns: Cow<'static, [usize]>,
    /// Whether two rows may not agree on all of `columns`.
    pub unique: bool,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    /// The table's name.
    pub name: Cow<'static, str>,
    /// Columns in declaration order, which is their stored order.
    pub columns: Cow<'static, [ColumnSchema]>,
    /// Positions of the primary key's columns, in key order.
    pub key: Cow<'static, [usize]>,
    /// Width of a stored row in bytes.
    pub row_width: usize,
    /// Position in `columns` of the one that decides the partition, always part of the key; `None`: replicated.
    pub partition_by: Option<usize>,
    /// What the primary index is able to do.
    pub access: Access,
    /// Secondary indexes.
    pub indexes: Cow<'static, [IndexSchema]>,
}

/// The words for the two sides of a comparison.
pub(crate) struct DifferenceWords {
    /// The verb for one: "is stored".
    pub(crate) one: &'static str,
    /// The verb for the other: "now is".
    pub(crate) other: &'static str,
    /// "is stored but no longer there".
    pub(crate) one_only: &'static str,
    /// "is new".
    pub(crate) other_only: &'static str,
}

impl TableSchema {
    /// The first difference of rows and primary keys; indexes are not compared, nor columns that agree.
    pub(crate) fn difference(
        &self,
        other: &TableSchema,
        words: &DifferenceWords,
        agree: fn(&ColumnSchema, &ColumnSchema) -> bool,
    ) -> Option<String> {
        let DifferenceWords { one, other: another, one_only, other_only } = words;
        for (at, wanted) in other.columns.iter().enumerate() {
            match self.columns.get(at) {
                Some(column) if agree(column, wanted) => {}
                Some(column) => return Some(format!("column {at} {one} as {column} and {another} {wanted}")),
                None => return Some(format!("column `{}` {other_only}", wanted.name)),
            }
        }
        if let Some(extra) = self.columns.get(other.columns.len()) {
            return Some(format!("column `{}` {one_only}", extra.name));
        }
        if self.key != other.key {
            return Some("its primary key has other columns".to_owned());
        }
        if self.partition_by != other.partition_by {
            let column = |schema: &TableSchema| schema.columns.get(schema.partition_by?).map(|it| it.name.clone());
            let how = |schema| match column(schema) {
                Some(name) => format!("partitioned by `{name}`"),
                None => "replicated".to_owned(),
            };
            return Some(format!("it {one} {} and {another} {}", how(self), how(other)));
        }
        None
    }

    /// Whether the rows of this table kept the promise of a unique index up to now.
    pub(crate) fn keeps_unique(&self, index: &IndexSchema) -> bool {
        self.indexes.iter().any(|known| known.unique && known.columns == index.columns)
    }
}

// Earlier versions of a table, from the attributes of its record.

/// The history of a table, as far as its rows need it: widths, indexes and access need none.
#[derive(Debug, Clone, Copy)]
pub struct TableHistory {
    /// Former names of the table, the oldest first.
    pub was: &'static [FormerName],
    /// For each column.
    pub columns: &'static [ColumnHistory],
    /// Columns that there are no longer.
    pub dropped: &'static [DroppedColumn],
}

/// A former name.
#[derive(Debug, Clone, Copy)]
pub struct FormerName {
    /// The name.
    pub name: &'static str,
    /// The version of the schema since which there is another one.
    pub until: u32,
}

/// The history of a column.
#[derive(Debug, Clone, Copy)]
pub struct ColumnHistory {
    /// The version of the schema since which there is the column.
    pub added: u32,
    /// The value that older rows get, as text; `None`: nothing.
    pub default: Option<&'static str>,
    /// Former names, the oldest first.
    pub was: &'static [FormerName],
}

/// A column that there is no longer.
#[derive(Debug, Clone)]
pub struct DroppedColumn {
    /// The last name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether a value could be missing.
    pub nullable: bool,
    /// The version of the schema since which there was the column.
    pub added: u32,
    /// The value that older rows got, as text; `None`: nothing.
    pub default: Option<&'static str>,
    /// The version of the schema since which there is none.
    pub at: u32,
}

impl TableHistory {
    /// The history of a table that has always been as it is.
    pub const NONE: Self = Self { was: &[], columns: &[], dropped: &[] };

    /// The newest version that it names.
    pub(crate) fn newest(&self) -> u32 {
        let names = |was: &[FormerName]| was.last().map_or(1, |name| name.until);
        let columns = self.columns.iter().map(|column| column.added.max(names(column.was)));
        let dropped = self.dropped.iter().map(|column| column.at);
        columns.chain(dropped).fold(names(self.was), u32::max)
    }
}

/// The name of something in a version of the schema.
pub(crate) fn name_in<'a>(version: u32, was: &[FormerName], now: &'a str) -> &'a str {
    was.iter().find(|former| former.until > version).map_or(now, |former| former.name)
}
