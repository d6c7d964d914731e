//! Changes of rows as the value log has them, taken apart by the schema alone; and those of an earlier version of a
//! table, as changes of the present one. The format is drawn in [`values`](super::values).

use crate::partitioned::log_records::values::{BadLogRecord, DELETE, INSERT, UPDATE, mask_width};
use crate::record::layout::{columns_in, key_width};
use crate::record::{RowConversion, TableSchema};

/// One change of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowChange<'a> {
    Insert {
        row: &'a [u8],
    },
    /// The columns, bit *i* for column *i*, and the stored values of those that there are, one after the other.
    Update {
        key: &'a [u8],
        columns: u64,
        values: &'a [u8],
    },
    Delete {
        key: &'a [u8],
    },
}

impl<'a> RowChange<'a> {
    /// Takes the change of a table's row off the front of `bytes`, which follow the operation and the table's number.
    pub(crate) fn take(table: &TableSchema, operation: u8, bytes: &mut &'a [u8]) -> Result<Self, BadLogRecord> {
        match operation {
            INSERT => Ok(Self::Insert { row: take(bytes, table.row_width)? }),
            UPDATE => {
                let key = take(bytes, key_width(table, &table.key))?;
                let mask = take(bytes, mask_width(table.columns.len()))?;
                let mut columns = [0; 8];
                columns[..mask.len()].copy_from_slice(mask);
                let columns = u64::from_le_bytes(columns);
                let width = columns_in(table, columns).map(|column| column.width).sum();
                Ok(Self::Update { key, columns, values: take(bytes, width)? })
            }
            DELETE => Ok(Self::Delete { key: take(bytes, key_width(table, &table.key))? }),
            other => Err(BadLogRecord::Operation(other)),
        }
    }
}

/// Whether a table has all columns of a set.
pub(crate) fn has_all(table: &TableSchema, columns: u64) -> bool {
    columns.checked_shr(table.columns.len() as u32).unwrap_or(0) == 0
}

pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], BadLogRecord> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(BadLogRecord::Short)?;
    *bytes = rest;
    Ok(taken)
}

/// Puts the present form of an operation of an earlier version into `out`. Gives the rest of `bytes`.
pub(crate) fn convert_operation<'a>(
    conversion: &RowConversion,
    operation: u8,
    mut bytes: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<&'a [u8], BadLogRecord> {
    out.clear();
    match RowChange::take(conversion.former(), operation, &mut bytes)? {
        RowChange::Insert { row } => conversion.row(row, out),
        RowChange::Delete { key } => conversion.key(key, out),
        RowChange::Update { columns, .. } if !has_all(conversion.former(), columns) => return Err(BadLogRecord::Short),
        RowChange::Update { key, columns, values } => {
            conversion.key(key, out);
            let at = out.len();
            let mask = mask_width(conversion.present().columns.len());
            out.resize(at + mask, 0);
            let present = conversion.values(columns, values, out);
            out[at..at + mask].copy_from_slice(&present.to_le_bytes()[..mask]);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id)]
    struct Before {
        id: u16,
        gone: u8,
        count: u16,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id, dropped("gone", u8, at = 2))]
    struct After {
        count: u32,
        id: u16,
    }

    /// An update of all columns but the key, and one of the column that is dropped, with two bytes of the next one.
    #[test]
    fn operations_are_converted_and_cut_ones_refused() {
        let conversion = RowConversion::between(&Before::SCHEMA, 1, &After::SCHEMA, &After::HISTORY);
        let conversion = conversion.unwrap().unwrap();
        let cases: [(u8, &[u8], &[u8]); 4] = [
            (INSERT, &[7, 0, 9, 3, 1, 5, 5], &[3, 1, 0, 0, 7, 0]),
            (UPDATE, &[0, 7, 0b110, 9, 3, 1, 5, 5], &[0, 7, 0b01, 3, 1, 0, 0]),
            (UPDATE, &[0, 7, 0b010, 9, 5, 5], &[0, 7, 0]),
            (DELETE, &[0, 7, 5, 5], &[0, 7]),
        ];
        let mut out = vec![1];
        for (operation, bytes, present) in cases {
            let rest = convert_operation(&conversion, operation, bytes, &mut out).unwrap();
            assert_eq!((&out[..], rest), (present, &[5, 5][..]), "operation {operation}");
            for length in 0..bytes.len() - 2 {
                let cut = convert_operation(&conversion, operation, &bytes[..length], &mut out);
                assert_eq!(cut, Err(BadLogRecord::Short), "operation {operation}, {length} bytes");
            }
        }
        let unknown = convert_operation(&conversion, 9, &[0, 7], &mut out);
        assert_eq!(unknown, Err(BadLogRecord::Operation(9)));
        let no_column = convert_operation(&conversion, UPDATE, &[0, 7, 0b1000, 0, 0], &mut out);
        assert_eq!(no_column, Err(BadLogRecord::Short));
    }
}
