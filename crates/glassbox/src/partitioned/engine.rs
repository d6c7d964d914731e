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
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use super::origin::{AdHoc, Call, Origin};
use super::partition::{Cell, Scratch};
use super::prefetch::prefetch;
use super::token::Waiter;
use super::transaction::{Keep, PartitionedTransaction};
use super::values::VALUES;
use crate::config::LogKind;
use crate::error::{Error, NOT_ANSWERED, Unanswered};
use crate::executed::Executed;
use crate::health::Health;
use crate::io::Clock;
use crate::log::{Log, LogError, Lsn};
use crate::procedure::{Aborts, Declared, Partitions, Procedure, ReadWriteSet, Retry, Stop};

/// The partitions of a database, its log, and its state of health.
pub(crate) struct Engine {
    pub(crate) cells: Box<[Cell]>,
    /// `None` with [`Durability::None`].
    pub(crate) log: Option<Log>,
    pub(crate) log_kind: LogKind,
    pub(crate) clock: Box<dyn Clock>,
    /// Number of each procedure in the log.
    pub(crate) procedures: Vec<(TypeId, u16)>,
    health: Health,
    /// Runs that touched a partition that their declaration, said to be complete, did not name.
    pub(crate) misdeclared: AtomicU64,
}

/// How a run ended that did not commit. It is large, and seldom: whoever runs has a place for it.
enum Ending {
    /// Undone; what it told counts.
    Aborted(Executed),
    /// Undone; these partitions are needed too.
    Widen(u64),
    Panicked(Box<dyn Any + Send>),
    Failed(Error),
}

impl Engine {
    pub(crate) fn new(
        cells: Box<[Cell]>,
        log: Option<Log>,
        log_kind: LogKind,
        clock: Box<dyn Clock>,
        procedures: Vec<(TypeId, u16)>,
    ) -> Self {
        Self { cells, log, log_kind, clock, procedures, health: Health::default(), misdeclared: AtomicU64::new(0) }
    }

    /// All partitions, as bits.
    pub(crate) fn all(&self) -> u64 {
        u64::MAX >> (64 - self.cells.len())
    }

    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        self.health.stop(reason);
    }

    /// Refuses transactions from here on, until [`Engine::end_loading`]; none runs when this returns.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.holding(self.all(), || self.health.begin_loading())
    }

    /// Admits transactions again, unless the database stopped meanwhile.
    pub(crate) fn end_loading(&self) {
        self.health.end_loading();
    }

    /// Refuses a checkpoint of what does not count: half a transaction that could not be undone, or, unless it is the
    /// load that asks, half a bulk load. To be asked while all tokens are held.
    pub(crate) fn check_whole(&self, loading: bool) -> Result<(), Error> {
        if loading && !self.health.is_stopped() { Ok(()) } else { self.check() }
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
        let mut needed = Partitions::none(self.cells.len());
        // A run that needs no partition in particular gets the first; with one, nobody has to be asked.
        let several = self.cells.len() > 1;
        let unknown = several && procedure.declare(&mut needed) == Declared::Unknown;
        let number = self.number::<P>()?;
        let call = Call { procedure, number };
        let run = |transaction: &mut PartitionedTransaction<'_>| {
            // What a run came to that did not count goes now: an output is moved seldom if nothing is dropped between.
            if answer.is_ok() {
                *answer = Err(NOT_ANSWERED);
            }
            procedure.answer(transaction, &mut Unanswered(answer))
        };
        let executed = if unknown {
            self.execute_undeclared(procedure, needed.bits, run, &call)?
        } else {
            let undo = P::ABORTS == Aborts::Anytime;
            self.run_until_done(needed.bits, undo, run, &call, || {
                self.misdeclared.fetch_add(1, Ordering::Relaxed);
            })?
        };
        if let Err(abort) = executed.outcome {
            *answer = Err(abort.into());
        }
        Ok(executed.lsn)
    }

    /// Runs a closure as a transaction, with the changes logged as values whatever the log is.
    pub(crate) fn execute_adhoc(
        &self,
        run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
    ) -> Result<Executed, Error> {
        self.run_until_done(0, true, run, &AdHoc, || {})
    }

    /// A procedure that could not say what it touches: a dry run finds out, under the tokens that it turns out to need;
    /// then it runs for real, under the same ones.
    #[cold]
    fn execute_undeclared<P: Procedure>(
        &self,
        procedure: &P,
        declared: u64,
        run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
        call: &Call<'_, P>,
    ) -> Result<Executed, Error> {
        let discovered = self.discover(procedure, declared)?;
        let needed = discovered.map_or(declared, |set| set.partitions());
        // Between dry run and run another transaction may have changed what this one reads: keep undo, to widen if need
        // be.
        self.run_until_done(needed, true, run, call, || {})
    }

    /// Dry-runs a procedure until every partition it reads is held: its read and write set; `None` when it panicked.
    pub(crate) fn discover<P: Procedure>(&self, procedure: &P, declared: u64) -> Result<Option<ReadWriteSet>, Error> {
        let mut held = declared;
        loop {
            let mut discovered = None;
            let mut dry = |transaction: &mut PartitionedTransaction<'_>| {
                let mut set = ReadWriteSet::new(self.cells.len());
                let mut dry_run = crate::procedure::DryRun::new(transaction, &mut set);
                // A dry run does not see its own writes, so what it answers, abort included, means nothing.
                match procedure.run(&mut dry_run) {
                    Err(Stop::Retry(retry)) => return Err(Stop::Retry(retry)),
                    _ => discovered = Some(set),
                }
                Ok(())
            };
            let mut ending = None;
            self.run_holding(held, Keep { undo: false, values: false }, &mut dry, &AdHoc, &mut ending);
            match ending {
                Some(Ending::Widen(more)) => held |= more,
                // It may panic on not finding what it would have written; what is known so far will do.
                None | Some(Ending::Panicked(_) | Ending::Aborted(_)) => return Ok(discovered),
                Some(Ending::Failed(error)) => return Err(error),
            }
        }
    }

    #[inline(always)]
    fn run_until_done(
        &self,
        mut needed: u64,
        undo: bool,
        mut run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
        origin: &impl Origin,
        widened: impl Fn(),
    ) -> Result<Executed, Error> {
        let mut keep = Keep { undo, values: origin.values(self) };
        loop {
            let mut ending = None;
            if let Some(lsn) = self.run_holding(needed, keep, &mut run, origin, &mut ending) {
                return Ok(Executed { outcome: Ok(()), lsn });
            }
            match ending.expect("a run that did not commit says why") {
                Ending::Aborted(executed) => return Ok(executed),
                Ending::Widen(more) => {
                    needed |= more;
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
    fn run_holding(
        &self,
        needed: u64,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // A run that needs no partition in particular gets the first.
        let needed = needed.max(1);
        let home = needed.trailing_zeros() as usize;
        if !needed.is_power_of_two() {
            // SAFETY: the tokens of `needed` are held.
            return self.holding(needed, || unsafe { self.attempt(needed, home, keep, run, origin, ending) });
        }
        let token = &self.cells[home].token;
        let mut waiter = Waiter::new();
        // SAFETY: the waiter is fresh, and stays here until it is released.
        if !unsafe { token.acquire_if_free(&raw mut waiter) } {
            return self.run_by_holder(home, keep, run, origin, ending);
        }
        // SAFETY: the token of `home` is held.
        let committed = unsafe { self.attempt(needed, home, keep, run, origin, ending) };
        // SAFETY: it was acquired with this waiter.
        unsafe { token.release(&raw mut waiter) };
        committed
    }

    /// As `run_holding`, where the one partition that is needed was taken a moment ago.
    #[cold]
    #[inline(never)]
    fn run_by_holder(
        &self,
        home: usize,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        let mut committed = None;
        let job = SendPtr((&raw mut committed, &raw mut *run, origin, &raw mut *ending));
        self.cells[home].token.run(move || {
            let job = &job;
            let (committed, run, origin, ending) = job.0;
            // SAFETY: the waiting thread keeps these in place until the job is done, and the token of `home` is held.
            unsafe { *committed = self.attempt(1 << home, home, keep, &mut *run, origin, &mut *ending) };
        });
        committed
    }

    /// Runs `work` while the tokens of `needed` are held, taken in ascending order.
    pub(crate) fn holding<O>(&self, needed: u64, work: impl FnOnce() -> O) -> O {
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
        for partition in (0..self.cells.len()).filter(|partition| needed >> partition & 1 == 1) {
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
        held: u64,
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
        let result = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the tokens of `held` are held.
            unsafe { prefetch(&mut transaction.scratch().lookups, &self.cells, held, home, origin) };
            let told = run(&mut transaction);
            transaction.outcome(told)?;
            if transaction.wrote && self.log.is_some() && !keep.values {
                origin.write_command(&mut transaction);
            }
            Ok(())
        }));
        let (wrote, scratch) = (transaction.wrote, transaction.scratch());
        let committed = match result {
            // SAFETY: the tokens of `held` are held.
            Ok(Ok(())) => match unsafe { self.commit(held, home, wrote, scratch) } {
                Ok(lsn) => Some(lsn),
                Err(error) => end(Ending::Failed(self.not_logged(error, keep, scratch))),
            },
            Ok(Err(stop)) => {
                scratch.undo.undo();
                // SAFETY: the tokens of `held` are held.
                end(unsafe { self.stopped(stop, held, home, wrote && !keep.undo) })
            }
            Err(panic) => {
                scratch.undo.undo();
                if wrote && !keep.undo {
                    self.stop(NOT_UNDONE.replace("{}", "panicked"));
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
    unsafe fn commit(&self, held: u64, home: usize, wrote: bool, scratch: &mut Scratch) -> Result<Lsn, LogError> {
        let mut last = Lsn::NONE;
        if wrote && let Some(appender) = &mut scratch.appender {
            last = appender.append(scratch.record.as_slice())?;
        }
        for at in ones(held) {
            // SAFETY: its token is held.
            let partition = unsafe { &mut *self.cells[at].partition() };
            if wrote {
                partition.last = last;
            } else {
                last = last.max(partition.last);
            }
        }
        // SAFETY: as above.
        unsafe { (*self.cells[home].partition()).counters.committed += 1 };
        Ok(last)
    }

    /// A change in memory that the log did not take: undone if it can be, else the database stops.
    #[cold]
    fn not_logged(&self, error: LogError, keep: Keep, scratch: &mut Scratch) -> Error {
        scratch.undo.undo();
        let too_large = matches!(error, LogError::TooLarge { .. });
        if !(keep.undo && too_large) {
            self.stop(error.to_string());
        }
        error.into()
    }

    /// The ending of a run that was undone, or, if it is `broken`, should have been.
    #[cold]
    unsafe fn stopped(&self, stop: Stop, held: u64, home: usize, broken: bool) -> Ending {
        // SAFETY: the tokens of `held`, `home` among them, are held.
        unsafe {
            let counters = &mut (*self.cells[home].partition()).counters;
            match stop {
                _ if broken => Ending::Failed(self.broken_promise(&stop)),
                Stop::Retry(Retry { partitions }) => {
                    counters.rerun += 1;
                    Ending::Widen(partitions)
                }
                Stop::Abort(abort) => {
                    counters.aborted += 1;
                    let lsn = ones(held).map(|at| (*self.cells[at].partition()).last).max().unwrap_or(Lsn::NONE);
                    Ending::Aborted(Executed { outcome: Err(abort), lsn })
                }
            }
        }
    }

    #[cold]
    fn broken_promise(&self, stop: &Stop) -> Error {
        let what = match stop {
            Stop::Abort(abort) => format!("aborted ({abort})"),
            Stop::Retry(_) => "needed a partition that it had not declared".to_owned(),
        };
        let reason = NOT_UNDONE.replace("{}", &what);
        self.stop(reason.clone());
        Error::Stopped { reason }
    }

    #[inline(always)]
    fn number<P: Procedure>(&self) -> Result<u16, Error> {
        let id = TypeId::of::<P>();
        match self.procedures.iter().find(|(known, _)| *known == id) {
            Some(&(_, number)) => Ok(number),
            None => Err(Error::UnknownProcedure { name: P::NAME }),
        }
    }
}

const NOT_UNDONE: &str = "a procedure {} after it had written, although it promised (`ABORTS`, `declare`) that this \
     cannot happen, so nothing was kept to undo it; open the database again to get the state without it, and correct \
     the promise";

/// Positions of the bits that are set.
#[inline(always)]
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < 64).then_some(at)
    })
}

/// Pointers that go to another thread with a job whose owner waits for it.
struct SendPtr<T>(T);
// SAFETY: the owner of what they point to waits until the job is done; the job runs in one thread.
unsafe impl<T> Send for SendPtr<T> {}
