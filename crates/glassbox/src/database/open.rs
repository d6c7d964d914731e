//! Opening a database: making a new one, or recovering what was answered.
//!
//! Recovery reads the manifest, the checkpoint that it names, and the log from where the checkpoint ends. Only when all
//! of it has succeeded does it change files: so one that is refused leaves them as they were, for another program or a
//! backup to be tried. Then a torn block at the log's end is cut off, spare segments are sorted out, and what an
//! unfinished checkpoint or creation left behind is removed; nothing that was answered is touched, so a crash during
//! recovery, however often, loses nothing.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::config::{Architecture, Config, Durability};
use crate::database::any_engine::AnyEngine;
use crate::database::claim::{check_config, check_manifest, log_config};
use crate::database::inner::Inner;
use crate::database::open_classic::open_classic;
use crate::error::Error;
use crate::io::{Clock, Files};
use crate::log::{self, Log, LogFound, Lsn};
use crate::partitioned::{self, Cell, Engine, ProcedureKind, ReplayContext, ReplayError, ReplayFailed};
use crate::record::mix;
use crate::stats::Recovery;
use crate::store::{CheckpointFile, Manifest, MergedSchema, ProcedureEntry, Store, merge_schema};

pub(crate) fn open(
    files: Option<Arc<dyn Files>>,
    clock: Box<dyn Clock>,
    config: Config,
    catalog: Catalog,
) -> Result<Inner, Error> {
    catalog.check()?;
    check_config(&config)?;
    let Some(files) = files else { return in_memory(clock, config, catalog) };
    let store = Store::open(files, Manifest::new)?;
    let old = check_manifest(&store.manifest(), &config)?;
    let mut recovery = Recovery { created: store.is_new, ..Recovery::default() };
    if old.volume.is_some() {
        return open_classic(store, clock.into(), config, catalog, &old, recovery);
    }
    let merged = merge_schema(&old, catalog.schema())?;
    let mut all_partitions = false;
    let (mut cells, found, adds_unique) = loop {
        let mut cells = partitioned::new_cells(&catalog.tables, &merged.tables, &config)?;
        let adds_unique = partitioned::defer_new_indexes(&mut cells, &catalog.tables, &merged.kept(&old));
        let started = clock.monotonic_ns();
        if let Some(checkpoint) = CheckpointFile::of(&*store.files, &old)? {
            let tables = catalog.table_ids(&merged.manifest);
            let tables = (&tables[..], merged.needed_conversions());
            recovery.checkpoint_rows = partitioned::load_checkpoint(&checkpoint, tables, &mut cells)?;
            recovery.checkpoint_s = seconds_since(started, &*clock);
        }
        match replay_log(&*store.files, (&old, &merged), &catalog, &cells, &*clock, &mut recovery, all_partitions)? {
            Replayed::All(found) => break (cells, found, adds_unique),
            Replayed::Misdeclared => all_partitions = true,
        }
    };
    if adds_unique {
        partitioned::build_indexes(&mut cells, &catalog.tables)?;
    }
    // Nothing was changed so far; from here on nothing is refused.
    store.force_found()?;
    let log = store.open_log(log_config(&config), found)?;
    let end = log.appended();
    recovery.log_bytes = end.0 - old.log_start;
    if config.durability == Durability::None {
        log.close()?;
    }
    let is_rewritten = adds_unique || merged.converts();
    let MergedSchema { mut manifest, procedures, .. } = merged;
    if config.durability == Durability::None {
        manifest.log_end = end.0;
    }
    if is_rewritten {
        // A manifest that knows the index must not name a log in whose history rows did not keep its promise, nor one
        // of a version of the schema a log of the one before: the checkpoint below is the next replacement.
        store.manifest().assume(manifest);
    } else {
        store.manifest().replace(Some(&log), |current| *current = manifest)?;
    }
    let log = (config.durability != Durability::None).then_some(log);
    // Other random numbers than before the log ended.
    for (at, cell) in cells.iter_mut().enumerate() {
        cell.get_mut().seed = mix(at as u64 ^ mix(end.0 ^ clock.wall_us() as u64));
    }
    let engine = engine(cells, log, clock, &config, &catalog, &procedures)?;
    let inner = Inner::new(engine, config, catalog, Some(store), recovery);
    if is_rewritten {
        inner.checkpoint(false)?;
    }
    Ok(inner)
}

/// A database without files.
fn in_memory(clock: Box<dyn Clock>, config: Config, catalog: Catalog) -> Result<Inner, Error> {
    if config.architecture == Architecture::Classic {
        return Err(Error::Config("the classic engine keeps its pages in files: open it on a directory".to_owned()));
    }
    let numbers: Vec<u16> = (0..catalog.tables.len() as u16).collect();
    let cells = partitioned::new_cells(&catalog.tables, &numbers, &config)?;
    let procedures: Vec<u16> = (0..catalog.procedures.len() as u16).collect();
    let engine = engine(cells, None, clock, &config, &catalog, &procedures)?;
    Ok(Inner::new(engine, config, catalog, None, Recovery::default()))
}

fn engine(
    cells: Box<[Cell]>,
    log: Option<Log>,
    clock: Box<dyn Clock>,
    config: &Config,
    catalog: &Catalog,
    procedures: &[u16],
) -> Result<AnyEngine, Error> {
    let mut engine = Engine::new(cells, log, config, clock, &catalog.numbers(procedures))?;
    let names = catalog.procedures.iter().map(|procedure| procedure.name);
    engine.procedure_names = procedures.iter().copied().zip(names).collect();
    // Statistics show these numbers of a partition that is never free.
    engine.usage(&catalog.tables);
    Ok(AnyEngine::Partitioned(engine))
}

pub(crate) fn seconds_since(started_ns: u64, clock: &dyn Clock) -> f64 {
    (clock.monotonic_ns() - started_ns) as f64 / 1e9
}

/// The result of a replay of the log.
enum Replayed {
    /// Complete; `None`: there is no log yet.
    All(Option<LogFound>),
    /// A call declared too few keys, unnoticed while these shared a partition: replay must restart, with all partitions
    /// for each call.
    Misdeclared,
}

fn replay_log(
    files: &dyn Files,
    (manifest, merged): (&Manifest, &MergedSchema),
    catalog: &Catalog,
    cells: &[Cell],
    clock: &dyn Clock,
    recovery: &mut Recovery,
    all_partitions: bool,
) -> Result<Replayed, Error> {
    if !manifest.log_created {
        return Ok(Replayed::All(None));
    }
    let started = clock.monotonic_ns();
    let tables = catalog.table_ids(&merged.manifest);
    let procedures: Vec<_> = manifest.procedures.iter().map(|entry| code_of(entry, catalog)).collect();
    let context = ReplayContext {
        cells,
        tables: &tables,
        conversions: merged.needed_conversions(),
        procedures: &procedures,
        clock,
        all_partitions,
    };
    let read = |push: &mut dyn FnMut(Lsn, &[u8]) -> bool| {
        log::look_into_log(files, &manifest.expected_log(), &mut |lsn, record| {
            if push(lsn, record) { Ok(()) } else { Err(log::refused(files, lsn, "replay stopped".to_owned())) }
        })
    };
    let (found, records) = match partitioned::replay(&context, read) {
        Err(failed) if failed.error == ReplayError::Undeclared && !all_partitions => {
            return Ok(Replayed::Misdeclared);
        }
        replayed => replayed.map_err(|failed| refusal(files, failed, manifest, catalog))?,
    };
    recovery.log_records = records;
    recovery.log_s = seconds_since(started, clock);
    Ok(Replayed::All(Some(found?)))
}

/// The code that replays calls of a procedure of the log.
fn code_of(entry: &ProcedureEntry, catalog: &Catalog) -> Option<ProcedureKind> {
    let exact = |procedure: &&ProcedureKind| procedure.name == entry.name && procedure.version == entry.version;
    catalog.procedures.iter().find(exact).cloned()
}

fn refusal(files: &dyn Files, failed: ReplayFailed, manifest: &Manifest, catalog: &Catalog) -> Error {
    match failed.error {
        ReplayError::OtherVersion(number) => {
            let ProcedureEntry { name, version } = manifest.procedures[number].clone();
            let found = catalog.procedures.iter().find(|procedure| procedure.name == name);
            let found = found.map_or("none of that name".to_owned(), |found| format!("version {}", found.version));
            Error::ProcedureVersion { name, logged: version, found }
        }
        ReplayError::OtherSchema => Error::LoggedCalls { stored: manifest.schema_version, known: catalog.version },
        full @ ReplayError::Full(_) => Error::OutOfMemory(full.to_string()),
        error => log::refused(files, failed.lsn, error.to_string()).into(),
    }
}

#[cfg(test)]
mod tests;
