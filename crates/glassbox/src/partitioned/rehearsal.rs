//! Rehearsals: runs that find a procedure that is not deterministic on the day it is called, not on that of a crash.
//!
//! A log of commands is replayed by running its calls again. A procedure that reads a clock, or iterates over a
//! `HashMap`, then makes other changes, and the database cannot be opened. So before its real run a call runs twice
//! more, with the same time and random numbers; both runs are undone, and the digests of their changes are compared.
//! A call whose runs differ is refused, and nothing of it is logged.
//!
//! In a debug build each call is rehearsed, otherwise the first calls of each procedure since the database was opened.
//! That finds most mistakes and not all: a clock that is read in seconds is the same twice in nearly all calls.
//!
//! Rejected: comparing one rehearsal with the real run. A real run whose procedure promises not to abort keeps nothing
//! to undo it, so a difference would stop the database; and with undo, the real run would not notice a broken promise.

use std::sync::atomic::{AtomicU8, Ordering};

use super::held::Hold;
use super::origin::{AnyBody, Origin};
use super::run::run_once;
use super::transaction::{Changes, Keep, PartitionedTransaction};
use crate::error::Error;
use crate::io::Clock;
use crate::partitioned::log_records::command::digest_of_changes;
use crate::partitioned::log_records::values::VALUES;
use crate::record::Timestamp;

/// Calls of each procedure that are rehearsed in a release build.
const REHEARSED_CALLS: u8 = 3;
const REHEARSES_ALL: bool = cfg!(debug_assertions);

/// The choice of calls to rehearse.
#[derive(Debug)]
pub(super) struct Rehearsals {
    /// Rehearsed calls of each procedure, by the code of its runs.
    calls: Box<[AtomicU8]>,
}

/// A run that was undone.
struct Rehearsal {
    now: Option<Timestamp>,
    seed: u64,
    digest: u64,
}

impl Rehearsals {
    /// None yet, of procedures with codes up to this; `is_on`: whether there are to be any.
    pub(super) fn new(max_code: usize, is_on: bool) -> Self {
        let calls = if is_on { max_code + 1 } else { 0 };
        Self { calls: (0..calls).map(|_| AtomicU8::new(0)).collect() }
    }

    /// Whether the next call with this code is to be rehearsed.
    #[inline(always)]
    pub(super) fn is_due(&self, code: u32) -> bool {
        let calls = self.calls.get(code as usize);
        calls.is_some_and(|calls| REHEARSES_ALL || calls.load(Ordering::Relaxed) < REHEARSED_CALLS)
    }

    fn count(&self, code: u32) {
        // Concurrent calls may be counted once.
        let calls = &self.calls[code as usize];
        calls.store(calls.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
    }

    /// Runs a call twice, and undoes it.
    ///
    /// # Errors
    /// [`Error::NotDeterministic`] when the runs make different changes.
    #[cold]
    #[inline(never)]
    pub(super) fn rehearse(
        &self,
        clock: &dyn Clock,
        hold: &mut Hold<'_>,
        run: &mut AnyBody<'_>,
        origin: &dyn Origin,
    ) -> Result<(), Error> {
        // Before its end is known: one that always aborts would be rehearsed at every call.
        self.count(origin.code());
        // A call that aborts, panics or needs another partition is not logged, or not as a command.
        let Some(first) = rehearse_once(clock, hold.all(), None, run, origin) else { return Ok(()) };
        let second = rehearse_once(clock, hold.all(), Some(&first), run, origin);
        let is_same = second.is_some_and(|second| second.digest == first.digest);
        if is_same { Ok(()) } else { Err(Error::NotDeterministic { name: origin.name() }) }
    }
}

fn rehearse_once(
    clock: &dyn Clock,
    mut hold: Hold<'_>,
    before: Option<&Rehearsal>,
    run: &mut AnyBody<'_>,
    origin: &dyn Origin,
) -> Option<Rehearsal> {
    let next_seed = hold.held.home().seed;
    hold.scratch.record.begin(VALUES, usize::MAX);
    let keep = Keep { undo: true, values: true, places: false };
    let mut transaction = PartitionedTransaction::new(hold, clock, keep);
    if let Some(before) = before {
        transaction.assign(before.now, before.seed);
    }
    let ended = run_once(&mut transaction, &origin, |running| {
        let returned = run(running);
        running.outcome(returned)
    });
    let PartitionedTransaction { held, changes: Changes { scratch, .. }, now, seed, .. } = &mut transaction;
    let digest = digest_of_changes(scratch.record.as_slice());
    scratch.undo.undo();
    scratch.undo.clear();
    scratch.record.clear();
    held.home().seed = next_seed;
    ended.is_ok().then_some(Rehearsal { now: *now, seed: *seed, digest })
}
