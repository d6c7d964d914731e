//! Whether a configuration can be, and whether a directory is one that may be used: ours, or empty.

use crate::classic::is_page_size;
use crate::config::{Architecture, ClassicConfig, Config, Durability};
use crate::error::Error;
use crate::huge_pages::memory_bytes;
use crate::io::Files;
use crate::log::{self, LogConfig};
use crate::store::{MANIFEST, Manifest, VolumeEntry};
use crate::partitioned;
use crate::stats::Recovery;

/// Refuses settings that cannot be, cannot be on this machine, or mean nothing for the engine that was chosen.
pub(crate) fn check_config(config: &Config) -> Result<(), Error> {
    let Config { partitions, in_flight, table_bytes, classic, .. } = config;
    if !(1..=64).contains(partitions) {
        return refused("partitions", partitions, "it must be 1 to 64");
    }
    if *in_flight == 0 {
        return refused("in_flight", in_flight, "it must be at least 1");
    }
    if *table_bytes == 0 {
        return refused("table_bytes", table_bytes, "it must be at least 1; it is rounded up to 2 MiB");
    }
    if !(1..=1024).contains(&classic.sessions) {
        return refused("classic.sessions", classic.sessions, "it must be 1 to 1024");
    }
    if !is_page_size(classic.page_bytes) {
        return refused("classic.page_bytes", classic.page_bytes, "it must be 4096, 8192, 16384 or 32768");
    }
    log_config(config).check().map_err(|error| Error::Config(error.to_string()))?;
    match config.architecture {
        Architecture::Partitioned => Ok(()),
        Architecture::Classic => check_classic(config),
    }
}

fn check_classic(config: &Config) -> Result<(), Error> {
    let ClassicConfig { page_bytes, pool_bytes, .. } = config.classic;
    let memory = memory_bytes();
    if pool_bytes > memory {
        return refused(
            "classic.pool_bytes",
            pool_bytes,
            &format!("it must be at most this machine's memory, {memory}"),
        );
    }
    // A change of a page may write all of it.
    let record = log_config(config).max_record_bytes();
    if record < page_bytes + page_bytes / 4 {
        let why = format!(
            "with these log records have at most {record} bytes, too few for pages of {page_bytes}; classic.page_bytes \
             must be smaller, or the two must be at least {} and {}",
            8 * page_bytes,
            2 * page_bytes
        );
        let values = format!("{} and segment_bytes {}", config.log_buffer_bytes, config.segment_bytes);
        return refused("log_buffer_bytes", values, &why);
    }
    // Settings of the other engine alone that a reader would expect to have an effect here.
    let default = Config::default();
    if config.log != default.log {
        let why = "the classic engine logs changes of pages, never calls; it must be the default, values";
        return refused("log", "commands", why);
    }
    if config.partitions != 1 && config.partitions != default.partitions {
        let why = format!("the classic engine has none; it must be 1 or the default, {}", default.partitions);
        return refused("partitions", config.partitions, &why);
    }
    if config.table_bytes != default.table_bytes {
        let why = "the classic engine has no such bound; it must be the default, the largest number";
        return refused("table_bytes", config.table_bytes, why);
    }
    Ok(())
}

/// A setting that is refused, its value, and what it can be.
pub(crate) fn refused(setting: &str, value: impl std::fmt::Display, why: &str) -> Result<(), Error> {
    Err(Error::Config(format!("{setting} is {value}: {why}")))
}

/// How the log of such a database is laid out and served.
pub(crate) fn log_config(config: &Config) -> LogConfig {
    LogConfig {
        segment_bytes: config.segment_bytes,
        log_buffer_bytes: config.log_buffer_bytes,
        force: config.durability == Durability::Sync,
        appenders: match config.architecture {
            Architecture::Partitioned => config.partitions,
            // And one for checkpoints.
            Architecture::Classic => config.classic.sessions + 1,
        },
        threads: config.log_threads,
        undo_room: config.architecture == Architecture::Classic,
        ..LogConfig::default()
    }
}

/// Refuses a directory that holds something, but no database.
pub(crate) fn refuse_foreign(files: &dyn Files) -> Result<(), Error> {
    if files.exists(MANIFEST)? {
        return Ok(());
    }
    let held = [files.list("")?, files.list(log::DIRECTORY)?, files.list(partitioned::CHECKPOINTS)?].concat();
    let own = |name: &str| name == "LOCK" || name == MANIFEST || name == crate::store::TEMPORARY;
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
pub(crate) fn read_or_create(files: &dyn Files, config: &Config, recovery: &mut Recovery) -> Result<Manifest, Error> {
    let volume = (config.architecture == Architecture::Classic).then_some(VolumeEntry {
        page_bytes: config.classic.page_bytes as u32,
        checkpoint: 0,
        loading: false,
    });
    if let Some(manifest) = Manifest::read(files)? {
        if let Some(whose) = &manifest.journal_of {
            return Err(Error::Directory {
                path: MANIFEST.to_owned(),
                problem: format!("it holds the journal of {whose}, which only that can open; use another directory"),
            });
        }
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
        journal_of: None,
    };
    manifest.write(files)?;
    Ok(manifest)
}

/// A number that no other database has.
pub(crate) fn random_id() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let part = || u128::from(RandomState::new().hash_one(std::process::id()));
    part() << 64 | part()
}
