//! Whether a configuration is possible, and whether it fits the contents of a directory.

use crate::classic::is_page_size;
use crate::config::{Architecture, ClassicConfig, Config, Durability};
use crate::error::Error;
use crate::huge_pages::memory_bytes;
use crate::log::LogConfig;
use crate::store::{MANIFEST, Manifest, VolumeEntry};

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
    if classic.prepared_transactions > 1024 {
        return refused("classic.prepared_transactions", classic.prepared_transactions, "it must be at most 1024");
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
    if !config.command_digests {
        let why = "the classic engine logs changes of pages, never calls; it must be the default, true";
        return refused("command_digests", "false", why);
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
            // And one for checkpoints, and two for prepared transactions.
            Architecture::Classic => config.classic.sessions + 3,
        },
        threads: config.log_threads,
        undo_room: config.architecture == Architecture::Classic,
        ..LogConfig::default()
    }
}

/// The manifest for this configuration; refused if the directory holds a journal or a database of the other engine.
pub(crate) fn check_manifest(manifest: &Manifest, config: &Config) -> Result<Manifest, Error> {
    let volume = (config.architecture == Architecture::Classic)
        .then(|| VolumeEntry { page_bytes: config.classic.page_bytes as u32, ..VolumeEntry::default() });
    let refuse = |problem| Err(Error::Directory { path: MANIFEST.to_owned(), problem });
    if let Some(whose) = &manifest.journal_of {
        return refuse(format!("it holds the journal of {whose}, which only that can open; use another directory"));
    }
    if !manifest.log_created {
        // The database was never opened: the other fields are not valid yet.
        return Ok(Manifest { volume, ..manifest.clone() });
    }
    if manifest.volume.is_some() != volume.is_some() {
        let maker = if manifest.volume.is_some() { "classic" } else { "partitioned" };
        return refuse(format!(
            "it holds a database of the {maker} engine; open it with `architecture` {maker}, or use another directory"
        ));
    }
    Ok(manifest.clone())
}
