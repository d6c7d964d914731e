//! A system that was made and loaded, and runs inputs one after the other.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use glassbox::Error;
use glassbox::stacks::{StackConfig, StackName};
use glassbox_ladder::LadderDatabase;
use glassbox_workloads::tpcc::{self, Input, Scale};
use tempfile::TempDir;

use super::systems::{IN_FLIGHT, System};
use crate::limits::kernels::{self, AnyKernel};
use crate::limits::measure::{LOAD_SEED, for_kernel};

/// Memory for pages, of a warehouse of full size and of a transaction.
const WAREHOUSE_BYTES: usize = 130 << 20;
const TRANSACTION_BYTES: usize = 2 << 10;
/// And of a database without rows.
const EMPTY_BYTES: usize = 32 << 20;

/// Transactions between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;

/// A loaded system.
pub(super) enum Subject {
    /// A stack; the directory goes after the database.
    Stack {
        database: Box<dyn LadderDatabase>,
        _dir: TempDir,
    },
    Kernel(Box<dyn AnyKernel>),
}

/// Inputs for either kind of system.
pub(super) struct Batch {
    stack: Vec<Input>,
    kernel: Vec<crate::limits::kernel::Input>,
}

impl Batch {
    pub fn new(inputs: Vec<Input>) -> Self {
        Self { kernel: for_kernel(&inputs), stack: inputs }
    }

    pub fn len(&self) -> usize {
        self.stack.len()
    }
}

/// Memory that a stack gets for its pages: so much that all of them stay there.
pub(super) fn pool_bytes(scale: &Scale, transactions: usize) -> usize {
    let warehouse = WAREHOUSE_BYTES / 100 * (scale.items as usize).div_ceil(1_000);
    EMPTY_BYTES + usize::from(scale.warehouses) * warehouse + transactions * TRANSACTION_BYTES
}

impl Subject {
    /// Makes and loads a system that will run at most so many transactions.
    pub fn load(system: System, scale: &Scale, transactions: usize, dir: &Path) -> anyhow::Result<Self> {
        match system {
            System::Kernel => Ok(Self::Kernel(kernels::load(false, false, scale, LOAD_SEED, transactions)?)),
            _ => Self::stack(system, scale, transactions, dir),
        }
    }

    fn stack(system: System, scale: &Scale, transactions: usize, dir: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("glassbox-stack-").tempdir_in(dir);
        let dir = dir.context("cannot make a directory for a database")?;
        let (forced, catalog) = (matches!(system, System::Forced | System::Grouped), tpcc::catalog());
        let config = StackConfig { memory_bytes: pool_bytes(scale, transactions), forced, ..StackConfig::default() };
        let database = match system {
            System::Grouped => glassbox_ladder::open_in_flight(IN_FLIGHT, dir.path(), &config, &catalog)?,
            System::Stack(name) => glassbox_ladder::open(name, dir.path(), &config, &catalog)?,
            _ => glassbox_ladder::open(StackName::Full, dir.path(), &config, &catalog)?,
        };
        database.load(scale, LOAD_SEED)?;
        Ok(Self::Stack { database, _dir: dir })
    }

    /// Runs a batch; a stack stops early when it has had so much time. How many it ran, and in how many seconds.
    pub fn run(&mut self, batch: &Batch, most: Duration) -> anyhow::Result<(usize, f64)> {
        let started = Instant::now();
        let mut done = 0;
        match self {
            Self::Kernel(kernel) => {
                kernel.run(&batch.kernel);
                done = batch.len();
            }
            Self::Stack { database, .. } => {
                for inputs in batch.stack.chunks(BETWEEN_LOOKS) {
                    database.call_each(inputs)?;
                    done += inputs.len();
                    if started.elapsed() >= most {
                        break;
                    }
                }
                database.finish()?;
            }
        }
        Ok((done, started.elapsed().as_secs_f64()))
    }

    /// Runs a batch without looking at a clock.
    pub fn run_all(&mut self, batch: &Batch) -> Result<(), Error> {
        match self {
            Self::Kernel(kernel) => {
                kernel.run(&batch.kernel);
                Ok(())
            }
            Self::Stack { database, .. } => database.call_each(&batch.stack),
        }
    }

    /// The digest of a stack's rows, and what is wrong with its data.
    pub fn check(&self) -> anyhow::Result<(Option<u64>, Vec<String>)> {
        match self {
            Self::Kernel(kernel) => Ok((None, kernel.check().err().iter().map(ToString::to_string).collect())),
            Self::Stack { database, .. } => Ok((Some(database.digest()?), database.verify())),
        }
    }
}
