//! Opening a database: making a new one, or recovering what was answered.
//!
//! Recovery reads the manifest, the checkpoint that it names, and the log from where the checkpoint ends. Only when all
//! of it has succeeded does it change files: so one that is refused leaves them as they were, for another program or a
//! backup to be tried. Then a torn block at the log's end is cut off, spare segments are sorted out, and what an
//! unfinished checkpoint or creation left behind is removed; nothing that was answered is touched, so a crash during
//! recovery, however often, loses nothing.

use std::any::TypeId;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::any_engine::AnyEngine;
use crate::catalog::Catalog;
use crate::config::{Architecture, Config, Durability};
use crate::error::Error;
use crate::inner::{Inner, Storage};
use crate::io::{Clock, Files};
use crate::log::{self, Log, LogConfig, LogFound, Lsn};
use crate::manifest::{MANIFEST, Manifest, ProcedureEntry, VolumeEntry};
use crate::merge_catalog::{merge_catalog, table_ids};
use crate::open_classic::open_classic;
use crate::partitioned::{self, Cell, Engine, ProcedureKind, ReplayContext};
use crate::record::mix;
use crate::stats::Recovery;

pub(crate) fn open(
    files: Option<Arc<dyn Files>>,
    clock: Box<dyn Clock>,
    config: Config,
    catalog: Catalog,
) -> Result<Inner, Error> {
    catalog.check()?;
    check_config(&config)?;
    let mut recovery = Recovery::default();
    let Some(files) = files else {
        if config.architecture == Architecture::Classic {
            return Err(Error::Config("the classic engine keeps its pages in files: open it on a directory".to_owned()));
        }
        let numbers: Vec<u16> = (0..catalog.tables.len() as u16).collect();
        let cells = partitioned::new_cells(&catalog.tables, &numbers, &config)?;
        let procedures = catalog.numbers(&(0..catalog.procedures.len() as u16).collect::<Vec<_>>());
        return Ok(inner(cells, None, clock, config, catalog, procedures, None, recovery));
    };
    log_config(&config).check()?;
    // Asked before locking, which leaves a file behind, in a directory that may be none of ours.
    refuse_foreign(&*files)?;
    let lock = files.lock()?;
    let old = read_or_create(&*files, &config, &mut recovery)?;
    if old.volume.is_some() {
        return open_classic(files, lock, clock.into(), config, catalog, old, recovery);
    }
    let (manifest, tables, procedures) = merge_catalog(&old, &catalog)?;
    let mut all_partitions = false;
    let (mut cells, found) = loop {
        let mut cells = partitioned::new_cells(&catalog.tables, &tables, &config)?;
        let started = clock.monotonic_ns();
        if let Some(checkpoint) = &old.checkpoint {
            let ids = table_ids(&old, &catalog);
            recovery.checkpoint_rows = partitioned::load_checkpoint(&*files, checkpoint, &old, &ids, &mut cells)?;
            recovery.checkpoint_s = seconds_since(started, &*clock);
        }
        match replay_log(&*files, &old, &catalog, &cells, &*clock, &mut recovery, all_partitions)? {
            Replayed::All(found) => break (cells, found),
            Replayed::Misdeclared => all_partitions = true,
        }
    };
    // Nothing was changed so far; from here on nothing is refused.
    let log = open_log(&files, &old, &config, found)?;
    let end = log.appended();
    let log = match config.durability {
        Durability::None => {
            log.close()?;
            None
        }
        _ => Some(log),
    };
    recovery.log_bytes = end.0 - old.log_start;
    if let Some(log) = &log {
        for cell in &mut cells {
            cell.set_appender(log.appender()?);
        }
    }
    // Other random numbers than before the log ended.
    for (at, cell) in cells.iter_mut().enumerate() {
        cell.get_mut().seed = mix(at as u64 ^ mix(end.0 ^ clock.wall_us() as u64));
    }
    if manifest != old {
        manifest.write(&*files)?;
    }
    remove_leftovers(&*files, &manifest)?;
    let procedures = catalog.numbers(&procedures);
    let storage = Storage { files, manifest: Mutex::new(manifest), log_end: end, _lock: lock };
    Ok(inner(cells, log, clock, config, catalog, procedures, Some(storage), recovery))
}

#[allow(clippy::too_many_arguments)] // it only puts together what `open` has made
fn inner(
    cells: Box<[Cell]>,
    log: Option<Log>,
    clock: Box<dyn Clock>,
    config: Config,
    catalog: Catalog,
    procedures: Vec<(TypeId, u16)>,
    storage: Option<Storage>,
    recovery: Recovery,
) -> Inner {
    Inner {
        engine: AnyEngine::Partitioned(Engine::new(cells, log, config.log, clock, procedures)),
        config,
        catalog,
        in_flight: AtomicUsize::new(0),
        failed_checkpoints: AtomicU64::new(0),
        storage,
        recovery,
    }
}

pub(crate) fn seconds_since(started_ns: u64, clock: &dyn Clock) -> f64 {
    (clock.monotonic_ns() - started_ns) as f64 / 1e9
}

fn check_config(config: &Config) -> Result<(), Error> {
    if !(1..=64).contains(&config.partitions) {
        return Err(Error::Config(format!("partitions is {}, and must be 1 to 64", config.partitions)));
    }
    if config.in_flight == 0 {
        return Err(Error::Config("in_flight must be at least 1".to_owned()));
    }
    if !(1..=1024).contains(&config.classic.sessions) {
        return Err(Error::Config(format!("classic.sessions is {}, and must be 1 to 1024", config.classic.sessions)));
    }
    let page_bytes = config.classic.page_bytes;
    if !page_bytes.is_power_of_two() || !(4 << 10..=32 << 10).contains(&page_bytes) {
        return Err(Error::Config(format!("classic.page_bytes is {page_bytes}: choose 4096, 8192, 16384 or 32768")));
    }
    Ok(())
}

pub(crate) fn log_config(config: &Config) -> LogConfig {
    LogConfig {
        segment_bytes: config.segment_bytes,
        buffer_bytes: config.log_buffer_bytes,
        force: config.durability == Durability::Sync,
        appenders: match config.architecture {
            Architecture::Partitioned => config.partitions,
            // And one for checkpoints.
            Architecture::Classic => config.classic.sessions + 1,
        },
        threads: config.log_threads,
        ..LogConfig::default()
    }
}

/// Refuses a directory that holds something, but no database.
fn refuse_foreign(files: &dyn Files) -> Result<(), Error> {
    if files.exists(MANIFEST)? {
        return Ok(());
    }
    let held = [files.list("")?, files.list(log::DIRECTORY)?, files.list(partitioned::CHECKPOINTS)?].concat();
    let own = |name: &str| name == "LOCK" || name == MANIFEST || name == crate::manifest::TEMPORARY;
    match held.iter().find(|name| !own(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Directory {
            path: MANIFEST.to_owned(),
            problem: format!(
                "it holds `{name}` but no manifest, so it is not a Glassbox database (or its manifest was removed); \
                 use an empty directory or restore the manifest"
            ),
        }),
    }
}

/// The manifest; a new database's, if the directory is empty or its creation was interrupted.
fn read_or_create(files: &dyn Files, config: &Config, recovery: &mut Recovery) -> Result<Manifest, Error> {
    let volume = (config.architecture == Architecture::Classic).then(|| VolumeEntry {
        page_bytes: config.classic.page_bytes as u32,
        checkpoint: 0,
        loading: false,
    });
    if let Some(manifest) = Manifest::read(files)? {
        if !manifest.log_created {
            // Nothing of it counts yet.
            return Ok(Manifest { volume, ..manifest });
        }
        if manifest.volume.is_some() != volume.is_some() {
            let maker = if manifest.volume.is_some() { "classic" } else { "partitioned" };
            return Err(Error::Directory {
                path: MANIFEST.to_owned(),
                problem: format!(
                    "it holds a database of the {maker} engine; open it with `architecture` {maker}, or use another \
                     directory"
                ),
            });
        }
        return Ok(manifest);
    }
    // Again, now that nobody else changes it.
    refuse_foreign(files)?;
    recovery.created = true;
    let manifest = Manifest {
        database_id: random_id(),
        tables: Vec::new(),
        procedures: Vec::new(),
        checkpoint: None,
        log_start: 0,
        log_created: false,
        volume,
    };
    manifest.write(files)?;
    Ok(manifest)
}

/// A number that no other database has.
fn random_id() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let part = || u128::from(RandomState::new().hash_one(std::process::id()));
    part() << 64 | part()
}

/// What doing the log again came to.
enum Replayed {
    /// It is done; `None`: there is no log yet.
    All(Option<LogFound>),
    /// A call that declared too little, unnoticed while its keys shared a partition, is in the way: all has to be done
    /// anew, each call with all partitions.
    Misdeclared,
}

fn replay_log(
    files: &dyn Files,
    manifest: &Manifest,
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
    let tables = table_ids(manifest, catalog);
    let procedures: Vec<_> = manifest.procedures.iter().map(|entry| code_of(entry, catalog)).collect();
    let context = ReplayContext { cells, tables: &tables, procedures: &procedures, clock, all_partitions };
    let read = |push: &mut dyn FnMut(Lsn, &[u8]) -> bool| {
        log::look_into_log(files, manifest.database_id, Lsn(manifest.log_start), &mut |lsn, record| {
            if push(lsn, record) { Ok(()) } else { Err(log::refused(files, lsn, "replay stopped".to_owned())) }
        })
    };
    let (found, records) = match partitioned::replay(&context, read) {
        Err(failed) if failed.problem == partitioned::MISDECLARED && !all_partitions => {
            return Ok(Replayed::Misdeclared);
        }
        replayed => replayed.map_err(|failed| refusal(files, failed, catalog))?,
    };
    recovery.log_records = records;
    recovery.log_s = seconds_since(started, clock);
    Ok(Replayed::All(Some(found?)))
}

/// Makes the log ready to be written, or a new one.
pub(crate) fn open_log(
    files: &Arc<dyn Files>,
    manifest: &Manifest,
    config: &Config,
    found: Option<LogFound>,
) -> Result<Log, Error> {
    let shared = Arc::clone(files);
    if let Some(found) = found {
        return Ok(Log::open(shared, log_config(config), found)?);
    }
    for name in files.list(log::DIRECTORY)? {
        files.remove(&name)?;
    }
    Ok(Log::create(shared, manifest.database_id, log_config(config), Lsn(manifest.log_start))?)
}

/// The code that replays calls of a procedure of the log.
fn code_of(entry: &ProcedureEntry, catalog: &Catalog) -> Result<ProcedureKind, String> {
    let exact = |procedure: &&ProcedureKind| procedure.name == entry.name && procedure.version == entry.version;
    catalog
        .procedures
        .iter()
        .find(exact)
        .cloned()
        .ok_or_else(|| format!("{VERSION_MARK}{} {}", entry.version, entry.name))
}

/// Begins the problem of a record whose procedure the catalog does not have, followed by version and name.
const VERSION_MARK: &str = "procedure version: ";

fn refusal(files: &dyn Files, failed: partitioned::ReplayFailed, catalog: &Catalog) -> Error {
    let unknown = failed.problem.strip_prefix(VERSION_MARK).and_then(|rest| rest.split_once(' '));
    if let Some((logged, name)) = unknown {
        let found = catalog.procedures.iter().find(|procedure| procedure.name == name);
        return Error::ProcedureVersion {
            name: name.to_owned(),
            logged: logged.parse().unwrap_or_default(),
            found: found.map_or("none of that name".to_owned(), |procedure| format!("version {}", procedure.version)),
        };
    }
    log::refused(files, failed.lsn, failed.problem).into()
}

/// Removes what an interrupted checkpoint left.
fn remove_leftovers(files: &dyn Files, manifest: &Manifest) -> Result<(), Error> {
    let current = manifest.checkpoint.as_ref().map(|checkpoint| &checkpoint.file);
    for name in files.list(partitioned::CHECKPOINTS)? {
        if Some(&name) != current {
            files.remove(&name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
