//! A database on a stack that is named by type.

use std::any::TypeId;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::Catalog;
use crate::classic::{Engine, Stack, StackLogs};
use crate::config::{Architecture, ClassicConfig, Config, Durability};
use crate::error::{Error, NOT_ANSWERED};
use crate::io::{Clock, Files, MemoryFiles, RealFiles};
use crate::log::{Log, Lsn};
use crate::open::log_config;
use crate::procedure::Procedure;
use crate::record::Record;

/// How a database on a stack is made.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// Memory for pages, in bytes. Stacks without a buffer pool need room for all of them.
    pub memory_bytes: usize,
    /// Whether an answer waits until the log is forced, in stacks that have one. If not, it is written behind.
    pub forced: bool,
    /// Sessions, in stacks that have more than one.
    pub sessions: usize,
    /// Memory for log records that are not yet written, in bytes, a power of two.
    pub log_buffer_bytes: usize,
}

impl Default for StackConfig {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, forced: true, sessions: 16, log_buffer_bytes: 32 << 20 }
    }
}

/// One engine of the stack `S`, one of the types of this module.
#[expect(private_bounds, reason = "the stacks are those of this module; what they are made of is nobody's business")]
pub struct DatabaseOf<S: Stack> {
    engine: Engine<S>,
}

/// A transaction that was run, and may not be durable yet.
#[derive(Debug)]
#[must_use = "whether it is durable is known only to who waits"]
pub struct Submitted<O> {
    answer: Result<O, Error>,
    lsn: Lsn,
}

/// 2020-09-13, as a beginning: microseconds.
const BEGINNING_US: u64 = 1_600_000_000_000_000;

/// A clock that moves on by one microsecond whenever it is asked.
struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn wall_us(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed) as i64
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * 1_000
    }
}

/// The files of a new database.
fn files(directory: Option<&Path>, on_disk: bool) -> Result<Arc<dyn Files>, Error> {
    let files: Arc<dyn Files> = match directory {
        Some(directory) if on_disk => Arc::new(RealFiles::new(directory)?),
        None if on_disk => return Err(Error::Config("a stack with a log on disk needs a directory".to_owned())),
        _ => Arc::new(MemoryFiles::new()),
    };
    if let Some(held) = files.list("")?.first() {
        let problem = format!("it holds `{held}`: a stack needs an empty directory");
        return Err(Error::Directory { path: held.clone(), problem });
    }
    Ok(files)
}

fn make_log(files: &Arc<dyn Files>, classic: &ClassicConfig, config: &StackConfig) -> Result<Log, Error> {
    let config = Config {
        architecture: Architecture::Classic,
        classic: classic.clone(),
        durability: if config.forced { Durability::Sync } else { Durability::Async },
        log_buffer_bytes: config.log_buffer_bytes,
        ..Config::default()
    };
    Ok(Log::create(Arc::clone(files), 0, log_config(&config), Lsn(0))?)
}

#[expect(private_bounds, reason = "the stacks are those of this module; what they are made of is nobody's business")]
impl<S: Stack> DatabaseOf<S> {
    /// A new, empty database with the tables and procedures of the catalog. Stacks with a log on disk need an empty
    /// directory; the others do not touch it.
    ///
    /// # Errors
    /// When the directory is missing or not empty, or the system does not give files or memory.
    pub fn open(directory: Option<&Path>, config: &StackConfig, catalog: &Catalog) -> Result<Self, Error> {
        catalog.check()?;
        let files = files(directory, S::Logs::ON_DISK)?;
        let classic = ClassicConfig {
            page_bytes: S::PAGE_BYTES,
            pool_bytes: config.memory_bytes,
            sessions: config.sessions,
            ..ClassicConfig::default()
        };
        let procedures: Vec<TypeId> = catalog.procedures.iter().map(|procedure| procedure.id).collect();
        let clock = Arc::new(CountingClock(AtomicU64::new(BEGINNING_US)));
        let mut engine = Engine::make(&files, clock, &classic, procedures, || make_log(&files, &classic, config))?;
        for table in &catalog.tables {
            engine.add_table(table.id, &table.schema, None)?;
        }
        Ok(Self { engine })
    }

    /// Adds a row without log and locks, before the first call.
    ///
    /// # Errors
    /// [`Error::Aborted`] when its primary key or a unique key is there already; others when pages fail.
    pub fn insert_unlogged<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.engine.load_row(row)
    }

    /// Runs a procedure as a transaction and answers when it is as durable as the stack makes it.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure aborts; others when the engine fails.
    #[inline]
    pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
        // Not by way of what was submitted: an answer is large, and would be copied each time.
        let mut answer = Err(NOT_ANSWERED);
        let lsn = self.engine.execute(procedure, &mut answer)?;
        self.engine.wait(lsn)?;
        answer
    }

    /// Runs a procedure as a transaction, whose answer [`wait`](Self::wait) gives: so one caller has many under way
    /// that wait for one force together.
    ///
    /// # Errors
    /// When the engine fails.
    #[inline(always)]
    pub fn submit<P: Procedure>(&self, procedure: &P) -> Result<Submitted<P::Output>, Error> {
        let submitted = self.run(procedure)?;
        self.engine.nudge();
        Ok(submitted)
    }

    #[inline(always)]
    fn run<P: Procedure>(&self, procedure: &P) -> Result<Submitted<P::Output>, Error> {
        let mut answer = Err(NOT_ANSWERED);
        let lsn = self.engine.execute(procedure, &mut answer)?;
        Ok(Submitted { answer, lsn })
    }

    /// The answer to what was submitted, when it is as durable as the stack makes it.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure aborted; others when the engine fails.
    #[inline(always)]
    pub fn wait<O>(&self, submitted: Submitted<O>) -> Result<O, Error> {
        self.engine.wait(submitted.lsn)?;
        submitted.answer
    }

    /// A number that all rows of all tables give, wherever they are: equal for equal contents.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had.
    pub fn digest(&self) -> Result<u64, Error> {
        self.engine.digest()
    }

    /// What is wrong with trees, heap files and the space map; empty when nothing is.
    pub fn verify(&self) -> Vec<String> {
        self.engine.verify()
    }
}
