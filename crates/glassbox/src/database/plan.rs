//! The plan of an opening: how it would change stored rows, without doing it.

use std::path::Path;

use crate::catalog::Catalog;
use crate::config::Config;
use crate::database::claim::{check_config, check_manifest};
use crate::error::Error;
use crate::io::{Files, RealFiles};
use crate::record::layout::key_width;
use crate::record::{Access, IndexSchema, RowConversion, TableSchema};
use crate::research::inspect::Inspector;
use crate::stats::{SchemaPlan, TablePlan};
use crate::store::{MANIFEST, merge_schema};

/// The plan of opening the database in this directory.
pub(crate) fn plan(directory: &Path, catalog: &Catalog, config: &Config) -> Result<SchemaPlan, Error> {
    catalog.check()?;
    check_config(config)?;
    let mut plan = SchemaPlan { stored_version: None, version: catalog.version, tables: Vec::new(), bytes_written: 0 };
    if !RealFiles::read_only(directory).is_ok_and(|files| files.exists(MANIFEST).is_ok_and(|exists| exists)) {
        return Ok(plan);
    }
    let inspector = Inspector::open(directory)?;
    let old = check_manifest(inspector.manifest(), config)?;
    let merged = merge_schema(&old, catalog.schema())?;
    plan.stored_version = Some(old.schema_version);
    let summary = inspector.summary()?;
    let calls = summary.log.iter().flat_map(|log| &log.calls).sum::<u64>();
    if merged.converts() && calls > 0 {
        return Err(Error::LoggedCalls { stored: old.schema_version, known: catalog.version });
    }
    let is_classic = old.volume.is_some();
    for (number, table) in merged.manifest.tables.iter().enumerate() {
        let rows = summary.tables.get(number).map_or(0, |table| table.rows);
        let conversion = merged.conversions.get(number).and_then(Option::as_ref);
        let of_table = plan_of_table(old.tables.get(number), table, conversion, rows);
        if is_classic {
            let built = |index: &&IndexSchema| of_table.indexes_built.iter().any(|name| *name == index.name);
            let keys = table.indexes.iter().filter(built).map(|index| key_width(table, &index.columns));
            let row = conversion.map_or(0, |_| table.row_width + key_width(table, &table.key));
            plan.bytes_written += rows * (row + keys.sum::<usize>()) as u64;
        } else if merged.converts() {
            // The checkpoint has the rows of all tables.
            plan.bytes_written += rows * table.row_width as u64;
        }
        if !of_table.steps.is_empty() {
            plan.tables.push(of_table);
        }
    }
    Ok(plan)
}

fn plan_of_table(
    stored: Option<&TableSchema>,
    table: &TableSchema,
    conversion: Option<&RowConversion>,
    rows: u64,
) -> TablePlan {
    let mut plan = TablePlan { table: table.name.to_string(), steps: Vec::new(), indexes_built: Vec::new(), rows: 0 };
    let Some(stored) = stored else {
        plan.steps.push("the table is added".to_owned());
        return plan;
    };
    if stored.name != table.name {
        plan.steps.push(format!("table `{}` is renamed", stored.name));
    }
    if let Some(conversion) = conversion {
        plan.rows = rows;
        plan.steps.extend(conversion.steps());
    }
    let is_kept = |index| conversion.is_none() && stored.indexes.contains(index);
    for index in table.indexes.iter().filter(|index| !is_kept(index)) {
        plan.indexes_built.push(index.name.to_string());
        let is_new = !stored.indexes.iter().any(|known| known.name == index.name);
        let how = if is_new { "is added" } else { "is built again" };
        plan.steps.push(format!("index `{}` {how}", index.name));
    }
    for index in stored.indexes.iter().filter(|index| !table.indexes.iter().any(|kept| kept.name == index.name)) {
        plan.steps.push(format!("index `{}` is dropped", index.name));
    }
    if stored.access != table.access {
        let how = if table.access == Access::Point { "looked up only" } else { "in the order of the key" };
        plan.steps.push(format!("rows are {how}"));
    }
    if placement(stored) != placement(table) {
        plan.steps.push(match placement(table) {
            Some(column) => format!("rows are partitioned by `{column}`"),
            None => "rows are replicated".to_owned(),
        });
    }
    plan
}

/// The name of the column that decides the partition; `None`: the table is replicated.
fn placement(table: &TableSchema) -> Option<&str> {
    table.partition_by.map(|column| &*table.columns[column].name)
}
