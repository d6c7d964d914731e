//! Where things are in a stored row, and the order-preserving key of one, by the schema alone.

use super::schema::{ColumnSchema, ColumnType, TableSchema};

/// Maximum width of a stored row: its length has 32 bits in files.
const MAX_ROW_BYTES: usize = u32::MAX as usize;

/// Stored width of a value, in a row and in a key, without the byte that says whether there is one.
pub(crate) fn width_of(kind: ColumnType) -> usize {
    match kind {
        ColumnType::U8 | ColumnType::I8 | ColumnType::Bool => 1,
        ColumnType::U16 | ColumnType::I16 => 2,
        ColumnType::U32 | ColumnType::I32 => 4,
        ColumnType::U64 | ColumnType::I64 | ColumnType::Timestamp | ColumnType::Decimal(_) => 8,
        ColumnType::Text(bytes) | ColumnType::Bytes(bytes) => bytes,
    }
}

/// A column's type in words: `u16`, `decimal(2)`, `text(16)`.
pub fn describe_type(column: &ColumnSchema) -> String {
    let kind = match column.kind {
        ColumnType::Decimal(digits) => format!("decimal({digits})"),
        ColumnType::Text(bytes) => format!("text({bytes})"),
        ColumnType::Bytes(bytes) => format!("bytes({bytes})"),
        other => format!("{other:?}").to_lowercase(),
    };
    if column.nullable { format!("{kind} or null") } else { kind }
}

/// Refuses a schema that contradicts itself, so that everything else may rely on it.
pub(crate) fn check(table: &TableSchema) -> Result<(), String> {
    let mut offset = 0;
    for column in table.columns.iter() {
        let width = width_of(column.kind).saturating_add(usize::from(column.nullable));
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

/// Width of an encoded key.
pub(crate) fn key_width(table: &TableSchema) -> usize {
    table.key.iter().map(|&position| table.columns[position].width).sum()
}

/// Appends the order-preserving form of columns of a row: big-endian, the sign flipped, texts as they are, a missing
/// value before all others.
pub(crate) fn encode(table: &TableSchema, positions: &[usize], row: &[u8], out: &mut Vec<u8>) {
    for &position in positions {
        let column = &table.columns[position];
        let mut bytes = &row[column.offset..column.offset + column.width];
        if column.nullable {
            out.push(bytes[0]);
            if bytes[0] == 0 {
                out.resize(out.len() + column.width - 1, 0);
                continue;
            }
            bytes = &bytes[1..];
        }
        let start = out.len();
        match column.kind {
            ColumnType::Text(_) | ColumnType::Bytes(_) => out.extend_from_slice(bytes),
            _ => out.extend(bytes.iter().rev()),
        }
        let signed = matches!(
            column.kind,
            ColumnType::I8
                | ColumnType::I16
                | ColumnType::I32
                | ColumnType::I64
                | ColumnType::Timestamp
                | ColumnType::Decimal(_)
        );
        if signed {
            out[start] ^= 0x80;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use crate::record::{Decimal, EncodedKey, Key, Text};

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
            assert_eq!(key.len(), key_width(&Mixed::SCHEMA));
            let width = <Mixed as Record>::Key::WIDTH;
            row.key().encode::<<Mixed as Record>::Encoded>().for_bytes(width, |bytes| assert_eq!(bytes, key));
        }
    }
}
