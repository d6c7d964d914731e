//! The engine's parts by themselves: for experiments, tools and clusters, and not needed to use a database.
//!
//! - [`stacks`]: the classic engine without some of its components;
//! - [`shard`]: one partition, driven by messages; [`journal`]: its log on disk;
//! - [`inspect`]: a database read from its files;
//! - `fuzzing`: the decoders, for a fuzzer.
//!
//! Its interface changes more often than that of the rest.

use crate::config::{Config, CurrentCore};

#[doc(hidden)]
pub mod fuzzing;
pub mod inspect;
pub mod journal;
pub mod shard;
pub mod stacks;

/// Settings of a [`Config`] for tests and experiments. No database needs them.
pub trait ConfigHooks {
    /// Whether the log has threads of its own, as it does by default. Without, it writes only while a caller waits, so
    /// that runs repeat exactly.
    #[must_use]
    fn with_log_threads(self, log_threads: bool) -> Self;

    /// Whether calls in a log of commands are rehearsed, as they are by default: each in a debug build, the first three
    /// of each procedure in any other. Without, a procedure that is not deterministic is found by its replay.
    #[must_use]
    fn with_rehearsals(self, rehearsals: bool) -> Self;

    /// A bug of the classic engine, for tests of the checkers: reads ignore the locks of writers, so histories are not
    /// serializable.
    #[must_use]
    fn with_broken_locks(self, broken_locks: bool) -> Self;

    /// Whether the classic engine records every fix of a page while the database is open, as input for simulations of
    /// page replacement.
    #[must_use]
    fn with_page_trace(self, trace_pages: bool) -> Self;

    /// How a thread finds the core on which it runs, by which the partitioned engine decides where calls run: so that
    /// tests can say it.
    #[must_use]
    fn with_current_core(self, current_core: fn() -> u32) -> Self;
}

impl ConfigHooks for Config {
    fn with_log_threads(mut self, log_threads: bool) -> Self {
        self.log_threads = log_threads;
        self
    }

    fn with_rehearsals(mut self, rehearsals: bool) -> Self {
        self.rehearsals = rehearsals;
        self
    }

    fn with_broken_locks(mut self, broken_locks: bool) -> Self {
        self.classic.broken_locks = broken_locks;
        self
    }

    fn with_page_trace(mut self, trace_pages: bool) -> Self {
        self.classic.trace_pages = trace_pages;
        self
    }

    fn with_current_core(mut self, current_core: fn() -> u32) -> Self {
        self.current_core = CurrentCore(current_core);
        self
    }
}
