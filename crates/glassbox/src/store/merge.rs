//! Merges a program's catalog into the manifest: checks that both agree, or how stored rows become those of a newer
//! version of the schema; and assigns the numbers by which files name tables and procedures.

use super::manifest::{Manifest, ProcedureEntry};
use crate::error::Error;
use crate::record::{ColumnSchema, DifferenceWords, RowConversion, TableHistory, TableSchema, name_in};

/// The schema of a program.
pub(crate) struct ProgramSchema {
    pub(crate) version: u32,
    pub(crate) tables: Vec<(TableSchema, TableHistory)>,
    pub(crate) procedures: Vec<ProcedureEntry>,
}

/// A program's schema, merged into the manifest of a database.
pub(crate) struct MergedSchema {
    pub(crate) manifest: Manifest,
    /// The number of each table of the program.
    pub(crate) tables: Vec<u16>,
    /// The number of each procedure of the program.
    pub(crate) procedures: Vec<u16>,
    /// For each table number of the old manifest, how its rows become present ones; `None`: they stay as they are.
    pub(crate) conversions: Vec<Option<RowConversion>>,
}

impl MergedSchema {
    /// The old manifest, by the present names of its tables; of those whose rows are converted it knows no index.
    pub(crate) fn kept(&self, old: &Manifest) -> Manifest {
        let mut kept = old.clone();
        for ((table, conversion), present) in kept.tables.iter_mut().zip(&self.conversions).zip(&self.manifest.tables) {
            table.name = present.name.clone();
            if conversion.is_some() {
                table.indexes = Vec::new().into();
            }
        }
        kept
    }

    /// Whether stored rows become other ones.
    pub(crate) fn converts(&self) -> bool {
        !self.needed_conversions().is_empty()
    }

    /// The conversions, or none if no rows become other ones.
    pub(crate) fn needed_conversions(&self) -> &[Option<RowConversion>] {
        if self.conversions.iter().any(Option::is_some) { &self.conversions } else { &[] }
    }
}

/// Adds new tables and procedures of a program to the manifest, and finds out how its rows are to be converted.
pub(crate) fn merge_schema(old: &Manifest, program: ProgramSchema) -> Result<MergedSchema, Error> {
    let ProgramSchema { version, tables: declared, procedures: entries } = program;
    let from = if old.tables.is_empty() { version } else { old.schema_version };
    if from > version {
        return Err(newer(old, &declared, version));
    }
    let mut manifest = Manifest { log_created: true, schema_version: version, ..old.clone() };
    let mut tables = vec![None; declared.len()];
    let mut conversions = Vec::new();
    for (number, stored) in old.tables.iter().enumerate() {
        let mismatch = |difference| Error::SchemaMismatch { table: stored.name.to_string(), difference };
        // Another table may have its name now.
        let is_renamed = |(table, history): &(TableSchema, TableHistory)| {
            let name = name_in(from, history.was, &table.name);
            name == stored.name && name != table.name
        };
        let is_kept = |(table, history): &(TableSchema, TableHistory)| {
            table.name == stored.name && name_in(from, history.was, &table.name) == stored.name
        };
        let renamed = declared.iter().filter(|table| is_renamed(table)).count();
        let Some(at) = declared.iter().position(is_renamed).or_else(|| declared.iter().position(is_kept)) else {
            let had_its_name = declared.iter().find(|(_, history)| history.was.iter().any(|it| it.name == stored.name));
            return Err(mismatch(match had_its_name {
                Some((table, _)) => format!(
                    "the database is of version {from}, in which table `{}` has its present name already; raise \
                     `Catalog::version` above {from}, and give the former name until then",
                    table.name
                ),
                None => "the catalog does not name it; add its record where the database is opened, or, if the table \
                         has another name now, say `#[record(was(\"NAME\", VERSION))]`"
                    .to_owned(),
            }));
        };
        if renamed > 1 {
            return Err(mismatch("several tables of the catalog had its name before; leave it to one".to_owned()));
        }
        let (table, history) = &declared[at];
        let conversion = if from == version {
            compare(stored, table).map_err(mismatch)?;
            None
        } else {
            // The classic engine has no partitions to which rows could move.
            let conversion = RowConversion::between(stored, from, table, history).map_err(mismatch)?;
            conversion.filter(|conversion| old.volume.is_none() || conversion.changes_rows())
        };
        conversions.push(conversion);
        // The indexes may have changed, too.
        manifest.tables[number] = table.clone();
        tables[at] = Some(number as u16);
    }
    for (number, (table, _)) in tables.iter_mut().zip(&declared) {
        if number.is_none() {
            *number = Some(manifest.tables.len() as u16);
            manifest.tables.push(table.clone());
        }
    }
    let tables = tables.into_iter().flatten().collect();
    let mut procedures = Vec::new();
    for entry in entries {
        let at = manifest.procedures.iter().position(|stored| *stored == entry);
        procedures.push(at.unwrap_or_else(|| {
            manifest.procedures.push(entry);
            manifest.procedures.len() - 1
        }) as u16);
    }
    Ok(MergedSchema { manifest, tables, procedures, conversions })
}

/// The refusal of a database of a newer version of the schema.
fn newer(old: &Manifest, declared: &[(TableSchema, TableHistory)], version: u32) -> Error {
    let is_known = |stored: &&TableSchema| declared.iter().any(|(table, _)| compare(stored, table).is_ok());
    let others = old.tables.iter().filter(|stored| !is_known(stored)).map(|stored| format!("`{}`", stored.name));
    let tables = others.collect::<Vec<_>>().join(", ");
    Error::SchemaVersion { stored: old.schema_version, known: version, tables }
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
fn compare(stored: &TableSchema, wanted: &TableSchema) -> Result<(), String> {
    if stored.name != wanted.name {
        return Err(format!("its name now is `{}`", wanted.name));
    }
    match stored.difference(wanted, &WORDS, ColumnSchema::is_part_of) {
        Some(difference) => {
            Err(format!("{difference}; raise `Catalog::version`, and say what changed in attributes of the record"))
        }
        None => Ok(()),
    }
}
