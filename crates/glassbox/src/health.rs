//! Whether an engine accepts work, and how long an administrative operation waits for running transactions.
//!
//! An engine refuses all work for good after an error that leaves its state unknown and after a close, and for a while
//! during a bulk load. It also refuses a call inside a transaction of the same engine on the same thread: the call
//! would wait for the transaction, and the transaction for the call (self-deadlock).
//!
//! A procedure may run for any time, so an operation that needs a moment without transactions waits for [`PATIENCE`]
//! and then fails with the name of the place where one still runs. Statistics do not wait at all.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::Error;
use crate::executed::SharedCounters;
use crate::io::{Clock, RealClock};

/// How long a checkpoint, a bulk load, a check or a close waits for one transaction.
pub(crate) const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 10_000 });
/// Polling interval of that wait.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The values of [`Health::state`].
const OPEN: u32 = 0;
const LOADING: u32 = 1;
const CLOSED: u32 = 2;
const STOPPED: u32 = 3;

thread_local! {
    /// The engine whose transaction this thread runs, identified by its [`Health`]; null: none.
    static INSIDE: Cell<*const Health> = const { Cell::new(ptr::null()) };
}

/// The state of health of an engine.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// One word that each transaction reads before it runs.
    state: AtomicU32,
    stopped: OnceLock<String>,
}

/// Marks this thread as running a transaction until dropped; then the mark of before is restored.
pub(crate) struct Inside(*const Health);

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

impl Health {
    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        // The first reason is the one to report.
        let _ = self.stopped.set(reason);
        self.state.store(STOPPED, Ordering::Release);
    }

    /// Refuses new work until [`Health::end_loading`]. Running transactions may go on.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.leave_open(LOADING)
    }

    /// Accepts work again, unless the engine stopped meanwhile.
    pub(crate) fn end_loading(&self) {
        let _ = self.state.compare_exchange(LOADING, OPEN, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Refuses all further work, as an orderly close does. Running transactions may go on.
    ///
    /// # Errors
    /// During a bulk load.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let closed = self.leave_open(CLOSED);
        if matches!(closed, Err(Error::Loading)) { closed } else { Ok(()) }
    }

    fn leave_open(&self, to: u32) -> Result<(), Error> {
        let left = self.state.compare_exchange(OPEN, to, Ordering::AcqRel, Ordering::Acquire);
        left.map(drop).map_err(|_| self.why_refused())
    }

    /// Whether work is refused because an error left the engine's state unknown.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Whether the engine was closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Fails with the reason if the engine has stopped.
    pub(crate) fn check_running(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(self.why_refused()) } else { Ok(()) }
    }

    /// Fails with the reason if no work is accepted.
    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.state.load(Ordering::Acquire) == OPEN { Ok(()) } else { Err(self.why_refused()) }
    }

    #[cold]
    fn why_refused(&self) -> Error {
        match self.stopped.get() {
            Some(reason) => Error::Stopped { reason: reason.clone() },
            None if self.is_closed() => Error::Stopped { reason: "it was closed; open it again".to_owned() },
            None => Error::Loading,
        }
    }

    /// Marks this thread as running a transaction of this engine, as long as the result lives.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Inside {
        Inside(INSIDE.replace(self))
    }

    /// Fails if this thread runs a transaction of this engine.
    #[inline(always)]
    pub(crate) fn refuse_nested(&self) -> Result<(), Error> {
        if ptr::eq(INSIDE.get(), self) { Err(nested()) } else { Ok(()) }
    }
}

#[cold]
fn nested() -> Error {
    Error::Nested
}

/// The condition that ends a wait for a place that runs one transaction at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// No transaction runs there. Sufficient while new ones are refused.
    Free,
    /// No transaction runs there, or one has ended since the wait began: queued operations get their turn.
    Progress,
}

/// Waits for the transactions of these places. Each place gives its counters and a test whether it is free.
///
/// # Errors
/// [`Error::Busy`], when one transaction runs for longer than [`PATIENCE`].
pub(crate) fn await_transactions<'a, F: Fn() -> bool>(
    what: &str,
    places: impl Iterator<Item = (&'a SharedCounters, F)>,
    until: Until,
) -> Result<(), Error> {
    let clock = RealClock::new();
    for (at, (counters, is_free)) in places.enumerate() {
        let (before, began_ns) = (counters.ended(), clock.monotonic_ns());
        while !(is_free() || until == Until::Progress && counters.ended() != before) {
            if u128::from(clock.monotonic_ns() - began_ns) >= PATIENCE.as_nanos() {
                let (place, running) = (format!("{what} {at}"), "a transaction".to_owned());
                return Err(Error::Busy { place, running, seconds: PATIENCE.as_secs() });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
    Ok(())
}
