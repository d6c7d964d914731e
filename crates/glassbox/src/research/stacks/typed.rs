//! A database on a stack that is named by type.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{NamedStack, StackEngine};
use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::classic::PAGES_PER_SESSION;
use crate::config::builder;
use crate::database::claim::refused;
use crate::error::Error;
use crate::huge_pages as machine;
use crate::io::Clock;
use crate::log::{LogConfig, Lsn};
use crate::procedure::Procedure;
use crate::record::Record;

/// Settings of a database on a stack. Each is checked for every stack, also for one that does not use it.
///
/// ```
/// use glassbox::research::stacks::StackConfig;
///
/// let config = StackConfig::default().with_memory_bytes(64 << 20).with_forced(false);
/// assert_eq!(config.sessions, 16);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StackConfig {
    /// Memory for pages, in bytes: at least twelve pages for each session, at most the machine's memory. Stacks without
    /// a buffer pool need room for all pages. Stacks without pages use it as the maximum for the rows of a table, and
    /// for each of its indexes. Default: 1 GiB.
    pub memory_bytes: usize,
    /// Whether an answer waits until the log is forced, in stacks with a log. Otherwise the log is written later.
    /// Default: it waits.
    pub forced: bool,
    /// Sessions, in stacks that have more than one: 1 to 1,024. Default: 16.
    pub sessions: usize,
    /// Memory for log records that are not yet written, in bytes: a power of two, at least eight pages, at most half of
    /// the machine's memory. Default: 32 MiB.
    pub log_buffer_bytes: usize,
}

impl Default for StackConfig {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, forced: true, sessions: 16, log_buffer_bytes: 32 << 20 }
    }
}

builder! {
    StackConfig:
    with_memory_bytes memory_bytes: usize,
    with_forced forced: bool,
    with_sessions sessions: usize,
    with_log_buffer_bytes log_buffer_bytes: usize,
}

impl StackConfig {
    /// Refuses invalid settings, for a stack with pages of this size.
    pub(super) fn check(&self, page_bytes: usize) -> Result<(), Error> {
        let &Self { memory_bytes, sessions, log_buffer_bytes, .. } = self;
        if !(1..=1024).contains(&sessions) {
            return refused("sessions", sessions, "it must be 1 to 1024");
        }
        let (least, most) = (PAGES_PER_SESSION * sessions * page_bytes, machine::memory_bytes());
        if !(least..=most).contains(&memory_bytes) {
            let why = format!("it must be {least} (for {sessions} sessions) to this machine's memory, {most}");
            return refused("memory_bytes", memory_bytes, &why);
        }
        let log = LogConfig { log_buffer_bytes, ..LogConfig::default() };
        log.check().map_err(|error| Error::Config(error.to_string()))?;
        // A change of a page may write all of it.
        if log_buffer_bytes < 8 * page_bytes {
            let why = format!("it must be at least {}, for records that hold a page", 8 * page_bytes);
            return refused("log_buffer_bytes", log_buffer_bytes, &why);
        }
        Ok(())
    }
}

/// One engine of the stack `S`, one of the types of this module.
#[expect(private_bounds, reason = "the stacks are those of this module; their components are private")]
pub struct DatabaseOf<S: NamedStack> {
    engine: S::Engine,
}

/// A transaction that was run, and may not be durable yet.
#[derive(Debug)]
#[must_use = "only `wait` says whether the transaction is durable"]
pub struct Submitted<O> {
    answer: Result<O, Error>,
    lsn: Lsn,
}

/// First time of the clock, 2020-09-13, in microseconds.
const BEGINNING_US: u64 = 1_600_000_000_000_000;

/// A clock that advances by one microsecond at each reading.
struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn wall_us(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed) as i64
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * 1_000
    }
}

#[expect(private_bounds, reason = "the stacks are those of this module; their components are private")]
impl<S: NamedStack> DatabaseOf<S> {
    /// A new, empty database with the tables and procedures of the catalog. Stacks with a log on disk need an empty
    /// directory; the others do not touch it.
    ///
    /// # Errors
    /// When the directory is missing or not empty, or the system does not give files or memory.
    pub fn open(directory: Option<&Path>, config: &StackConfig, catalog: &Catalog) -> Result<Self, Error> {
        catalog.check()?;
        let clock = CountingClock(AtomicU64::new(BEGINNING_US));
        let engine = S::Engine::make(directory, config, clock, catalog)?;
        Ok(Self { engine })
    }

    /// Adds a row without log and locks, before the first call.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`]; without pages [`Error::TableFull`]; others when pages fail.
    pub fn insert_unlogged<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.engine.load(row)
    }

    /// Runs a procedure as a transaction and returns when it is as durable as the stack makes it.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure aborts; others when the engine fails.
    #[inline]
    pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
        // Not through `Submitted`: an answer is large, and each move would copy it.
        let mut answer = Answer::Empty;
        let lsn = self.engine.execute(procedure, &mut answer)?;
        self.engine.wait(lsn)?;
        answer.into_result()
    }

    /// As [`call`](Self::call), but passes the output to `look` by reference, so that a large output is not moved.
    /// `look` is called once the transaction is durable.
    ///
    /// # Errors
    /// As for `call`.
    #[inline]
    pub fn call_with<P: Procedure, N>(&self, procedure: &P, look: impl FnOnce(&P::Output) -> N) -> Result<N, Error> {
        let mut answer = Answer::Empty;
        let lsn = self.engine.execute(procedure, &mut answer)?;
        self.engine.wait(lsn)?;
        answer.look(look)
    }

    /// Runs a procedure as a transaction; [`wait`](Self::wait) returns the result of `look` on its output. So one
    /// caller can have many transactions in flight that one force makes durable. `look` is called at once, unless the
    /// transaction aborted.
    ///
    /// # Errors
    /// When the engine fails.
    #[inline]
    pub fn submit_with<P: Procedure, N>(
        &self,
        procedure: &P,
        look: impl FnOnce(&P::Output) -> N,
    ) -> Result<Submitted<N>, Error> {
        let mut answer = Answer::Empty;
        let lsn = self.engine.execute(procedure, &mut answer)?;
        self.engine.nudge();
        Ok(Submitted { answer: answer.look(look), lsn })
    }

    /// Returns the answer of a submitted transaction when it is as durable as the stack makes it.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure aborted; others when the engine fails.
    #[inline(always)]
    pub fn wait<O>(&self, submitted: Submitted<O>) -> Result<O, Error> {
        self.engine.wait(submitted.lsn)?;
        submitted.answer
    }

    /// Digest of all rows of all tables, independent of where they are stored: equal for equal contents.
    ///
    /// # Errors
    /// When pages are damaged or cannot be read.
    pub fn digest(&self) -> Result<u64, Error> {
        self.engine.digest()
    }

    /// Inconsistencies of trees, heap files and the space map, or of indexes in memory, one message each; empty when
    /// there is none.
    pub fn verify(&self) -> Vec<String> {
        self.engine.verify()
    }
}
