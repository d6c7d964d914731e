//! The partitioned engine: runs procedures on the partitions they need and logs what they did.
//!
//! A run goes: declare the keys; take the token of the partition, or the tokens of several in ascending order (so no
//! two transactions wait for each other in a circle); prefetch the declared keys; run; append the log record while the
//! tokens are still held (so the order in the log is the order of execution); release. Whoever asked waits for the
//! force after that, so a force never holds up a partition. A run that needs a partition it does not hold is undone and
//! run again with it.
//!
//! Serializable because a partition's transactions run one after the other, whole; phantoms cannot be.

use std::any::{Any, TypeId};
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::numbers::Numbers;
use super::origin::{AdHoc, Call, Origin};
use super::partition::{Cell, Scratch};
use super::prefetch::prefetch;
use super::token::Waiter;
use super::transaction::{Keep, PartitionedTransaction};
use super::values::VALUES;
use crate::config::LogKind;
use crate::error::{Error, NOT_ANSWERED, Unanswered};
use crate::executed::{Executed, TableUsage};
use crate::failure::BrokenPromise;
use crate::health::Health;
use crate::io::Clock;
use crate::log::{Appender, Log, LogError, Lsn};
use crate::procedure::{AbortReason, Aborts, Declared, PartitionSet, Partitions, Procedure, Retry, Stop};

/// The partitions of a database, its log, and its state of health.
pub(crate) struct Engine {
    pub(crate) cells: Box<[Cell]>,
    /// `None` with [`Durability::None`].
    pub(crate) log: Option<Log>,
    /// Of each partition, its place in the log's buffer.
    appenders: Box<[OfHolder<Appender>]>,
    pub(crate) log_kind: LogKind,
    pub(crate) clock: Box<dyn Clock>,
    procedures: Numbers,
    health: Health,
    /// Runs that touched a partition that their declaration, said to be complete, did not name.
    pub(crate) misdeclared: AtomicU64,
    /// Of each partition, the space of its tables when its token was last free for statistics.
    pub(super) known_usage: Mutex<Vec<Vec<TableUsage>>>,
}

/// What only the holder of a partition's token touches, on cache lines of its own.
#[repr(align(128))]
struct OfHolder<T>(UnsafeCell<T>);

// SAFETY: whoever touches it holds the token, so one thread at a time does.
unsafe impl<T: Send> Sync for OfHolder<T> {}

/// How a run ended that did not commit. It is large, and seldom: whoever runs has a place for it.
pub(super) enum Ending {
    /// Undone; what it told counts, when the log is durable up to there.
    Aborted(AbortReason, Lsn),
    /// Undone; these partitions are needed too.
    Widen(PartitionSet),
    Panicked(Box<dyn Any + Send>),
    Failed(Error),
}

/// How a transaction ended, and up to where the log must be forced before anyone is told.
pub(super) type Ended = Result<Lsn, (AbortReason, Lsn)>;

impl Engine {
    pub(crate) fn new(
        cells: Box<[Cell]>,
        log: Option<Log>,
        log_kind: LogKind,
        clock: Box<dyn Clock>,
        procedures: &[(TypeId, u16)],
    ) -> Result<Self, LogError> {
        let appender = |log: &Log| Ok(OfHolder(UnsafeCell::new(log.appender()?)));
        let appenders = log.iter().flat_map(|log| cells.iter().map(move |_| appender(log)));
        let appenders = appenders.collect::<Result<_, LogError>>()?;
        let (procedures, health, misdeclared) = (Numbers::new(procedures), Health::default(), AtomicU64::new(0));
        let known_usage = Mutex::default();
        Ok(Self { cells, log, appenders, log_kind, clock, procedures, health, misdeclared, known_usage })
    }

    /// All partitions.
    pub(crate) fn all(&self) -> PartitionSet {
        PartitionSet::all(self.cells.len())
    }

    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        self.health.stop(reason);
    }

    /// Whether it takes work.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Refuses a checkpoint of what does not count: half a transaction that could not be undone, or half a bulk load,
    /// unless the checkpoint is that of the load, or of a close, which has the engine `alone`. To be asked while all
    /// tokens are held.
    pub(crate) fn check_whole(&self, alone: bool) -> Result<(), Error> {
        if alone && !self.health.is_stopped() { Ok(()) } else { self.check() }
    }

    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.health.check()
    }

    /// Runs a procedure, whose output or abort becomes the `answer`. Its effects are visible and in the log's order
    /// when this returns, and durable at the position that it gives.
    #[inline]
    pub(crate) fn execute<P: Procedure>(
        &self,
        procedure: &P,
        answer: &mut Result<P::Output, Error>,
    ) -> Result<Lsn, Error> {
        // A run that needs no partition in particular gets the first; with one, nobody has to be asked.
        let (mut needed, mut unknown) = (PartitionSet::of(0), false);
        if self.cells.len() > 1 {
            // With one, a nested call finds its token taken.
            self.health.refuse_nested()?;
            let mut partitions = Partitions::none(self.cells.len());
            unknown = procedure.declare(&mut partitions) == Declared::Unknown;
            needed = partitions.set;
        }
        let Some(number) = self.procedures.of::<P>() else { return Err(Error::UnknownProcedure { name: P::NAME }) };
        let call = Call { procedure, number };
        let run = answering(procedure, answer);
        let undo = P::ABORTS == Aborts::Anytime;
        let ended = if unknown || !undo && self.log.as_ref().is_some_and(Log::is_room_scarce) {
            self.execute_keeping_undo(procedure, needed, unknown, run, &call)?
        } else {
            self.run_until_done(needed, undo, run, &call, || {
                self.misdeclared.fetch_add(1, Ordering::Relaxed);
            })?
        };
        ended.or_else(|(abort, lsn)| {
            *answer = Err(abort.into());
            Ok(lsn)
        })
    }

    /// Runs a closure as a transaction, with the changes logged as values whatever the log is.
    pub(crate) fn execute_adhoc(
        &self,
        run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
    ) -> Result<Executed, Error> {
        Ok(match self.run_until_done(PartitionSet::EMPTY, true, run, &AdHoc, || {})? {
            Ok(lsn) => Executed { outcome: Ok(()), lsn },
            Err((abort, lsn)) => Executed { outcome: Err(abort), lsn },
        })
    }

    #[inline(always)]
    pub(super) fn run_until_done(
        &self,
        mut needed: PartitionSet,
        undo: bool,
        mut run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
        origin: &impl Origin,
        widened: impl Fn(),
    ) -> Result<Ended, Error> {
        let mut keep = Keep { undo, values: origin.values(self) };
        loop {
            let mut ending = None;
            if let Some(lsn) = self.run_holding(needed, keep, &mut run, origin, &mut ending) {
                return Ok(Ok(lsn));
            }
            match ending.expect("a run that did not commit says why") {
                Ending::Aborted(abort, lsn) => return Ok(Err((abort, lsn))),
                Ending::Widen(more) => {
                    needed.extend(more);
                    widened();
                    // Replaying the call would go by its declaration, which was wrong.
                    keep.values = self.log.is_some();
                }
                Ending::Panicked(panic) => resume_unwind(panic),
                Ending::Failed(error) => return Err(error),
            }
        }
    }

    /// Takes the tokens, runs once, gives them back. The position up to which the log must be forced before the outcome
    /// is told, if it committed; else its `ending`.
    #[inline(always)]
    pub(super) fn run_holding(
        &self,
        needed: PartitionSet,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // A run that needs no partition in particular gets the first.
        let needed = needed.or_if_empty(0);
        let home = needed.lowest();
        let cell = &self.cells[home];
        let mut waiter = Waiter::new();
        // SAFETY: the waiter is fresh, and stays here until it is released.
        if !needed.is_single() || !unsafe { cell.token.acquire_if_free(&raw mut waiter) } {
            return self.run_waiting(needed, home, keep, run, origin, ending);
        }
        // SAFETY: the token of `home` is held.
        let committed = unsafe { self.attempt(needed, home, keep, run, origin, ending) };
        // SAFETY: it was acquired with this waiter.
        unsafe { cell.token.release(&raw mut waiter) };
        committed
    }

    /// As `run_holding`, where several partitions are needed, or the one was taken a moment ago.
    #[cold]
    #[inline(never)]
    fn run_waiting(
        &self,
        needed: PartitionSet,
        home: usize,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // Asked before waiting, too: what is refused need not wait for a transaction that may not end.
        if let Err(refused) = self.health.refuse_nested().and_then(|()| self.check()) {
            *ending = Some(Ending::Failed(refused));
            return None;
        }
        if !needed.is_single() {
            // SAFETY: the tokens of `needed` are held.
            return self.holding(needed, || unsafe { self.attempt(needed, home, keep, run, origin, ending) });
        }
        let mut committed = None;
        let job = SendPtr((&raw mut committed, &raw mut *run, origin, &raw mut *ending));
        self.cells[home].token.run(move || {
            let job = &job;
            let (committed, run, origin, ending) = job.0;
            // SAFETY: the waiting thread keeps these in place until the job is done, and the token of `home` is held.
            unsafe { *committed = self.attempt(needed, home, keep, &mut *run, origin, &mut *ending) };
        });
        committed
    }

    /// Runs `work` while the tokens of `needed` are held, taken in ascending order.
    pub(crate) fn holding<O>(&self, needed: PartitionSet, work: impl FnOnce() -> O) -> O {
        struct Release<'a> {
            cells: &'a [Cell],
            held: smallvec::SmallVec<[usize; 64]>,
            waiters: *mut Waiter,
        }
        impl Drop for Release<'_> {
            fn drop(&mut self) {
                for (at, &partition) in self.held.iter().enumerate() {
                    // SAFETY: acquired below with this waiter, released once.
                    unsafe { self.cells[partition].token.release(self.waiters.add(at)) };
                }
            }
        }
        let mut waiters = [const { Waiter::new() }; 64];
        let mut release = Release { cells: &self.cells, held: Default::default(), waiters: waiters.as_mut_ptr() };
        for partition in needed.iter() {
            // SAFETY: the waiter is fresh, and stays in place until `release` drops, before `waiters`.
            unsafe { self.cells[partition].token.acquire(release.waiters.add(release.held.len())) };
            release.held.push(partition);
        }
        work()
    }

    /// Runs once and commits or undoes.
    ///
    /// # Safety
    /// The tokens of `held`, `home` among them, are held.
    #[inline(always)]
    unsafe fn attempt(
        &self,
        held: PartitionSet,
        home: usize,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // SAFETY: the home's token is held, and no other transaction uses its scratch.
        let scratch = unsafe { &mut *self.cells[home].scratch() };
        let mut end = |how: Ending| {
            *ending = Some(how);
            None
        };
        // Asked under the tokens: the transaction before this one may have left half of itself behind.
        if let Err(closed) = self.check() {
            return end(Ending::Failed(closed));
        }
        if keep.values {
            scratch.record.push(&[VALUES]);
        }
        // SAFETY: the tokens of `held` are held while this runs.
        let mut transaction =
            unsafe { PartitionedTransaction::new(&self.cells, scratch, &*self.clock, held, home, keep) };
        let (running, log_command) = (&mut transaction, self.log.is_some() && !keep.values);
        // Few things go with it: each of them is a store and a load.
        let result = catch_unwind(AssertUnwindSafe(move || {
            // SAFETY: the tokens of `held` are held.
            unsafe { prefetch(&mut running.scratch.lookups, running.cells, running.held, running.home, origin) };
            let told = run(running);
            running.outcome(told)?;
            if running.wrote && log_command {
                origin.write_command(running);
            }
            Ok(())
        }));
        let (wrote, scratch) = (transaction.wrote, &mut *transaction.scratch);
        let committed = match result {
            // SAFETY: the tokens of `held` are held.
            Ok(Ok(())) => match unsafe { self.commit(held, home, wrote, scratch) } {
                Ok(lsn) => Some(lsn),
                Err(error) => end(Ending::Failed(self.not_logged(error, keep, scratch))),
            },
            Ok(Err(stop)) => {
                scratch.undo.undo();
                let broken = (wrote && !keep.undo).then(|| origin.name());
                // SAFETY: the tokens of `held` are held.
                end(unsafe { self.stopped(stop, held, home, broken) })
            }
            Err(panic) => {
                scratch.undo.undo();
                if wrote && !keep.undo {
                    self.stop(BrokenPromise::panicked(origin.name(), &*panic).to_string());
                }
                end(Ending::Panicked(panic))
            }
        };
        scratch.undo.clear();
        scratch.record.clear();
        committed
    }

    /// Appends the record, if anything was changed; the position up to which the log must be forced before the outcome
    /// is told.
    #[inline(always)]
    unsafe fn commit(
        &self,
        held: PartitionSet,
        home: usize,
        wrote: bool,
        scratch: &mut Scratch,
    ) -> Result<Lsn, LogError> {
        let mut last = Lsn::NONE;
        if wrote && let Some(appender) = self.appenders.get(home) {
            // SAFETY: its token is held.
            last = unsafe { &mut *appender.0.get() }.append(scratch.record.as_slice())?;
        }
        self.cells[home].counters.committed.add_one();
        // SAFETY: its token is held.
        let partition = unsafe { &mut *self.cells[home].partition() };
        if !held.is_single() {
            // SAFETY: passed on.
            return Ok(unsafe { self.note_last(held, wrote, last) });
        }
        if wrote {
            partition.last = last;
        }
        Ok(partition.last)
    }

    /// Notes the position of what these partitions changed; the one to be waited for.
    #[cold]
    unsafe fn note_last(&self, held: PartitionSet, wrote: bool, mut last: Lsn) -> Lsn {
        for at in held.iter() {
            // SAFETY: its token is held.
            let partition = unsafe { &mut *self.cells[at].partition() };
            if wrote {
                partition.last = last;
            } else {
                last = last.max(partition.last);
            }
        }
        last
    }

    /// A change in memory that the log did not take: undone if it can be, else the database stops.
    #[cold]
    fn not_logged(&self, error: LogError, keep: Keep, scratch: &mut Scratch) -> Error {
        scratch.undo.undo();
        if !matches!(error, LogError::TooLarge { .. } | LogError::NoRoom { .. }) {
            self.stop(error.to_string());
        } else if !keep.undo {
            let reason = format!("{error}{TOO_LARGE_TO_STAY}");
            self.stop(reason.clone());
            return Error::Stopped { reason };
        }
        error.into()
    }

    /// The ending of a run that was undone, or, if the promise of this procedure is `broken`, should have been.
    #[cold]
    unsafe fn stopped(&self, stop: Stop, held: PartitionSet, home: usize, broken: Option<&'static str>) -> Ending {
        if let Some(procedure) = broken {
            let broken = BrokenPromise::stopped(procedure, &stop);
            self.stop(broken.to_string());
            return Ending::Failed(broken.into());
        }
        let counters = &self.cells[home].counters;
        match AbortReason::of(stop) {
            Err(Retry { partitions }) => {
                counters.rerun.add_one();
                Ending::Widen(partitions)
            }
            Ok(reason) => {
                counters.aborted.add_one();
                // SAFETY: the tokens of `held` are held.
                let last = |at: usize| unsafe { (*self.cells[at].partition()).last };
                Ending::Aborted(reason, held.iter().map(last).max().unwrap_or(Lsn::NONE))
            }
        }
    }
}

/// The body of a procedure, which puts its output where the answer is to be.
#[inline(always)]
pub(super) fn answering<P: Procedure>(
    procedure: &P,
    answer: &mut Result<P::Output, Error>,
) -> impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> {
    move |transaction| {
        // What a run came to that did not count goes now: an output is moved seldom if nothing is dropped between.
        if answer.is_ok() {
            *answer = Err(NOT_ANSWERED);
        }
        let told = procedure.answer(transaction, &mut Unanswered(answer));
        assert!(answer.is_ok() || told.is_err(), "a procedure has ended well and given no answer");
        told
    }
}

/// Follows what the log says of a record.
const TOO_LARGE_TO_STAY: &str = "; the procedure promises by `ABORTS` that its changes need not be kept to undo them, \
     so the database cannot go on with them: open it again to get the state without them, and change less in one \
     transaction, or promise `Anytime`";

/// Pointers that go to another thread with a job whose owner waits for it.
struct SendPtr<T>(T);
// SAFETY: the owner of what they point to waits until the job is done; the job runs in one thread.
unsafe impl<T> Send for SendPtr<T> {}
