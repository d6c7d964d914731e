//! Opening a database of the classic engine.
//!
//! What was answered is in the log; pages are as of some moment each. So: read the log (analysis), do again what pages
//! lack (redo), open the log for appending, take back what had not ended (undo), then open the stores of the catalog's
//! tables and make those that are new. All of it can be interrupted and done again.

use std::any::TypeId;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::any_engine::AnyEngine;
use crate::catalog::Catalog;
use crate::classic::{CheckpointLsns, Engine, Volume};
use crate::config::{ClassicConfig, Config};
use crate::error::Error;
use crate::inner::{Inner, Storage};
use crate::io::{Clock, DirectoryLock, Files};
use crate::log::Lsn;
use crate::store::{Manifest, VolumeEntry};
use crate::store::merge_catalog;
use crate::open::{open_log, seconds_since};
use crate::stats::Recovery;

/// Opens the database of this manifest, whose directory is locked.
pub(crate) fn open_classic(
    files: Arc<dyn Files>,
    lock: DirectoryLock,
    clock: Arc<dyn Clock>,
    config: Config,
    catalog: Catalog,
    old: Manifest,
    mut recovery: Recovery,
) -> Result<Inner, Error> {
    let entry = old.volume.clone().expect("a database of this engine");
    // A bulk load that did not end leaves nothing behind; it began with no rows.
    let anew = !old.log_created || entry.loading;
    let stored = if anew { Manifest { tables: Vec::new(), ..old.clone() } } else { old.clone() };
    let (merged, _, _) = merge_catalog(&stored, &catalog)?;
    check_tables(&config.classic, &catalog)?;
    let started = clock.monotonic_ns();
    let (volume, found) = if anew {
        (Volume::create(&files, old.database_id, &config.classic)?, None)
    } else {
        let from = CheckpointLsns { begin: Lsn(entry.checkpoint), needed_from: Lsn(old.log_start) };
        let page_bytes = entry.page_bytes as usize;
        let (volume, found) = Volume::recover(&files, old.database_id, &config.classic, page_bytes, from)?;
        (volume, Some(found))
    };
    (recovery.log_records, recovery.redone, recovery.taken_back) = (volume.log_records, volume.redone, volume.losers());
    let log = open_log(&files, &old, &config, found)?;
    recovery.log_bytes = if anew { 0 } else { log.appended().0 - old.log_start };
    let procedures: Vec<TypeId> = catalog.procedures.iter().map(|procedure| procedure.id).collect();
    let mut engine = Engine::start(volume, log, Arc::clone(&clock), &config, procedures)?;
    for table in &catalog.tables {
        if let Some(known) = stored.tables.iter().find(|stored| stored.name == table.schema.name) {
            engine.check_new_indexes(&table.schema, known)?;
        }
    }
    for table in &catalog.tables {
        let known = stored.tables.iter().find(|stored| stored.name == table.schema.name);
        engine.add_table(table.id, &table.schema, known)?;
    }
    let page_bytes = if anew { config.classic.page_bytes as u32 } else { entry.page_bytes };
    let manifest = if anew {
        let lsns = engine.checkpoint()?;
        let volume = VolumeEntry { page_bytes, checkpoint: lsns.begin.0, loading: false };
        Manifest { volume: Some(volume), log_start: lsns.needed_from.0, ..merged }
    } else {
        // New stores must be there for certain before the manifest names them.
        engine.force_log()?;
        merged
    };
    recovery.log_s = seconds_since(started, &*clock);
    if manifest != old {
        manifest.write(&*files)?;
    }
    let log_end = Lsn(manifest.log_start);
    Ok(Inner {
        engine: AnyEngine::Classic(engine),
        config,
        catalog,
        in_flight: AtomicUsize::new(0),
        failed_checkpoints: AtomicU64::new(0),
        kept: AtomicU64::new(0),
        storage: Some(Storage { files, manifest: Mutex::new(manifest), log_end, lock: Mutex::new(Some(lock)) }),
        recovery,
    })
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
