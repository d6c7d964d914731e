//! Taking a record of the value log apart, by the schema alone. The format is drawn in `partitioned/values.rs`.

use crate::partitioned::log_records::values::{DELETE, INSERT, UPDATE, mask_width};
use crate::record::TableSchema;
use crate::record::layout::key_width;
use crate::research::inspect::contents::Contents;

/// One change of one row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowChange<'a> {
    Insert {
        row: &'a [u8],
    },
    /// The columns, bit *i* for column *i*, and their stored values one after the other.
    Update {
        key: &'a [u8],
        columns: u64,
        values: &'a [u8],
    },
    Delete {
        key: &'a [u8],
    },
}

/// Gives each change of a record (without its kind byte) to `change`, with its table's number.
pub(crate) fn each<'a>(
    tables: &[TableSchema],
    mut bytes: &'a [u8],
    mut change: impl FnMut(usize, RowChange<'a>) -> Result<(), String>,
) -> Result<(), String> {
    while !bytes.is_empty() {
        let operation = take(&mut bytes, 1)?[0];
        let number = take(&mut bytes, 2)?;
        let number = usize::from(u16::from_le_bytes([number[0], number[1]]));
        let table = tables.get(number).ok_or_else(|| format!("table number {number} is unknown"))?;
        let found = match operation {
            INSERT => RowChange::Insert { row: take(&mut bytes, table.row_width)? },
            UPDATE => update(table, &mut bytes)?,
            DELETE => RowChange::Delete { key: take(&mut bytes, key_width(table))? },
            other => return Err(format!("operation {other} is unknown")),
        };
        change(number, found)?;
    }
    Ok(())
}

/// Applies the changes of a record to the contents of all tables.
pub(crate) fn apply_record(tables: &[TableSchema], contents: &mut [Contents], bytes: &[u8]) -> Result<(), String> {
    each(tables, bytes, |table, change| contents[table].apply(change))
}

fn update<'a>(table: &TableSchema, bytes: &mut &'a [u8]) -> Result<RowChange<'a>, String> {
    let key = take(bytes, key_width(table))?;
    let mask = take(bytes, mask_width(table.columns.len()))?;
    let mut columns = [0; 8];
    columns[..mask.len()].copy_from_slice(mask);
    let columns = u64::from_le_bytes(columns);
    if columns.checked_shr(table.columns.len() as u32).unwrap_or(0) != 0 {
        return Err(format!("a change of table `{}` names columns it does not have", table.name));
    }
    let width = changed(table, columns).map(|column| column.width).sum();
    Ok(RowChange::Update { key, columns, values: take(bytes, width)? })
}

/// The columns of a set.
pub(crate) fn changed(table: &TableSchema, columns: u64) -> impl Iterator<Item = &crate::record::ColumnSchema> {
    table.columns.iter().enumerate().filter(move |(at, _)| columns >> at & 1 == 1).map(|(_, column)| column)
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or("it ends in the middle of an operation")?;
    *bytes = rest;
    Ok(taken)
}
