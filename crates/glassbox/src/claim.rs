//! Whether a configuration can be, and whether a directory is one that may be used: ours, or empty.

use crate::classic::is_page_size;
use crate::config::{Architecture, Config};
use crate::error::Error;
use crate::io::Files;
use crate::log;
use crate::manifest::{MANIFEST, Manifest, VolumeEntry};
use crate::partitioned;
use crate::stats::Recovery;

/// Refuses settings that cannot be.
pub(crate) fn check_config(config: &Config) -> Result<(), Error> {
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
    if !is_page_size(page_bytes) {
        return Err(Error::Config(format!("classic.page_bytes is {page_bytes}: choose 4096, 8192, 16384 or 32768")));
    }
    Ok(())
}

/// Refuses a directory that holds something, but no database.
pub(crate) fn refuse_foreign(files: &dyn Files) -> Result<(), Error> {
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
