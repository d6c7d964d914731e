//! Where things are in a stored row, and the order-preserving key of one, by the schema alone.

use super::float::{ordered_f32, ordered_f64};
use super::schema::{ColumnSchema, ColumnType, EnumType, TableSchema};

/// Maximum width of a stored row: its length has 32 bits in files.
const MAX_ROW_BYTES: usize = u32::MAX as usize;

/// Stored width of a value, in a row and in a key, without the byte that says whether there is one.
pub(crate) fn width_of(kind: &ColumnType) -> usize {
    match *kind {
        ColumnType::U8 | ColumnType::I8 | ColumnType::Bool => 1,
        ColumnType::U16 | ColumnType::I16 => 2,
        ColumnType::U32 | ColumnType::I32 | ColumnType::F32 | ColumnType::Date => 4,
        ColumnType::U64
        | ColumnType::I64
        | ColumnType::F64
        | ColumnType::Timestamp
        | ColumnType::TimeOfDay
        | ColumnType::Decimal(_) => 8,
        ColumnType::U128 | ColumnType::I128 | ColumnType::Uuid => 16,
        ColumnType::Enum(EnumType { bytes, .. }) => bytes,
        ColumnType::Text(bytes) | ColumnType::Bytes(bytes) => bytes,
    }
}

/// A column's type in words: `u16`, `decimal(2)`, `text(16)`.
pub fn describe_type(column: &ColumnSchema) -> String {
    let kind = match &column.kind {
        ColumnType::Decimal(digits) => format!("decimal({digits})"),
        ColumnType::Text(bytes) => format!("text({bytes})"),
        ColumnType::Bytes(bytes) => format!("bytes({bytes})"),
        ColumnType::Enum(EnumType { values, .. }) => {
            format!("enum({})", values.iter().map(|value| &*value.name).collect::<Vec<_>>().join(", "))
        }
        ColumnType::TimeOfDay => "time of day".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    if column.nullable { format!("{kind} or null") } else { kind }
}

/// Refuses a schema that contradicts itself, so that everything else may rely on it.
pub(crate) fn check(table: &TableSchema) -> Result<(), String> {
    let mut offset = 0;
    for column in table.columns.iter() {
        if let ColumnType::Enum(kind) = &column.kind {
            check_enum(kind).map_err(|why| format!("column `{}` of table `{}` {why}", column.name, table.name))?;
        }
        let width = width_of(&column.kind).saturating_add(usize::from(column.nullable));
        if column.offset != offset || column.width != width {
            return Err(format!("column `{}` of table `{}` is not where it should be", column.name, table.name));
        }
        offset = offset.saturating_add(width);
    }
    let mut keys = table.indexes.iter().map(|index| &index.columns).chain([&table.key]);
    let is_no_key = |key: &[usize]| key.is_empty() || key.iter().any(|&position| position >= table.columns.len());
    let problem = if offset != table.row_width || !(1..=MAX_ROW_BYTES).contains(&offset) {
        "the width of a row"
    } else if table.columns.is_empty() || table.columns.len() > 64 {
        "the number of columns"
    } else if keys.any(|key| is_no_key(key)) {
        "a key"
    } else if table.partition_by.is_some_and(|position| !table.key.contains(&position)) {
        "the column that decides the partition"
    } else {
        return Ok(());
    };
    Err(format!("{problem} of table `{}` cannot be", table.name))
}

fn check_enum(kind: &EnumType) -> Result<(), &'static str> {
    let largest = match kind.bytes {
        bytes @ (1 | 2 | 4) => u64::MAX >> (64 - 8 * bytes),
        _ => return Err("has numbers that cannot be stored"),
    };
    let is_ascending = kind.values.windows(2).all(|pair| pair[0].number < pair[1].number);
    match kind.values.last() {
        Some(last) if is_ascending && last.number <= largest => Ok(()),
        _ => Err("does not name its values in order"),
    }
}

/// Maximum width of a key in the first format of manifests.
const FIRST_KEY_BYTES: usize = 128;

/// Whether programs that know the first format of manifests know the table's types and the widths of its keys.
pub(crate) fn is_of_first_format(table: &TableSchema) -> bool {
    let is_first = |column: &ColumnSchema| match column.kind {
        ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 => true,
        ColumnType::I8 | ColumnType::I16 | ColumnType::I32 | ColumnType::I64 => true,
        ColumnType::Bool | ColumnType::Timestamp | ColumnType::Decimal(_) => true,
        ColumnType::Text(_) | ColumnType::Bytes(_) => true,
        ColumnType::U128 | ColumnType::I128 | ColumnType::F32 | ColumnType::F64 => false,
        ColumnType::Date | ColumnType::TimeOfDay | ColumnType::Uuid | ColumnType::Enum(_) => false,
    };
    let mut keys = table.indexes.iter().map(|index| &index.columns).chain([&table.key]);
    table.columns.iter().all(is_first) && keys.all(|key| key_width(table, key) <= FIRST_KEY_BYTES)
}

/// Width of an encoded key of columns at these positions.
pub(crate) fn key_width(table: &TableSchema, positions: &[usize]) -> usize {
    positions.iter().map(|&position| table.columns[position].width).sum()
}

/// The columns of a set, in which bit *i* is column *i*.
pub(crate) fn columns_in(table: &TableSchema, set: u64) -> impl Iterator<Item = &ColumnSchema> {
    table.columns.iter().enumerate().filter(move |(at, _)| set >> at & 1 == 1).map(|(_, column)| column)
}

/// Appends the order-preserving form of columns of a row.
pub(crate) fn encode(table: &TableSchema, positions: &[usize], row: &[u8], out: &mut Vec<u8>) {
    for &position in positions {
        let column = &table.columns[position];
        encode_value(column, &row[column.offset..column.offset + column.width], out);
    }
}

/// Appends the order-preserving form of a value in its stored form: big-endian, the sign flipped, texts as they are, a
/// missing value before all others.
pub fn encode_value(column: &ColumnSchema, stored: &[u8], out: &mut Vec<u8>) {
    let mut bytes = stored;
    if column.nullable {
        out.push(bytes[0]);
        if bytes[0] == 0 {
            out.resize(out.len() + column.width - 1, 0);
            return;
        }
        bytes = &bytes[1..];
    }
    let start = out.len();
    match column.kind {
        ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::Uuid => out.extend_from_slice(bytes),
        ColumnType::F32 => {
            let number = f32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            out.extend_from_slice(&ordered_f32(number).to_be_bytes());
        }
        ColumnType::F64 => {
            let number = f64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            out.extend_from_slice(&ordered_f64(number).to_be_bytes());
        }
        _ => out.extend(bytes.iter().rev()),
    }
    let signed = matches!(
        column.kind,
        ColumnType::I8
            | ColumnType::I16
            | ColumnType::I32
            | ColumnType::I64
            | ColumnType::I128
            | ColumnType::Timestamp
            | ColumnType::Date
            | ColumnType::TimeOfDay
            | ColumnType::Decimal(_)
    );
    if signed {
        out[start] ^= 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use crate::record::{Column, Date, Decimal, EncodedKey, Key, Text, TimeOfDay, Uuid};

    #[derive(Column, Debug, Clone, Copy, PartialEq)]
    #[repr(u16)]
    enum Standing {
        Open = 1,
        Paid = 300,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "newer", key = (float, small, wide, uuid, standing, date, time, maybe))]
    struct Newer {
        standing: Standing,
        float: f64,
        maybe: Option<f32>,
        small: f32,
        wide: i128,
        uuid: Uuid,
        date: Date,
        time: TimeOfDay,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "mixed", key = (a, b, c, d, e))]
    struct Mixed {
        e: Text<3>,
        a: i16,
        rest: u64,
        b: Option<u32>,
        c: bool,
        d: Decimal<2>,
    }

    #[test]
    fn a_schema_that_contradicts_itself_is_refused() {
        type Damage = fn(&mut TableSchema);
        let damages: [(Damage, &str); 8] = [
            (|table| table.columns.to_mut()[1].offset += 1, "column `a` of table `mixed` is not where it should be"),
            (|table| table.columns.to_mut()[0].kind = ColumnType::Text(usize::MAX), "column `e` of table"),
            (|table| table.row_width += 1, "the width of a row"),
            (|table| table.columns = Vec::new().into(), "the width of a row"),
            (|table| table.key.to_mut()[0] = 6, "a key"),
            (|table| table.key = Vec::new().into(), "a key"),
            (|table| table.partition_by = Some(90), "the column that decides the partition"),
            (|table| table.partition_by = Some(2), "the column that decides the partition"),
        ];
        assert_eq!(check(&Mixed::SCHEMA), Ok(()));
        for (damage, problem) in damages {
            let mut schema = Mixed::SCHEMA;
            damage(&mut schema);
            let refused = check(&schema).unwrap_err();
            assert!(refused.starts_with(problem), "{refused}");
        }
    }

    #[test]
    fn keys_are_the_engines() {
        for (a, b, d) in [(-1, None, -5), (7, Some(9), 5), (i16::MIN, Some(u32::MAX), 0)] {
            let e = Text::new("xy").unwrap();
            let row = Mixed { e, a, rest: 3, b, c: true, d: Decimal::from_units(d) };
            let (mut stored, mut key) = (vec![0; Mixed::ROW_WIDTH], Vec::new());
            row.store(&mut stored);
            encode(&Mixed::SCHEMA, &Mixed::SCHEMA.key, &stored, &mut key);
            assert_eq!(key.len(), key_width(&Mixed::SCHEMA, &Mixed::SCHEMA.key));
            let width = <Mixed as Record>::Key::WIDTH;
            row.key().encode::<<Mixed as Record>::Encoded>().for_bytes(width, |bytes| assert_eq!(bytes, key));
        }
        for (float, wide, standing) in [
            (-0.0, i128::MIN, Standing::Paid),
            (-f64::NAN, -1, Standing::Open),
            (1.5, 7, Standing::Paid),
            (f64::NEG_INFINITY, i128::MAX, Standing::Open),
        ] {
            let small = float as f32;
            let uuid = Uuid::from_u128(0x102 << 80);
            let date = Date::from_days(-7);
            let time = TimeOfDay::from_micros(258).unwrap();
            let row = Newer { standing, float, maybe: (wide > 0).then_some(-small), small, wide, uuid, date, time };
            let mut stored = vec![0; Newer::ROW_WIDTH];
            let mut key = Vec::new();
            row.store(&mut stored);
            encode(&Newer::SCHEMA, &Newer::SCHEMA.key, &stored, &mut key);
            let width = <Newer as Record>::Key::WIDTH;
            row.key().encode::<<Newer as Record>::Encoded>().for_bytes(width, |bytes| assert_eq!(bytes, key));
        }
        assert_eq!(check(&Newer::SCHEMA), Ok(()));
    }
}
