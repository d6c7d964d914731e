//! Merges a program's catalog into the manifest: checks that both agree, and assigns the numbers by which files name
//! tables and procedures.

use super::manifest::{Manifest, ProcedureEntry};
use crate::error::Error;
use crate::record::{ColumnSchema, DifferenceWords, TableSchema};

/// Adds new tables and procedures of a catalog to the manifest; returns the numbers of all of the catalog's.
pub(crate) fn merge_catalog(
    old: &Manifest,
    (schemas, entries): (Vec<TableSchema>, Vec<ProcedureEntry>),
) -> Result<(Manifest, Vec<u16>, Vec<u16>), Error> {
    let mut manifest = Manifest { log_created: true, ..old.clone() };
    for stored in &old.tables {
        match schemas.iter().find(|table| table.name == stored.name) {
            None => {
                return Err(Error::SchemaMismatch {
                    table: stored.name.to_string(),
                    difference: "the catalog does not name it; add its record where the database is opened".to_owned(),
                });
            }
            Some(table) => compare(stored, table)?,
        }
    }
    let mut tables = Vec::new();
    for table in schemas {
        let at = manifest.tables.iter().position(|stored| stored.name == table.name);
        match at {
            // The indexes may have changed.
            Some(at) => manifest.tables[at] = table,
            None => manifest.tables.push(table),
        }
        tables.push(at.unwrap_or(manifest.tables.len() - 1) as u16);
    }
    let mut procedures = Vec::new();
    for entry in entries {
        let at = manifest.procedures.iter().position(|stored| *stored == entry);
        procedures.push(at.unwrap_or_else(|| {
            manifest.procedures.push(entry);
            manifest.procedures.len() - 1
        }) as u16);
    }
    Ok((manifest, tables, procedures))
}

/// A stored table, and the same one in the catalog.
const WORDS: DifferenceWords = DifferenceWords {
    one: "is stored",
    other: "now is",
    one_only: "is stored but no longer there",
    other_only: "is new",
};

/// Refuses a table whose stored schema differs, and names the difference. Indexes may differ: those that the catalog
/// adds are built.
fn compare(stored: &TableSchema, wanted: &TableSchema) -> Result<(), Error> {
    match stored.difference(wanted, &WORDS, ColumnSchema::is_part_of) {
        Some(difference) => Err(Error::SchemaMismatch { table: stored.name.to_string(), difference }),
        None => Ok(()),
    }
}
