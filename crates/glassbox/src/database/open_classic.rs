//! Opening a database of the classic engine.
//!
//! Answered transactions are in the log; each page is as of a moment of its own. So opening reads the log (analysis),
//! applies the changes that pages lack (redo), opens the log for appends, rolls back the transactions that had not
//! ended (undo), opens the stores of the catalog's tables and creates the new ones. It can be interrupted and repeated
//! at any point.

use std::any::TypeId;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::classic::{Closures, Engine, OpenedVolume, ProcedureStages, StoredTable, store_name};
use crate::config::{ClassicConfig, Config};
use crate::database::any_engine::AnyEngine;
use crate::database::claim::log_config;
use crate::database::inner::Inner;
use crate::database::open::seconds_since;
use crate::error::Error;
use crate::io::Clock;
use crate::partitioned::ProcedureKind;
use crate::record::RowConversion;
use crate::stats::Recovery;
use crate::store::{Manifest, MergedSchema, Store, merge_schema};

/// Opens the database of this manifest.
pub(crate) fn open_classic(
    store: Store,
    clock: Arc<dyn Clock>,
    config: Config,
    catalog: Catalog,
    old: &Manifest,
    mut recovery: Recovery,
) -> Result<Inner, Error> {
    let mut entry = old.volume.clone().expect("a database of this engine");
    // A bulk load that did not end leaves nothing behind; it began with no rows.
    let is_empty = !old.log_created || entry.loading;
    let stored = if is_empty { Manifest { tables: Vec::new(), log_end: 0, ..old.clone() } } else { old.clone() };
    let mut merged = merge_schema(&stored, catalog.schema())?;
    name_stores(&stored, &mut merged);
    let MergedSchema { mut manifest, tables, conversions, .. } = merged;
    check_tables(&config.classic, &catalog)?;
    // Redo writes pages, and an interrupted load is removed.
    store.force_found()?;
    let started = clock.monotonic_ns();
    let (volume, found) = if is_empty {
        entry.page_bytes = config.classic.page_bytes as u32;
        (OpenedVolume::create(&store.files, old.database_id, &config.classic)?, None)
    } else {
        let (volume, found) = OpenedVolume::recover(&store.files, &config.classic, &entry, &old.expected_log())?;
        (volume, Some(found))
    };
    (recovery.log_records, recovery.redone) = (volume.log_records, volume.redone);
    (recovery.rolled_back, recovery.prepared) = (volume.losers(), volume.in_doubt().count() as u64);
    check_tables_of_prepared(&volume, &stored, &manifest, &conversions)?;
    let log = store.open_log(log_config(&config), found)?;
    recovery.log_bytes = if is_empty { 0 } else { log.appended().0 - old.log_start };
    let procedures = procedures(&config.classic, &catalog)?;
    let mut engine = Engine::start(volume, log, Arc::clone(&clock), &config, procedures)?;
    let stored_table = |number: u16| {
        let number = usize::from(number);
        let schema = stored.tables.get(number)?;
        Some(StoredTable { schema, store: stored.store_of(number), conversion: conversions[number].as_ref() })
    };
    for (table, &number) in catalog.tables.iter().zip(&tables) {
        engine.check_widths(&table.schema)?;
        if let Some(known) = stored_table(number) {
            engine.check_new_indexes(&table.schema, known)?;
        }
    }
    if manifest.format() > stored.format() {
        // An older program must not open the pages that are made next.
        store.manifest().replace(Some(engine.log()), |current| current.format = manifest.format())?;
    }
    for (table, &number) in catalog.tables.iter().zip(&tables) {
        let store = manifest.store_of(number.into());
        engine.add_table(table.id, &table.schema, store, stored_table(number))?;
    }
    engine.lock_prepared()?;
    if is_empty {
        manifest.log_start = engine.checkpoint(&mut entry)?.0;
        manifest.volume = Some(entry);
    } else {
        // New stores must be durable before the manifest names them.
        engine.force_log()?;
    }
    recovery.log_s = seconds_since(started, &*clock);
    store.manifest().replace(Some(engine.log()), |current| *current = manifest)?;
    Ok(Inner::new(AnyEngine::Classic(engine), config, catalog, Some(store), recovery))
}

/// The procedures of the catalog and what stands for closures, with how they are executed.
fn procedures(config: &ClassicConfig, catalog: &Catalog) -> Result<Vec<ProcedureStages>, Error> {
    let known = |name: &str| catalog.procedures.iter().any(|procedure| procedure.name == name);
    if let Some(name) = config.execution_of.keys().find(|name| !known(name)) {
        return Err(Error::Config(format!(
            "classic.execution_of names the procedure `{name}`, which the program's catalog does not have"
        )));
    }
    let stages = |procedure: &ProcedureKind| {
        let policy = config.execution_of.get(procedure.name).copied().unwrap_or(config.execution);
        ProcedureStages::new(procedure.id, procedure.name, policy, config.count_executions)
    };
    let (id, name) = (TypeId::of::<Closures>(), Closures::NAME);
    let closures = ProcedureStages::new(id, name, config.execution, config.count_executions);
    Ok(catalog.procedures.iter().map(stages).chain([closures]).collect())
}

/// Refuses other rows and indexes while transactions are prepared: a rollback finds rows and entries only where they
/// were made.
fn check_tables_of_prepared(
    volume: &OpenedVolume,
    stored: &Manifest,
    manifest: &Manifest,
    conversions: &[Option<RowConversion>],
) -> Result<(), Error> {
    let Some(name) = volume.in_doubt().next() else { return Ok(()) };
    let mut pairs = stored.tables.iter().zip(&manifest.tables).zip(conversions);
    let changed = pairs.find(|((was, now), conversion)| conversion.is_some() || was.indexes != now.indexes);
    let Some(((table, _), _)) = changed else { return Ok(()) };
    Err(Error::Config(format!(
        "table `{}` has other columns or indexes in the catalog, but transaction `{}` is prepared; open the database \
         with the former catalog, and commit or roll back what is prepared first",
        table.name,
        String::from_utf8_lossy(name)
    )))
}

/// Names the stores of tables: kept rows stay where they are, converted ones and later tables get stores of their
/// version, since a former table may have had the name.
fn name_stores(stored: &Manifest, merged: &mut MergedSchema) {
    let MergedSchema { manifest, conversions, .. } = merged;
    manifest.stores.clear();
    for (number, table) in manifest.tables.iter().enumerate() {
        let is_kept = matches!(conversions.get(number), Some(None));
        let store = match manifest.schema_version {
            _ if is_kept => stored.store_of(number).to_owned(),
            1 => continue,
            version => store_name(format!("{}@{version}", table.name)),
        };
        if store != *table.name {
            manifest.stores.insert(number as u16, store);
        }
    }
}

/// Refuses settings of tables that there are none of.
fn check_tables(config: &ClassicConfig, catalog: &Catalog) -> Result<(), Error> {
    let known = |name: &str| catalog.tables.iter().any(|table| &*table.schema.name == name);
    match config.granularity_of.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Config(format!(
            "classic.granularity_of names the table `{name}`, which the program's catalog does not have"
        ))),
    }
}
