//! A loaded system, which runs inputs one after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use glassbox::Error;
use glassbox::research::stacks::{StackConfig, StackName};
use glassbox_ladder::LadderDatabase;
use glassbox_workloads::tpcc::{self, Scale};
use tempfile::TempDir;

use super::systems::{IN_FLIGHT, LadderSystem};
use crate::workload::InputBatch;
use glassbox_kernels::shared::{self, AnyKernel};

/// Memory for pages, for each warehouse of full size and for each transaction.
const WAREHOUSE_BYTES: usize = 130 << 20;
const TRANSACTION_BYTES: usize = 2 << 10;
/// Memory for pages of a database without rows.
const EMPTY_BYTES: usize = 32 << 20;

/// Transactions between two readings of the clock.
const CHUNK: usize = 64;

/// A loaded system.
pub(super) enum LoadedStack {
    /// A stack; the directory is removed after the database.
    Stack {
        database: Box<dyn LadderDatabase>,
        _dir: TempDir,
    },
    Kernel(Box<dyn AnyKernel>),
}

/// Memory of a stack for its pages: enough for all of them.
pub(super) fn pool_bytes(scale: &Scale, transactions: usize) -> usize {
    let warehouse = WAREHOUSE_BYTES / 100 * (scale.items as usize).div_ceil(1_000);
    EMPTY_BYTES + usize::from(scale.warehouses) * warehouse + transactions * TRANSACTION_BYTES
}

/// Creates a stack's database in a temporary directory in `dir`, with room for so many transactions, and loads it. With
/// `forced` each answer waits for the disk, if the stack has a log there; `in_flight` other than 1 is for the full
/// stack alone.
pub(super) fn open(
    name: StackName,
    forced: bool,
    in_flight: usize,
    scale: &Scale,
    transactions: usize,
    dir: &Path,
) -> anyhow::Result<(Box<dyn LadderDatabase>, TempDir)> {
    let dir = tempfile::Builder::new().prefix("glassbox-stack-").tempdir_in(dir);
    let dir = dir.context("cannot create a directory for a database")?;
    let catalog = tpcc::catalog();
    let config = StackConfig::default().with_memory_bytes(pool_bytes(scale, transactions)).with_forced(forced);
    let database = match in_flight {
        1 => glassbox_ladder::open(name, dir.path(), &config, &catalog)?,
        _ => glassbox_ladder::open_in_flight(in_flight, dir.path(), &config, &catalog)?,
    };
    database.load(scale, tpcc::LOAD_SEED)?;
    Ok((database, dir))
}

impl LoadedStack {
    /// Creates and loads a system for at most so many transactions.
    pub fn load(system: LadderSystem, scale: &Scale, transactions: usize, dir: &Path) -> anyhow::Result<Self> {
        let (name, forced, in_flight) = match system {
            LadderSystem::Kernel => {
                return Ok(Self::Kernel(shared::load(false, false, scale, tpcc::LOAD_SEED, transactions)?));
            }
            LadderSystem::Stack(name) => (name, false, 1),
            LadderSystem::Forced => (StackName::Full, true, 1),
            LadderSystem::Grouped => (StackName::Full, true, IN_FLIGHT),
        };
        let (database, _dir) = open(name, forced, in_flight, scale, transactions, dir)?;
        Ok(Self::Stack { database, _dir })
    }

    /// Runs a batch; a stack stops early after `max_time`. Returns the number of transactions and the seconds.
    pub fn run(&mut self, batch: &InputBatch, max_time: Duration) -> anyhow::Result<(usize, f64)> {
        let started = Instant::now();
        let mut done = 0;
        match self {
            Self::Kernel(kernel) => {
                kernel.run(&batch.kernel);
                done = batch.len();
            }
            Self::Stack { database, .. } => {
                for inputs in batch.engine.chunks(CHUNK) {
                    database.call_each(inputs)?;
                    done += inputs.len();
                    if started.elapsed() >= max_time {
                        break;
                    }
                }
                database.finish()?;
            }
        }
        Ok((done, started.elapsed().as_secs_f64()))
    }

    /// Runs a batch without reading the clock.
    pub fn run_all(&mut self, batch: &InputBatch) -> Result<(), Error> {
        match self {
            Self::Kernel(kernel) => {
                kernel.run(&batch.kernel);
                Ok(())
            }
            Self::Stack { database, .. } => database.call_each(&batch.engine),
        }
    }

    /// The digest of a stack's rows, and the violations in its data.
    pub fn check(&self) -> anyhow::Result<(Option<u64>, Vec<String>)> {
        match self {
            Self::Kernel(kernel) => Ok((None, kernel.check().err().iter().map(ToString::to_string).collect())),
            Self::Stack { database, .. } => Ok((Some(database.digest()?), database.verify())),
        }
    }
}
