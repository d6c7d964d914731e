//! A value of a column from its text: the opposite of [`Value`](super::Value)'s `Display`.

use std::fmt::Display;

use uuid::Uuid;

use super::column::Column;
use super::date::{Date, TimeOfDay};
use super::decimal::units;
use super::layout::{describe_type, width_of};
use super::schema::{ColumnSchema, ColumnType, EnumType};
use super::timestamp::Timestamp;

/// A text that is no value of a column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no value of column `{column}`, {expected}")]
pub struct BadText {
    text: String,
    column: String,
    expected: String,
}

/// The stored form of the value that a text stands for, or of a missing one.
///
/// ```
/// use glassbox::Record;
/// use glassbox::record::parse;
///
/// #[derive(Record, Clone, Copy)]
/// #[record(key = id)]
/// struct Item {
///     id: u32,
///     weight: Option<f64>,
/// }
///
/// let columns = &Item::SCHEMA.columns;
/// assert_eq!(parse(&columns[0], Some("258")), Ok(vec![2, 1, 0, 0]));
/// assert_eq!(parse(&columns[1], None), Ok(vec![0; 9]));
/// let wrong = parse(&columns[0], Some("-1")).unwrap_err().to_string();
/// assert_eq!(wrong, "`-1` is no value of column `id`, which is u32");
/// ```
///
/// # Errors
/// When the text is none of the column's type, or a value is missing and the column is not nullable.
pub fn parse(column: &ColumnSchema, text: Option<&str>) -> Result<Vec<u8>, BadText> {
    let Some(text) = text else {
        let expected = || format!("which has no missing values ({})", describe_type(column));
        let bad = || BadText { text: "null".to_owned(), column: column.name.to_string(), expected: expected() };
        return if column.nullable { Ok(vec![0; column.width]) } else { Err(bad()) };
    };
    let bytes = of_type(&column.kind, text).ok_or_else(|| {
        let kind = ColumnSchema { nullable: false, ..column.clone() };
        let expected = match &column.kind {
            ColumnType::Bytes(bytes) => format!("which has {} hexadecimal digits", 2 * bytes),
            ColumnType::Text(bytes) => format!("a text of at most {bytes} bytes, none of them zero"),
            ColumnType::Timestamp => "a time like 2024-02-29T12:34:56.000007Z".to_owned(),
            ColumnType::Date => "a date like 2024-02-29".to_owned(),
            ColumnType::TimeOfDay => "a time of day like 12:34:56.000007".to_owned(),
            ColumnType::Decimal(digits) => format!("a number with at most {digits} digits after the point"),
            ColumnType::Bool => "which is true or false".to_owned(),
            _ => format!("which is {}", describe_type(&kind)),
        };
        BadText { text: text.to_owned(), column: column.name.to_string(), expected }
    })?;
    debug_assert_eq!(bytes.len(), width_of(&column.kind));
    Ok(if column.nullable { [&[1], &bytes[..]].concat() } else { bytes })
}

fn of_type(kind: &ColumnType, text: &str) -> Option<Vec<u8>> {
    fn stored<C: Column + std::str::FromStr>(text: &str) -> Option<Vec<u8>>
    where
        C::Err: Display,
    {
        text.parse().ok().map(|value: C| bytes_of(&value))
    }
    match *kind {
        ColumnType::U8 => stored::<u8>(text),
        ColumnType::U16 => stored::<u16>(text),
        ColumnType::U32 => stored::<u32>(text),
        ColumnType::U64 => stored::<u64>(text),
        ColumnType::U128 => stored::<u128>(text),
        ColumnType::I8 => stored::<i8>(text),
        ColumnType::I16 => stored::<i16>(text),
        ColumnType::I32 => stored::<i32>(text),
        ColumnType::I64 => stored::<i64>(text),
        ColumnType::I128 => stored::<i128>(text),
        ColumnType::F32 => stored::<f32>(text),
        ColumnType::F64 => stored::<f64>(text),
        ColumnType::Bool => stored::<bool>(text),
        ColumnType::Timestamp => stored::<Timestamp>(text),
        ColumnType::Date => stored::<Date>(text),
        ColumnType::TimeOfDay => stored::<TimeOfDay>(text),
        ColumnType::Uuid => stored::<Uuid>(text),
        ColumnType::Decimal(digits) => units(text, digits).map(|units| bytes_of(&units)),
        ColumnType::Text(width) => {
            let fits = text.len() <= width && !text.contains('\0');
            fits.then(|| [text.as_bytes(), &vec![0; width - text.len()]].concat())
        }
        ColumnType::Bytes(width) => {
            let digits = text.as_bytes();
            let is_hex = digits.len() == 2 * width && digits.iter().all(u8::is_ascii_hexdigit);
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            if is_hex { digits.chunks(2).map(byte).collect() } else { None }
        }
        ColumnType::Enum(EnumType { bytes, ref values }) => {
            let value = values.iter().find(|value| value.name == text)?;
            Some(value.number.to_le_bytes()[..bytes].to_vec())
        }
    }
}

fn bytes_of<C: Column>(value: &C) -> Vec<u8> {
    let mut bytes = vec![0; C::WIDTH];
    value.store(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::record::{EnumValue, Value};

    fn column(kind: ColumnType, nullable: bool) -> ColumnSchema {
        let width = width_of(&kind) + usize::from(nullable);
        ColumnSchema { name: "c".into(), kind, nullable, offset: 0, width }
    }

    /// The text that `Display` writes of a value gives the value again.
    #[test]
    fn texts_of_values_are_parsed() {
        let value = |number, name| EnumValue { number, name: Cow::Borrowed(name) };
        let standing = EnumType { bytes: 2, values: vec![value(1, "Open"), value(300, "Paid")].into() };
        for (kind, text) in [
            (ColumnType::U8, "255"),
            (ColumnType::U64, "18446744073709551615"),
            (ColumnType::U128, "340282366920938463463374607431768211455"),
            (ColumnType::I8, "-128"),
            (ColumnType::I64, "-9223372036854775808"),
            (ColumnType::I128, "-170141183460469231731687303715884105728"),
            (ColumnType::F32, "0.1"),
            (ColumnType::F32, "1e-40"),
            (ColumnType::F64, "-2.5"),
            (ColumnType::F64, "1.7976931348623157e308"),
            (ColumnType::F64, "Infinity"),
            (ColumnType::F64, "-Infinity"),
            (ColumnType::F64, "NaN"),
            (ColumnType::Bool, "true"),
            (ColumnType::Timestamp, "2024-02-29T12:34:56.000007Z"),
            (ColumnType::Date, "2024-02-29"),
            (ColumnType::TimeOfDay, "23:59:59.999999"),
            (ColumnType::Decimal(2), "-0.05"),
            (ColumnType::Text(5), ""),
            (ColumnType::Text(5), "n\u{e9}e"),
            (ColumnType::Bytes(3), "00abff"),
            (ColumnType::Uuid, "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            (ColumnType::Enum(standing), "Paid"),
        ] {
            for nullable in [false, true] {
                let column = column(kind.clone(), nullable);
                let stored = parse(&column, Some(text)).unwrap();
                assert_eq!(Value::read(&column, &stored).unwrap().to_string(), text, "{kind:?}");
            }
            assert!(parse(&column(kind.clone(), false), None).is_err());
            let missing = column(kind, true);
            assert_eq!(Value::read(&missing, &parse(&missing, None).unwrap()), Ok(Value::Null));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (kind, text, expected) in [
            (ColumnType::U8, "256", "which is u8"),
            (ColumnType::I128, "", "which is i128"),
            (ColumnType::F64, "one", "which is f64"),
            (ColumnType::Bool, "yes", "which is true or false"),
            (ColumnType::Decimal(2), "1.234", "a number with at most 2 digits after the point"),
            (ColumnType::Date, "2023-02-29", "a date like 2024-02-29"),
            (ColumnType::Text(2), "abc", "a text of at most 2 bytes, none of them zero"),
            (ColumnType::Bytes(2), "0g12", "which has 4 hexadecimal digits"),
            (ColumnType::Uuid, "12", "which is uuid"),
        ] {
            let refused = parse(&column(kind, false), Some(text)).unwrap_err().to_string();
            assert_eq!(refused, format!("`{text}` is no value of column `c`, {expected}"));
        }
    }
}
