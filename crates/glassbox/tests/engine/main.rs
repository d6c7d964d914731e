//! The database through its interface, of both engines.

mod column_types;
mod dense;
mod each;
mod full_tables;
mod handed_over;
mod inspect_pages;
mod later_index;
mod prepared;
mod replay_errors;
mod schema_versions;
mod small_pool;
mod user_code;
mod waits;

use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{Files, ManualClock, MemoryFiles};
use glassbox::research::ConfigHooks;
use glassbox::{Architecture, Catalog, Config, Database, Error, LogKind};

/// Settings of a small database, for any number of partitions and either log.
fn small(architecture: Architecture, partitions: usize, log: LogKind) -> Config {
    Config::default()
        .with_architecture(architecture)
        .with_partitions(partitions)
        .with_log(log)
        .with_segment_bytes(64 << 10)
        .with_log_buffer_bytes(64 << 10)
        .with_log_threads(false)
        .with_classic(ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 20).with_sessions(2))
}

/// Opens a database in memory, in which no time passes.
fn open(files: &MemoryFiles, config: Config, catalog: Catalog) -> Result<Database, Error> {
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(ManualClock::default()), config, catalog)
}
