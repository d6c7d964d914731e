//! A procedure whose type is not known here, run on a shard.

use super::super::held::Hold;
use super::super::origin::ProcedureCall;
use super::super::run::{Cause, Failed, run_once};
use super::super::transaction::watch::{Unwatched, Watch, Watched, Watching};
use super::super::transaction::{Keep, PartitionedTransaction};
use super::call::{Call, Ran, Stamp};
use super::carried::{Arguments, Output};
use super::declared_keys::{DeclaredKeys, KeyCollector};
use super::remote::{Missing, Participation, SentRows};
use super::remote_read::RemoteReadResult;
use super::route::{Route, Routing, TableNumbers};
use crate::answer::{OutputSlot, discard, run_in};
use crate::failure::{BrokenPromise, Failure, Panicked, Promise, event_of};
use crate::io::Clock;
use crate::procedure::Place;
use crate::procedure::{AbortReason, Aborts, Procedure};

/// What a run needs.
pub(super) struct ShardRun<'a, 'w> {
    pub(super) hold: Hold<'a>,
    pub(super) call: &'a Call,
    pub(super) place: Participation,
    pub(super) given: &'a [RemoteReadResult],
    /// Whether what it overwrites is kept beyond its end.
    pub(super) keep: bool,
    pub(super) watch: Option<&'w mut dyn Watch>,
}

/// The keys of one partition of so many that a call declares.
type KeysOfCall = fn(&Arguments, (u8, u8), TableNumbers<'_>) -> Result<DeclaredKeys, String>;

/// What a catalog keeps of a procedure, for shards.
#[derive(Clone, Copy)]
pub(crate) struct ShardProcedure {
    pub(crate) route: fn(&Arguments, usize, TableNumbers<'_>) -> Result<Route, String>,
    pub(super) keys: KeysOfCall,
    pub(super) aborts: Aborts,
    pub(super) run: fn(ShardRun<'_, '_>) -> Ran,
}

impl ShardProcedure {
    pub(crate) fn of<P: Procedure>() -> Self {
        Self {
            route: |arguments, count, numbers| Ok(Routing::of(&*arguments.read::<P>()?, count, numbers)),
            keys: |arguments, place, numbers| Ok(KeyCollector::of(&*arguments.read::<P>()?, place, numbers)),
            aborts: P::ABORTS,
            run: run::<P>,
        }
    }
}

/// An output whose type its carrier does not know is made in the box in which it is carried.
struct Boxed<O>(Option<Box<O>>);

impl<O> Place<O> for Boxed<O> {
    #[inline(always)]
    fn put(&mut self, output: O) -> &mut O {
        self.0.insert(Box::new(output))
    }
}

impl<O> OutputSlot<O> for Boxed<O> {
    #[inline(always)]
    fn is_filled(&self) -> bool {
        self.0.is_some()
    }

    #[inline(always)]
    fn clear(&mut self) {
        if self.0.is_some() {
            discard(|| self.0 = None);
        }
    }
}

fn run<P: Procedure>(running: ShardRun<'_, '_>) -> Ran {
    let ShardRun { hold, call, place, given, keep, watch } = running;
    let procedure = match call.arguments.read::<P>() {
        Ok(procedure) => procedure,
        Err(bad) => return Ran::Failed(Failure::protocol(bad)),
    };
    let mut output = Boxed(None);
    let typed = Typed { procedure: &*procedure, stamp: call.stamp(), hold, place, given, keep };
    let ended = match watch {
        Some(watch) => typed.run(Watched::new(watch), &mut output),
        None => typed.run(Unwatched, &mut output),
    };
    match ended {
        Ok(()) => Ran::Done(Output::boxed(output.0.expect("a run that ends well has put its output"))),
        Err(ran) => ran,
    }
}

/// The time is assigned to every run before it begins.
struct Assigned;

impl Clock for Assigned {
    fn wall_us(&self) -> i64 {
        unreachable!("a run on a shard is given its time")
    }

    fn monotonic_ns(&self) -> u64 {
        unreachable!("a run on a shard is given its time")
    }
}

/// What a run needs of a procedure whose type is known.
pub(super) struct Typed<'a, P> {
    pub(super) procedure: &'a P,
    pub(super) stamp: Stamp,
    pub(super) hold: Hold<'a>,
    pub(super) place: Participation,
    pub(super) given: &'a [RemoteReadResult],
    pub(super) keep: bool,
}

impl<P: Procedure> Typed<'_, P> {
    /// Runs it; why it did not end well, if so.
    #[inline(always)]
    pub(super) fn run(self, watch: impl Watching, output: &mut impl OutputSlot<P::Output>) -> Result<(), Ran> {
        let Self { procedure, stamp, hold, place, given, keep } = self;
        let undo = keep || P::ABORTS == Aborts::Anytime;
        let origin = ProcedureCall { procedure, number: stamp.procedure };
        let kept = Keep { undo, values: false, places: keep };
        let mut transaction = PartitionedTransaction::with(hold, &Assigned, kept, SentRows::new(place, given), watch);
        transaction.assign(stamp.now, stamp.seed);
        // Keys of remote rows are not found by the prefetch, and asked for in vain.
        let ended = run_once(&mut transaction, &origin, |running| {
            let returned = run_in(output, procedure, running);
            running.outcome(returned)
        });
        if !keep {
            transaction.changes.scratch.undo.clear();
        }
        let PartitionedTransaction { remote, watch, .. } = transaction;
        ended.map_err(|failed| failure(failed, remote.into_missing(), watch.has_refused(), P::NAME))
    }
}

/// The outcome of a run that did not end well.
#[cold]
fn failure(failed: Failed, missing: Option<Box<Missing>>, refused: bool, name: &'static str) -> Ran {
    let is_broken = failed.broken;
    let ran = outcome(failed.cause, missing, refused, name);
    if is_broken { broken(ran, name) } else { ran }
}

/// What a run came to that did not end well. What the procedure says means nothing when something was missing.
#[cold]
fn outcome(cause: Cause, missing: Option<Box<Missing>>, refused: bool, name: &'static str) -> Ran {
    if let Some(bad) = missing.as_ref().and_then(|missing| missing.bad.as_ref()) {
        return Ran::Failed(Failure::protocol(bad.clone()));
    }
    match missing {
        Some(missing) if !missing.participants.is_empty() => return Ran::Elsewhere(missing.participants),
        _ if refused => return Ran::Refused,
        Some(missing) => return Ran::Wants(missing.reads),
        None => {}
    }
    match cause {
        Cause::Stopped(stop) => Ran::Aborted(AbortReason::of(stop).expect("a run that lacks nothing asks for nothing")),
        Cause::Panicked(panic) => Ran::Failed(Box::new(Failure::Panicked(Panicked::caught(name, &*panic)))),
    }
}

/// What a run came to that wrote, and of which nothing was kept to undo it.
#[cold]
fn broken(ran: Ran, name: &'static str) -> Ran {
    let (promise, event) = match ran {
        Ran::Aborted(reason) => (Promise::Aborts, event_of(&reason)),
        Ran::Failed(failure) => match *failure {
            Failure::Panicked(panicked) => (Promise::Aborts, panicked.as_event()),
            failure => (Promise::Declare, format!("could not go on ({failure:?})")),
        },
        _ => (Promise::Declare, "needed a row of a partition that it had not declared".to_owned()),
    };
    Ran::Broken(Box::new(BrokenPromise { procedure: name.into(), promise, event }))
}
