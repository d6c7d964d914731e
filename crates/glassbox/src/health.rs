//! Whether an engine takes work: it refuses all of it for good once it cannot answer for its state, and for a while
//! during a bulk load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// The state of health of an engine.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Set while there is a reason below, or a bulk load runs: one flag to ask before each transaction.
    closed: AtomicBool,
    stopped: OnceLock<String>,
}

impl Health {
    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        // The first reason is the one that matters.
        let _ = self.stopped.set(reason);
        self.closed.store(true, Ordering::Release);
    }

    /// Refuses work until [`Health::end_loading`]. To be called while no transaction runs.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.check()?;
        self.closed.store(true, Ordering::Release);
        Ok(())
    }

    /// Admits work again, unless the database stopped meanwhile.
    pub(crate) fn end_loading(&self) {
        self.closed.swap(false, Ordering::AcqRel);
        if self.is_stopped() {
            self.closed.store(true, Ordering::Release);
        }
    }

    /// Whether work is refused for good.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Whether work is taken; why not otherwise.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::Acquire) { Err(self.why_closed()) } else { Ok(()) }
    }

    #[cold]
    fn why_closed(&self) -> Error {
        match self.stopped.get() {
            Some(reason) => Error::Stopped { reason: reason.clone() },
            None => Error::Loading,
        }
    }
}
