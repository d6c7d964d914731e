//! The partitioned engine: runs procedures on the partitions they need and logs what they did.
//!
//! A run goes: declare the keys; take the token of the partition, or the tokens of several in ascending order (so no
//! two transactions wait for each other in a circle); prefetch the declared keys; run; append the log record while the
//! tokens are still held (so the order in the log is the order of execution); release. The caller waits for the force
//! after that, so a force never holds up a partition. A run that needs a partition it does not hold is undone and
//! run again with it.
//!
//! Serializable because a partition's transactions run one after the other, whole; phantoms cannot be.

use std::any::{Any, TypeId};
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::calls::{run_inbox, run_inbox_if_free, run_multi_inbox_if_free};
use super::cores::{Cores, serve};
use super::held::{Cell, Held, Hold, await_long_runs, hold_if_free, hold_or_delegate, holding};
use super::numbers::ProcedureNumbers;
use super::origin::{AdHoc, AnyBody, Origin, ProcedureCall};
use super::partition::Scratch;
use super::rehearsal::Rehearsals;
use super::run::{Cause, Failed, run_once};
use super::run_place::NOWHERE;
use super::transaction::{Changes, Keep, PartitionedTransaction};
use crate::answer::{Answer, run_in};
use crate::config::{Config, Execution, LogKind};
use crate::error::Error;
use crate::executed::{Counters, Executed, PartitionStats, RunningCall, TableUsage};
use crate::health::Health;
use crate::io::{Clock, OpeningProcess};
use crate::log::{Log, LogError, Lsn};
use crate::partitioned::log_records::values::VALUES;
use crate::procedure::{AbortReason, Aborts, Declared, PartitionSet, Partitions, Procedure, Retry, Stop};

/// Each sweep runs some calls of every partition that no thread holds; these are as many as a thread may have in flight
/// by default. Without a limit, threads that go on submitting would hold up a close.
const MAX_SWEEPS: usize = 4_096;

/// The partitions of a database, its log, and its state of health.
pub(crate) struct Engine {
    pub(crate) cells: Box<[Cell]>,
    /// `None` with [`Durability::None`].
    pub(crate) log: Option<Log>,
    pub(crate) log_kind: LogKind,
    /// Whether the record of a call has a digest of its changes.
    digests: bool,
    max_record_bytes: usize,
    pub(super) rehearsals: Rehearsals,
    pub(crate) clock: Box<dyn Clock>,
    pub(super) procedures: ProcedureNumbers,
    health: Health,
    /// The process with the threads that run calls.
    pub(super) process: OpeningProcess,
    pub(super) cores: Cores,
    /// Runs that touched a partition that their declaration, said to be complete, did not name.
    pub(crate) misdeclared: AtomicU64,
    /// Of each partition, the space of its tables when its token was last free for statistics.
    pub(super) known_usage: Mutex<Vec<Vec<TableUsage>>>,
    /// Names of procedures by their numbers, for messages.
    pub(crate) procedure_names: Vec<(u16, &'static str)>,
}

/// The end of a run that did not commit. It is large and rare, so the caller has a place for it.
pub(super) enum Ending {
    /// Undone; what it told counts, when the log is durable up to there.
    Aborted(AbortReason, Lsn),
    /// Undone; these partitions are needed too.
    Widen(PartitionSet),
    Panicked(Box<dyn Any + Send>),
    Failed(Error),
}

/// How a transaction ended, and up to where the log must be forced before anyone is told.
pub(super) type CallOutcome = Result<Lsn, (AbortReason, Lsn)>;

impl Engine {
    pub(crate) fn new(
        mut cells: Box<[Cell]>,
        log: Option<Log>,
        config: &Config,
        clock: Box<dyn Clock>,
        procedures: &[(TypeId, u16)],
    ) -> Result<Self, LogError> {
        let (log_kind, digests, cores) = (config.log, config.command_digests, Cores::new(config));
        if let Some(log) = &log {
            for cell in &mut cells {
                cell.scratch_mut().appender = Some(log.appender()?);
            }
        }
        let max_code = procedures.iter().map(|&(_, number)| RunningCall::procedure(number)).max().unwrap_or(0);
        let (procedures, health, misdeclared) =
            (ProcedureNumbers::new(procedures), Health::default(), AtomicU64::new(0));
        Ok(Self {
            rehearsals: Rehearsals::new(max_code as usize, config.rehearsals),
            max_record_bytes: log.as_ref().map_or(usize::MAX, Log::max_record_bytes),
            cells,
            log,
            log_kind,
            digests,
            clock,
            procedures,
            health,
            process: OpeningProcess::current(),
            cores,
            misdeclared,
            known_usage: Mutex::default(),
            procedure_names: Vec::new(),
        })
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

    /// Runs the calls left for a partition, in the thread for it, until `stop` is set and the thread is unparked.
    pub(crate) fn serve(&self, partition: usize, stop: &AtomicBool) {
        serve(&self.cells, partition, stop);
    }

    /// Runs some of the calls left in each inbox whose partition is free.
    pub(crate) fn sweep(&self) {
        for partition in 0..self.cells.len() {
            run_inbox_if_free(&self.cells, partition);
            run_multi_inbox_if_free(&self.cells, partition);
        }
    }

    /// Calls that threads ran for others, ever.
    pub(crate) fn handed_over(&self) -> u64 {
        Counters::sum(self.cells.iter().map(|cell| &cell.counters)).handed_over
    }

    /// Runs the calls left in all inboxes, as long as it finds the partitions free.
    pub(crate) fn run_left(&self) {
        let is_left = |cell: &Cell| !cell.inbox.is_empty() || !cell.multi_inbox.is_empty();
        let mut sweeps = 0;
        while self.cells.iter().any(is_left) && sweeps < MAX_SWEEPS {
            self.sweep();
            sweeps += 1;
        }
    }

    /// Counts of each partition, and where its calls run.
    pub(crate) fn partition_stats(&self) -> Vec<PartitionStats> {
        let stats = |cell: &Cell| {
            let Counters { committed, aborted, handed_over, .. } = Counters::sum([&cell.counters]);
            let core = Some(cell.place.core()).filter(|&core| core != NOWHERE);
            PartitionStats { core, is_busy: !cell.is_free(), committed, aborted, handed_over }
        };
        self.cells.iter().map(stats).collect()
    }

    /// Which thread runs submitted calls now.
    pub(crate) fn execution(&self) -> Execution {
        self.cores.in_use()
    }

    /// Runs a procedure, whose output or abort becomes the `answer`. Its effects are visible and in the log's order
    /// when this returns, and durable at the position that it gives.
    #[inline]
    pub(crate) fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error> {
        let (needed, unknown) = self.declared(procedure)?;
        self.execute_declared(procedure, needed, unknown, true, answer)
    }

    /// The partitions that a procedure declares, and whether it may need others.
    #[inline(always)]
    pub(super) fn declared<P: Procedure>(&self, procedure: &P) -> Result<(PartitionSet, bool), Error> {
        // A run that needs no partition in particular gets the first; a database with one partition need not ask.
        if self.cells.len() == 1 {
            return Ok((PartitionSet::of(0), false));
        }
        // With one, a nested call finds its token taken.
        self.health.refuse_nested()?;
        let mut partitions = Partitions::none(self.cells.len());
        let unknown = procedure.declare(&mut partitions) == Declared::Unknown;
        Ok((partitions.set, unknown))
    }

    /// Runs a procedure once on a partition that is held.
    pub(super) fn run_held<P: Procedure>(
        &self,
        hold: Hold<'_>,
        procedure: &P,
        answer: &mut Answer<P::Output>,
    ) -> Result<Lsn, Ending> {
        let Some(number) = self.procedures.of::<P>() else {
            return Err(Ending::Failed(Error::UnknownProcedure { name: P::NAME }));
        };
        let call = ProcedureCall { procedure, number };
        let undo = P::ABORTS == Aborts::Anytime || self.log.as_ref().is_some_and(Log::is_room_scarce);
        let keep = Keep { undo, values: call.values(self.log.as_ref().map(|_| self.log_kind)), places: false };
        let mut ending = None;
        let mut run = body_of(procedure, answer);
        match self.attempt(hold, keep, &mut run, &call, &mut ending) {
            Some(lsn) => Ok(lsn),
            None => Err(ending.expect("a run that did not commit says why")),
        }
    }

    /// As `execute`, of a procedure that was asked what it declares. `inbox_first`: calls that were left for the
    /// partition run before it, if it is a single one.
    #[inline]
    pub(super) fn execute_declared<P: Procedure>(
        &self,
        procedure: &P,
        needed: PartitionSet,
        unknown: bool,
        inbox_first: bool,
        answer: &mut Answer<P::Output>,
    ) -> Result<Lsn, Error> {
        let Some(number) = self.procedures.of::<P>() else { return Err(Error::UnknownProcedure { name: P::NAME }) };
        let call = ProcedureCall { procedure, number };
        let run = body_of(procedure, answer);
        let undo = P::ABORTS == Aborts::Anytime;
        let ended = if unknown || !undo && self.log.as_ref().is_some_and(Log::is_room_scarce) {
            self.execute_keeping_undo(procedure, needed, unknown, run, &call)?
        } else {
            self.run_until_done(needed, undo, inbox_first, run, &call, || {
                self.misdeclared.fetch_add(1, Ordering::Relaxed);
            })?
        };
        ended.or_else(|(abort, lsn)| {
            *answer = Answer::Failed(abort.into());
            Ok(lsn)
        })
    }

    /// Runs a closure as a transaction, with the changes logged as values whatever the log is.
    pub(crate) fn execute_adhoc(
        &self,
        mut run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
    ) -> Result<Executed, Error> {
        Ok(match self.run_keeping_undo(PartitionSet::EMPTY, &mut run, &AdHoc, || {})? {
            Ok(lsn) => Executed { outcome: Ok(()), lsn },
            Err((abort, lsn)) => Executed { outcome: Err(abort), lsn },
        })
    }

    /// Runs a transaction until it is done, with undo kept; compiled once, not for each procedure.
    pub(super) fn run_keeping_undo(
        &self,
        needed: PartitionSet,
        run: &mut AnyBody<'_>,
        origin: &dyn Origin,
        widened: impl Fn(),
    ) -> Result<CallOutcome, Error> {
        self.run_until_done(needed, true, true, run, &origin, widened)
    }

    #[inline(always)]
    fn run_until_done(
        &self,
        mut needed: PartitionSet,
        undo: bool,
        inbox_first: bool,
        mut run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
        origin: &impl Origin,
        widened: impl Fn(),
    ) -> Result<CallOutcome, Error> {
        let mut keep = Keep { undo, values: origin.values(self.log.as_ref().map(|_| self.log_kind)), places: false };
        loop {
            let mut ending = None;
            if let Some(lsn) = self.run_holding(needed, keep, inbox_first, &mut run, origin, &mut ending) {
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
        inbox_first: bool,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // A run that needs no partition in particular gets the first.
        let needed = needed.or_if_empty(0);
        let alone = needed.lowest();
        let is_behind = inbox_first && self.cores.has_multi_before(&self.cells, needed);
        let held_alone = (needed.is_single() && !is_behind).then(|| {
            hold_if_free(&self.cells, alone, |mut token| {
                if inbox_first && !self.cells[alone].inbox.is_empty() {
                    run_inbox(&mut token.hold(), alone, None);
                }
                // Each with a witness of its own, which need not stay in memory for the other.
                if self.is_rehearsed(keep, origin) {
                    return self.attempt_rehearsed(token.hold(), keep, run, origin, ending);
                }
                self.attempt_noted(token.hold(), keep, run, origin, ending)
            })
        });
        match held_alone.flatten() {
            Some(committed) => committed,
            None => self.run_waiting(needed, keep, run, origin, ending),
        }
    }

    /// As `run_holding`, where several partitions are needed, or the one was taken a moment ago.
    #[cold]
    #[inline(never)]
    fn run_waiting(
        &self,
        needed: PartitionSet,
        keep: Keep,
        mut run: &mut AnyBody<'_>,
        origin: &dyn Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        // Asked before waiting, too: what is refused need not wait for a transaction that may not end.
        if let Err(refused) = self.health.refuse_nested().and_then(|()| self.check()) {
            *ending = Some(Ending::Failed(refused));
            return None;
        }
        self.cores.await_multi(&self.cells, needed);
        if !needed.is_single() {
            self.cores.await_left(&self.cells, needed);
            await_long_runs(&self.cells, needed);
            return self.holding(needed, |hold| self.attempt(hold, keep, &mut run, &origin, ending));
        }
        let mut committed = None;
        hold_or_delegate(&self.cells, needed.lowest(), |mut hold| {
            run_inbox(&mut hold, needed.lowest(), None);
            committed = self.attempt(hold, keep, &mut run, &origin, ending);
        });
        committed
    }

    /// Runs `work` while the partitions of `needed` are held.
    pub(crate) fn holding<O>(&self, needed: PartitionSet, work: impl FnOnce(Hold<'_>) -> O) -> O {
        holding(&self.cells, needed, work)
    }

    /// Runs once and commits or undoes.
    #[inline(always)]
    fn attempt(
        &self,
        hold: Hold<'_>,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        if self.is_rehearsed(keep, origin) {
            return self.attempt_rehearsed(hold, keep, run, origin, ending);
        }
        self.attempt_noted(hold, keep, run, origin, ending)
    }

    /// Whether a rehearsal comes before the run.
    #[inline(always)]
    fn is_rehearsed(&self, keep: Keep, origin: &impl Origin) -> bool {
        self.logs_command(keep, origin) && self.rehearsals.is_due(origin.code())
    }

    /// Rehearses a run, and makes it. A function of its own, because a witness whose address is taken stays in memory.
    #[cold]
    #[inline(never)]
    fn attempt_rehearsed(
        &self,
        mut hold: Hold<'_>,
        keep: Keep,
        mut run: &mut AnyBody<'_>,
        origin: &dyn Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        let running = &hold.cell(hold.held.set().lowest()).counters.running;
        running.set(origin.code());
        let rehearsed = self.check().and_then(|()| self.rehearsals.rehearse(&*self.clock, &mut hold, run, origin));
        running.set(RunningCall::NOTHING);
        if let Err(refused) = rehearsed {
            *ending = Some(Ending::Failed(refused));
            return None;
        }
        self.attempt_noted(hold, keep, &mut run, &origin, ending)
    }

    /// Whether the record of a run is that of its call.
    #[inline(always)]
    fn logs_command(&self, keep: Keep, origin: &impl Origin) -> bool {
        self.log.is_some() && !keep.values && origin.is_counted()
    }

    /// Runs once, noted as what runs there, and commits or undoes.
    #[inline(always)]
    fn attempt_noted(
        &self,
        hold: Hold<'_>,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        let running = &hold.cell(hold.held.set().lowest()).counters.running;
        running.set(origin.code());
        let committed = self.run_and_commit(hold, keep, run, origin, ending);
        running.set(RunningCall::NOTHING);
        committed
    }

    #[inline(always)]
    fn run_and_commit(
        &self,
        hold: Hold<'_>,
        keep: Keep,
        run: &mut (impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send),
        origin: &impl Origin,
        ending: &mut Option<Ending>,
    ) -> Option<Lsn> {
        let mut end = |how: Ending| {
            *ending = Some(how);
            None
        };
        // Asked under the tokens: the transaction before this one may have left half of itself behind.
        if let Err(closed) = self.check() {
            return end(Ending::Failed(closed));
        }
        let log_command = self.logs_command(keep, origin);
        let collected = Keep { values: keep.values || log_command && self.digests, ..keep };
        if collected.values {
            // Changes that are collected for a digest are no record.
            let max_bytes = if keep.values { self.max_record_bytes } else { usize::MAX };
            hold.scratch.record.begin(VALUES, max_bytes);
        }
        let mut transaction = PartitionedTransaction::new(hold, &*self.clock, collected);
        let ended = run_once(&mut transaction, origin, |running| {
            let returned = run(running);
            running.outcome(returned)?;
            if running.changes.wrote && log_command {
                origin.write_command(running, self.max_record_bytes)?;
            }
            Ok(())
        });
        let PartitionedTransaction { held, changes: Changes { scratch, wrote, .. }, .. } = &mut transaction;
        let committed = match ended {
            Ok(()) => match Self::commit(held, *wrote, scratch, origin) {
                Ok(lsn) => Some(lsn),
                Err(error) => end(Ending::Failed(self.not_logged(error, keep, scratch, origin.name()))),
            },
            Err(Failed { cause: Cause::Stopped(_), .. }) if scratch.record.is_too_large() => {
                let most = self.max_record_bytes;
                let too_large = LogError::TooLarge { bytes: most + 1, most };
                end(Ending::Failed(self.not_logged(too_large, keep, scratch, origin.name())))
            }
            Err(failed) => end(self.failed(failed, held, origin)),
        };
        scratch.undo.clear();
        scratch.record.clear();
        committed
    }

    /// Appends the record, if anything was changed; the position up to which the log must be forced before the outcome
    /// is answered.
    #[inline(always)]
    fn commit(held: &mut Held<'_>, wrote: bool, scratch: &mut Scratch, origin: &impl Origin) -> Result<Lsn, LogError> {
        let mut last = Lsn::NONE;
        if wrote && let Some(appender) = &mut scratch.appender {
            last = appender.append(scratch.record.as_slice())?;
        }
        if origin.is_counted() {
            held.counters().committed.add_one();
        }
        if !held.set().is_single() {
            return Ok(Self::note_last(held, wrote, last, origin.is_counted()));
        }
        let home = held.home();
        if wrote {
            home.last = last;
        }
        Ok(home.last)
    }

    /// Counts a transaction on several partitions, and notes the position of what they changed; the one to be waited
    /// for.
    #[cold]
    fn note_last(held: &mut Held<'_>, wrote: bool, mut last: Lsn, is_counted: bool) -> Lsn {
        if is_counted {
            held.counters().multi.add_one();
        }
        for (_, partition) in held.partitions() {
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
    fn not_logged(&self, error: LogError, keep: Keep, scratch: &mut Scratch, name: &'static str) -> Error {
        scratch.undo.undo();
        if !matches!(error, LogError::TooLarge { .. } | LogError::NoRoom { .. }) {
            self.stop(error.to_string());
        } else if !keep.undo {
            let reason = format!("{error}{TOO_LARGE_TO_STAY}");
            self.stop(reason.clone());
            return Error::Stopped { reason };
        }
        match error {
            LogError::TooLarge { most, .. } => Error::TooLarge { name, max_bytes: most },
            error => error.into(),
        }
    }

    /// The ending of a run that was undone, or, if a promise of its procedure is broken, should have been.
    #[cold]
    fn failed(&self, failed: Failed, held: &mut Held<'_>, origin: &dyn Origin) -> Ending {
        let broken = failed.broken_promise(origin.name());
        if let Some(broken) = &broken {
            self.stop(broken.to_string());
        }
        let stop = match (failed.cause, broken) {
            (Cause::Panicked(panic), _) => return Ending::Panicked(panic),
            (Cause::Stopped(_), Some(broken)) => return Ending::Failed(broken.into()),
            (Cause::Stopped(stop), None) => stop,
        };
        match AbortReason::of(stop) {
            Err(Retry { partitions }) => {
                if origin.is_counted() {
                    held.counters().rerun.add_one();
                }
                Ending::Widen(partitions)
            }
            Ok(reason) => {
                if origin.is_counted() {
                    held.counters().aborted.add_one();
                }
                let last = held.partitions().map(|(_, partition)| partition.last).max();
                Ending::Aborted(reason, last.unwrap_or(Lsn::NONE))
            }
        }
    }
}

/// A procedure's body, which puts its output into the `answer`. One closure for all callers: so the body has a single
/// caller, and is inlined there.
fn body_of<'r, P: Procedure>(
    procedure: &'r P,
    answer: &'r mut Answer<P::Output>,
) -> impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send + 'r {
    |transaction| run_in(answer, procedure, transaction)
}

/// Follows what the log says of a record.
const TOO_LARGE_TO_STAY: &str = "; the procedure promises by `ABORTS` that its changes need not be kept to undo them, \
     so the database cannot go on with them: open it again to get the state without them, and change less in one \
     transaction, or promise `Anytime`";
