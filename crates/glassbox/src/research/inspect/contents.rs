//! The rows of tables, untyped, in key order.

use std::collections::BTreeMap;

use crate::partitioned::log_records::row_change::{RowChange, has_all, take};
use crate::partitioned::log_records::values::BadLogRecord;
use crate::record::TableSchema;
use crate::record::Value;
use crate::record::layout::{columns_in, encode};

/// The rows of a table as they were at a moment.
#[derive(Debug)]
pub struct Contents {
    pub(crate) schema: TableSchema,
    /// Stored rows by encoded key.
    rows: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

impl Contents {
    pub(crate) fn new(schema: &TableSchema) -> Self {
        Self { schema: schema.clone(), rows: BTreeMap::new() }
    }

    /// The table's schema.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Stored rows in the order of their keys.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.values().map(|row| &**row)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row, if all its columns are values.
    pub(crate) fn insert(&mut self, row: &[u8]) -> Result<(), String> {
        let at = |what: String| format!("a row of table `{}`: {what}", self.schema.name);
        for column in self.schema.columns.iter() {
            Value::read(column, row).map_err(|bad| at(bad.to_string()))?;
        }
        let mut key = Vec::new();
        encode(&self.schema, &self.schema.key, row, &mut key);
        match self.rows.insert(key.into(), row.into()) {
            None => Ok(()),
            Some(_) => Err(at(format!("another has the primary key {}", self.key_in_words(row)))),
        }
    }

    /// Applies a change.
    pub(crate) fn apply(&mut self, change: RowChange<'_>) -> Result<(), String> {
        let missing = |done: &str| format!("it {done} a row of table `{}` that is not there", self.schema.name);
        match change {
            RowChange::Insert { row } => self.insert(row),
            RowChange::Delete { key } => self.rows.remove(key).map(drop).ok_or_else(|| missing("deletes")),
            RowChange::Update { key, columns, mut values } => {
                let row = self.rows.get_mut(key).ok_or_else(|| missing("changes"))?;
                for column in columns_in(&self.schema, columns) {
                    let (value, rest) = values.split_at(column.width);
                    row[column.offset..column.offset + column.width].copy_from_slice(value);
                    values = rest;
                    Value::read(column, row)
                        .map_err(|bad| format!("a change of table `{}`: {bad}", self.schema.name))?;
                }
                Ok(())
            }
        }
    }

    /// Contradictions between rows: a key that is not its row's, two rows with one unique key.
    pub(crate) fn verify(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut encoded = Vec::new();
        for (key, row) in &self.rows {
            encoded.clear();
            encode(&self.schema, &self.schema.key, row, &mut encoded);
            if **key != *encoded {
                let name = &self.schema.name;
                wrong.push(format!("table `{name}`: the primary key of {} was changed", self.key_in_words(row)));
            }
        }
        for index in self.schema.indexes.iter() {
            let mut entries = BTreeMap::new();
            for row in self.rows.values() {
                let mut key = Vec::new();
                encode(&self.schema, &index.columns, row, &mut key);
                if let Some(other) = entries.insert(key, row) {
                    let (one, two) = (self.key_in_words(other), self.key_in_words(row));
                    let (table, index) = (&self.schema.name, &index.name);
                    wrong.push(format!("table `{table}`: rows {one} and {two} share a key of index `{index}`"));
                }
            }
        }
        wrong
    }

    fn key_in_words(&self, row: &[u8]) -> String {
        let columns = self.schema.key.iter().map(|&position| &self.schema.columns[position]);
        let values = columns.map(|column| Value::read(column, row).map_or("?".to_owned(), |value| value.to_string()));
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }
}

/// Gives each change of a record (without its kind byte) to `change`, with its table's number.
pub(crate) fn each_change<'a>(
    tables: &[TableSchema],
    mut bytes: &'a [u8],
    mut change: impl FnMut(usize, RowChange<'a>) -> Result<(), String>,
) -> Result<(), String> {
    while !bytes.is_empty() {
        let bad = |bad: BadLogRecord| bad.to_string();
        let operation = take(&mut bytes, 1).map_err(bad)?[0];
        let number = take(&mut bytes, 2).map_err(bad)?;
        let number = usize::from(u16::from_le_bytes([number[0], number[1]]));
        let table = tables.get(number).ok_or_else(|| format!("table number {number} is unknown"))?;
        let found = RowChange::take(table, operation, &mut bytes).map_err(bad)?;
        if let RowChange::Update { columns, .. } = found
            && !has_all(table, columns)
        {
            return Err(format!("a change of table `{}` names columns it does not have", table.name));
        }
        change(number, found)?;
    }
    Ok(())
}

/// Applies the changes of a record to the contents of all tables.
pub(crate) fn apply_record(tables: &[TableSchema], contents: &mut [Contents], bytes: &[u8]) -> Result<(), String> {
    each_change(tables, bytes, |table, change| contents[table].apply(change))
}
