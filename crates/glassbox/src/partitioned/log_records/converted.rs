//! Row changes of an earlier version of a table, as changes of its present version.

use crate::partitioned::log_records::values::{BadLogRecord, DELETE, INSERT, UPDATE, mask_width};
use crate::record::RowConversion;

/// Puts the present form of an operation into `out`. Gives the rest of `bytes`.
pub(crate) fn convert_operation<'a>(
    conversion: &RowConversion,
    operation: u8,
    bytes: &'a [u8],
    out: &mut Vec<u8>,
) -> Result<&'a [u8], BadLogRecord> {
    out.clear();
    if operation == INSERT {
        let (row, rest) = bytes.split_at_checked(conversion.old_width()).ok_or(BadLogRecord::Short)?;
        conversion.row(row, out);
        return Ok(rest);
    }
    let (key, rest) = bytes.split_at_checked(conversion.old_key_width()).ok_or(BadLogRecord::Short)?;
    conversion.key(key, out);
    match operation {
        DELETE => return Ok(rest),
        UPDATE => {}
        other => return Err(BadLogRecord::Operation(other)),
    }
    let mask = mask_width(conversion.old_columns());
    let (set, rest) = rest.split_at_checked(mask).ok_or(BadLogRecord::Short)?;
    let mut columns = [0; 8];
    columns[..mask].copy_from_slice(set);
    let columns = u64::from_le_bytes(columns);
    let width = conversion.width_of(columns).ok_or(BadLogRecord::Short)?;
    let (values, rest) = rest.split_at_checked(width).ok_or(BadLogRecord::Short)?;
    let at = out.len();
    let mask = mask_width(conversion.new_columns());
    out.resize(at + mask, 0);
    let present = conversion.values(columns, values, out);
    out[at..at + mask].copy_from_slice(&present.to_le_bytes()[..mask]);
    Ok(rest)
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
