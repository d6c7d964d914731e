//! The engine under measurement: opened in one of its modes, loaded, and called by one client without pauses.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use glassbox::{Config, Database, Durability, Error};
use glassbox_workloads::tpcc::{self, BatchClient, Input, Scale};
use tempfile::TempDir;

use super::systems::System;
use crate::machine::waited_seconds;

/// Transactions between two readings of the clock.
const CHUNK: usize = 256;

/// An open database in its own directory; dropping it removes both.
pub(super) struct Engine {
    db: Database,
    mode: System,
    _dir: Option<TempDir>,
}

/// The transactions that a client ran in its time.
pub(super) struct ClientRun {
    /// Transactions answered.
    pub transactions: usize,
    /// Their duration.
    pub seconds: f64,
    /// The part of it in which the thread had no core.
    pub waited_seconds: f64,
}

impl Engine {
    /// A loaded database of one partition in a temporary directory below `dir`. The log's threads run on `log_core`, or
    /// where the calling thread may run.
    pub fn load(
        mode: System,
        scale: &Scale,
        seed: u64,
        dir: &Path,
        table_bytes: usize,
        log_core: Option<core_affinity::CoreId>,
    ) -> anyhow::Result<Self> {
        let config = Config::default()
            .with_partitions(1)
            .with_durability(mode.durability())
            .with_log(mode.log().unwrap_or_default())
            // A checkpoint during a round would be measured with it.
            .with_checkpoint_log_bytes(0)
            .with_table_bytes(table_bytes);
        let (db, dir) = match mode.durability() {
            Durability::None => (Database::in_memory(config, tpcc::catalog())?, None),
            _ => {
                let temporary = tempfile::Builder::new().prefix("glassbox-limits-").tempdir_in(dir);
                let dir = temporary.with_context(|| format!("cannot make a directory in {}", dir.display()))?;
                (open(dir.path(), config, log_core)?, Some(dir))
            }
        };
        let load = db.bulk_load()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        tpcc::load_database(&load, scale, seed, threads, &|_| true)?;
        load.finish()?;
        Ok(Self { db, mode, _dir: dir })
    }

    /// The database.
    pub fn db(&self) -> &Database {
        &self.db
    }

    /// Runs the inputs, as many as fit into the time; all of them are answered when it returns.
    pub fn run(&self, inputs: &[Input], max_time: Duration) -> Result<ClientRun, Error> {
        let (started, waited) = (Instant::now(), waited_seconds());
        let (mut client, mut done) = (self.client(), 0);
        for inputs in inputs.chunks(CHUNK) {
            client.run(inputs)?;
            done += inputs.len();
            if started.elapsed() >= max_time {
                break;
            }
        }
        client.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(ClientRun { transactions: done, seconds, waited_seconds: waited_seconds() - waited })
    }

    /// Runs the remaining inputs, so that all systems have the same data afterwards.
    pub fn catch_up(&self, inputs: &[Input]) -> Result<(), Error> {
        let mut client = BatchClient::new(&self.db, 4_096);
        client.run(inputs)?;
        client.finish()
    }

    /// A client with as many transactions in flight as the mode says.
    pub fn client(&self) -> BatchClient<'_> {
        BatchClient::new(&self.db, self.mode.in_flight())
    }
}

/// Opens it in a thread of its own, because the log's threads inherit the cores of the thread that opens.
fn open(dir: &Path, config: Config, log_core: Option<core_affinity::CoreId>) -> anyhow::Result<Database> {
    let opened = std::thread::scope(|scope| {
        let open = || {
            log_core.map(core_affinity::set_for_current);
            Database::open(dir, config, tpcc::catalog())
        };
        scope.spawn(open).join().expect("opening does not panic")
    });
    opened.with_context(|| format!("cannot open a database in {}", dir.display()))
}
