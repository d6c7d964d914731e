//! A stored value, read by its column's type alone.

use std::fmt;

use uuid::Uuid;

use super::column::{BadColumn, Column};
use super::date::{Date, TimeOfDay};
use super::schema::{ColumnSchema, ColumnType, TableSchema};
use super::timestamp::Timestamp;

/// A value of any column. `Display` writes it as text: decimals with their point, times as [`Timestamp`]s, bytes as
/// hex, a missing value as nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    Null,
    Unsigned(u128),
    Signed(i128),
    Bool(bool),
    /// Microseconds since 1970, UTC.
    Timestamp(i64),
    Decimal {
        units: i64,
        /// Digits after the point.
        digits: u32,
    },
    Text(&'a str),
    Bytes(&'a [u8]),
    F32(f32),
    F64(f64),
    Date(Date),
    TimeOfDay(TimeOfDay),
    Uuid(Uuid),
    /// The name of an enum's value.
    Enum(&'a str),
}

/// Stored bytes that are no value of their column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column `{column}` is not a valid {expected}")]
pub struct BadValue {
    column: String,
    expected: &'static str,
}

impl<'a> Value<'a> {
    /// Reads the value of a column from a stored row.
    ///
    /// # Errors
    /// When the bytes are no value of the column's type.
    ///
    /// # Panics
    /// When the row is shorter than the schema says.
    pub fn read(column: &'a ColumnSchema, row: &'a [u8]) -> Result<Self, BadValue> {
        let bad = |expected| BadValue { column: column.name.to_string(), expected };
        let bytes = &row[column.offset..column.offset + column.width];
        if !column.nullable {
            return Self::of_type(&column.kind, bytes).map_err(bad);
        }
        match bytes.split_first() {
            Some((0, rest)) if rest.iter().all(|&byte| byte == 0) => Ok(Self::Null),
            Some((1, rest)) => Self::of_type(&column.kind, rest).map_err(bad),
            _ => Err(bad("option (a byte of 0 or 1, then the value)")),
        }
    }

    fn of_type(kind: &'a ColumnType, bytes: &'a [u8]) -> Result<Self, &'static str> {
        macro_rules! integer {
            ($type:ty, $variant:ident) => {
                Ok(Self::$variant(<$type>::from_le_bytes(bytes.try_into().map_err(|_| stringify!($type))?).into()))
            };
        }
        let column = |bad: BadColumn| bad.expected;
        match *kind {
            ColumnType::U8 => integer!(u8, Unsigned),
            ColumnType::U16 => integer!(u16, Unsigned),
            ColumnType::U32 => integer!(u32, Unsigned),
            ColumnType::U64 => integer!(u64, Unsigned),
            ColumnType::U128 => integer!(u128, Unsigned),
            ColumnType::I8 => integer!(i8, Signed),
            ColumnType::I16 => integer!(i16, Signed),
            ColumnType::I32 => integer!(i32, Signed),
            ColumnType::I64 => integer!(i64, Signed),
            ColumnType::I128 => integer!(i128, Signed),
            ColumnType::Timestamp => integer!(i64, Timestamp),
            ColumnType::Decimal(digits) => {
                let units = i64::from_le_bytes(bytes.try_into().map_err(|_| "decimal")?);
                Ok(Self::Decimal { units, digits })
            }
            ColumnType::Bool => match bytes {
                [0] => Ok(Self::Bool(false)),
                [1] => Ok(Self::Bool(true)),
                _ => Err("bool (0 or 1)"),
            },
            ColumnType::Text(_) => {
                let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                let text = std::str::from_utf8(&bytes[..length]).map_err(|_| "text (UTF-8)")?;
                if text.contains('\0') { Err("text (no zero bytes within)") } else { Ok(Self::Text(text)) }
            }
            ColumnType::Bytes(_) => Ok(Self::Bytes(bytes)),
            ColumnType::F32 => f32::load(bytes).map(Self::F32).map_err(column),
            ColumnType::F64 => f64::load(bytes).map(Self::F64).map_err(column),
            ColumnType::Date => Date::load(bytes).map(Self::Date).map_err(column),
            ColumnType::TimeOfDay => TimeOfDay::load(bytes).map(Self::TimeOfDay).map_err(column),
            ColumnType::Uuid => Uuid::load(bytes).map(Self::Uuid).map_err(column),
            ColumnType::Enum(ref kind) => {
                let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
                kind.name_of(number).map(Self::Enum).ok_or("value of its enum")
            }
        }
    }
}

/// These columns of a stored row, each with its name and value, for messages.
pub(crate) fn named_values(table: &TableSchema, columns: &[usize], row: &[u8]) -> String {
    let named = columns.iter().map(|&at| {
        let column = &table.columns[at];
        match Value::read(column, row) {
            Ok(Value::Null) => format!("{} = none", column.name),
            Ok(value) => format!("{} = {value}", column.name),
            Err(bad) => bad.to_string(),
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Timestamp(micros) => Timestamp::from_micros(*micros).fmt(f),
            Self::Decimal { units, digits } => write_decimal(f, *units, *digits),
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::F32(number) => write_float(f, *number),
            Self::F64(number) => write_float(f, *number),
            Self::Date(date) => date.fmt(f),
            Self::TimeOfDay(time) => time.fmt(f),
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Enum(name) => f.write_str(name),
        }
    }
}

/// The shortest text that gives the same number again, with an exponent where it is much shorter, as PostgreSQL writes
/// it.
fn write_float(
    f: &mut fmt::Formatter<'_>,
    number: impl Into<f64> + Copy + fmt::Display + fmt::LowerExp,
) -> fmt::Result {
    let magnitude = number.into().abs();
    if magnitude == f64::INFINITY {
        return f.write_str(if number.into() < 0.0 { "-Infinity" } else { "Infinity" });
    }
    let is_short = magnitude.is_nan() || magnitude == 0.0 || (1e-4..1e15).contains(&magnitude);
    if is_short { write!(f, "{number}") } else { write!(f, "{number:e}") }
}

fn write_decimal(f: &mut fmt::Formatter<'_>, units: i64, digits: u32) -> fmt::Result {
    let sign = if units < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", units.unsigned_abs(), width = digits as usize + 1);
    let (whole, fraction) = text.split_at(text.len() - digits as usize);
    let point = if digits == 0 { "" } else { "." };
    write!(f, "{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601() {
        let text = |micros| Value::Timestamp(micros).to_string();
        assert_eq!(text(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(text(1_709_210_096_000_007), "2024-02-29T12:34:56.000007Z");
        assert_eq!(text(951_782_400_000_000), "2000-02-29T00:00:00.000000Z");
        assert_eq!(text(i64::MAX), "+294247-01-10T04:00:54.775807Z");
    }

    #[test]
    fn decimals_have_their_point() {
        let text = |units, digits| Value::Decimal { units, digits }.to_string();
        assert_eq!(
            [text(-5, 2), text(12_345, 2), text(7, 0), text(i64::MIN, 4)],
            ["-0.05", "123.45", "7", "-922337203685477.5808"]
        );
    }

    #[test]
    fn bytes_that_are_no_value_are_refused() {
        let column = |kind, width, nullable| ColumnSchema { name: "c".into(), kind, nullable, offset: 0, width };
        assert!(Value::read(&column(ColumnType::Bool, 1, false), &[2]).is_err());
        assert!(Value::read(&column(ColumnType::Text(2), 2, false), &[0xff, 0]).is_err());
        assert!(Value::read(&column(ColumnType::Text(3), 3, false), b"a\0b").is_err());
        assert!(Value::read(&column(ColumnType::U8, 2, true), &[0, 1]).is_err());
        assert_eq!(Value::read(&column(ColumnType::U8, 2, true), &[0, 0]), Ok(Value::Null));
        assert_eq!(Value::read(&column(ColumnType::I16, 2, false), &[0xfe, 0xff]), Ok(Value::Signed(-2)));
    }
}
