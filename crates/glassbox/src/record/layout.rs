//! Where things are in a stored row, and the order-preserving key of one, by the schema alone.

use super::schema::{ColumnSchema, ColumnType, TableSchema};

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
        let width = width_of(column.kind) + usize::from(column.nullable);
        if column.offset != offset || column.width != width {
            return Err(format!("column `{}` of table `{}` is not where it should be", column.name, table.name));
        }
        offset += width;
    }
    let indexed = table.indexes.iter().flat_map(|index| index.columns.iter());
    let named = table.key.iter().chain(indexed).chain(&table.partition_by);
    let problem = if offset != table.row_width {
        "the width of a row"
    } else if table.columns.is_empty() || table.columns.len() > 64 {
        "the number of columns"
    } else if table.key.is_empty() || named.into_iter().any(|&position| position >= table.columns.len()) {
        "a key"
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
    fn keys_are_the_engines() {
        for (a, b, d) in [(-1, None, -5), (7, Some(9), 5), (i16::MIN, Some(u32::MAX), 0)] {
            let e = Text::new("xy").unwrap();
            let row = Mixed { e, a, rest: 3, b, c: true, d: Decimal::from_units(d) };
            let (mut stored, mut key) = (vec![0; Mixed::ROW_WIDTH], Vec::new());
            row.store(&mut stored);
            check(&Mixed::SCHEMA).unwrap();
            encode(&Mixed::SCHEMA, &Mixed::SCHEMA.key, &stored, &mut key);
            assert_eq!(key.len(), key_width(&Mixed::SCHEMA));
            let width = <Mixed as Record>::Key::WIDTH;
            row.key().encode::<<Mixed as Record>::Encoded>().for_bytes(width, |bytes| assert_eq!(bytes, key));
        }
    }
}
