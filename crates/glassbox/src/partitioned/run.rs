//! One run of a procedure: prefetch, body, catch, undo, promise.
//!
//! Every caller that runs code on held partitions does it here: the engine, a partition by itself, a shard, the stacks
//! without pages, and replay. They differ in what they do with the outcome: log it, keep it undecided, or compare it
//! with the first run.
//!
//! A run that does not end well leaves nothing, if old rows were kept. If they were not, because the procedure promised
//! that this cannot happen, and it had changed something, the promise is broken and the partitions must not be used.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::origin::Origin;
use super::transaction::watch::Watching;
use super::transaction::{Changes, PartitionedTransaction, RemoteRows};
use crate::failure::BrokenPromise;
use crate::procedure::Stop;

/// A run that did not end well.
pub(super) struct Failed {
    pub(super) cause: Cause,
    /// Whether the run had changed something that could not be undone.
    pub(super) broken: bool,
}

impl Failed {
    /// The promise of the procedure of this name that the run broke, if it did.
    pub(super) fn broken_promise(&self, procedure: &'static str) -> Option<BrokenPromise> {
        self.broken.then(|| match &self.cause {
            Cause::Stopped(stop) => BrokenPromise::stopped(procedure, stop),
            Cause::Panicked(panic) => BrokenPromise::panicked(procedure, &**panic),
        })
    }
}

/// Why a run did not end well.
pub(super) enum Cause {
    Stopped(Stop),
    Panicked(Box<dyn Any + Send>),
}

/// Runs `body` once, after a prefetch of the keys that `origin` declares. What it changed stays in the undo buffer,
/// unless it failed: then it is undone.
#[inline(always)]
pub(super) fn run_once<M: RemoteRows, W: Watching>(
    transaction: &mut PartitionedTransaction<'_, M, W>,
    origin: &impl Origin,
    body: impl FnOnce(&mut PartitionedTransaction<'_, M, W>) -> Result<(), Stop>,
) -> Result<(), Failed> {
    let running = &mut *transaction;
    // Few things go with the closure: each of them is a store and a load.
    let ended = catch_unwind(AssertUnwindSafe(move || {
        origin.prefetch(&mut running.changes.scratch.lookups, &mut running.held);
        body(running)
    }));
    match ended {
        Ok(Ok(())) => Ok(()),
        ended => Err(undo(&mut transaction.changes, ended)),
    }
}

#[cold]
fn undo(changes: &mut Changes<'_>, ended: thread::Result<Result<(), Stop>>) -> Failed {
    changes.scratch.undo.undo();
    let cause = match ended {
        Ok(ended) => Cause::Stopped(ended.expect_err("a run that ended well is not undone")),
        Err(panic) => Cause::Panicked(panic),
    };
    Failed { cause, broken: changes.wrote && !changes.undo }
}
