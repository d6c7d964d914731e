//! How a procedure runs as a transaction.
//!
//! A run goes: take a session; run the procedure, which locks what it touches and logs what it changes; append the
//! commit record; release the locks; give the session back. The caller waits for the force after that: so a lock is not
//! held during a force. That is safe because the log is one sequence: a transaction that has read what is not durable
//! yet has a later commit record, or, if it has only read, waits for the last commit record that there was when it
//! ended.
//!
//! A run that was chosen to end a deadlock, or that waited too long, is rolled back and restarted, after a pause that
//! grows with each attempt. A procedure is deterministic code without outside effects, so a restart is not visible.

use std::any::{Any, TypeId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::answer::{Answer, run_in};
use crate::classic::engine::prepared::DecisionJournal;
use crate::classic::engine::sessions::Sessions;
use crate::classic::engine::{Engine, TreeUndo};
use crate::classic::ids::TxnId;
use crate::classic::lock::Locks;
use crate::classic::page::miss;
use crate::classic::recovery::InDoubt;
use crate::classic::stack::{Session, Stack, StackLocks, Standard};
use crate::classic::transaction::{DeclaredFetch, DeclaredPart, FetchStage, RunFailure, StackTransaction};
use crate::classic::two_stage::{Closures, EndedStage, Stage, Stages, ThreadWaits};
use crate::classic::wal::forms::{Device, Logs, WalDevice};
use crate::classic::wal::transaction::{Savepoint, Undoable};
use crate::config::FetchMethod;
use crate::error::Error;
use crate::executed::{Executed, PreparedTransaction, RunningCall};
use crate::failure::{BrokenPromise, FOREIGN_RETRY};
use crate::log::Lsn;
use crate::procedure::{
    AbortReason, Aborts, Declared, DryRun, MAX_ACCESSES, PrivateWrites, Procedure, ReadWriteSet, Stop,
};
use crate::record::{Timestamp, mix};

/// The pause before a run is repeated for the first time; each further one may be twice as long.
const FIRST_PAUSE_US: u64 = 20;
/// No pause is longer.
const MAX_PAUSE_US: u64 = 5_000;

/// How a run ended.
pub(super) enum Attempt {
    /// In a fetch stage: nothing has happened.
    Fetched,
    Done(Executed),
    Again,
    Panicked(Box<dyn Any + Send>),
    Failed(Error),
}

/// What the runs of one execution have in common, and the stage of the next one.
struct ExecutionState {
    now: Option<Timestamp>,
    random: u64,
    /// How often it was run again, because of a deadlock or a timeout.
    repeated: u64,
    /// The stage of the next run; after a run, the stage in which it ended.
    stage: Stage,
    /// The stage in which the last run began.
    begun: Stage,
    /// Accesses of the last operate stage.
    accesses: u64,
    /// Most accesses of a fetch stage.
    fetches: u64,
    /// Whether a fetch stage may end with what is declared.
    trusts_declaration: bool,
    /// Of the last run: whether it was a fetch stage that ended so.
    is_declared: bool,
    /// Of the last run: when it became a fetch stage, if it did.
    converted: Option<ThreadWaits>,
    /// Whether the last run had changed rows by then.
    has_lost_changes: bool,
}

/// What a transaction runs, what it declares, and how it ends when it has run.
pub(super) struct ProcedureBody<R, D, E> {
    pub(super) run: R,
    pub(super) declare: D,
    pub(super) end: E,
}

/// The declaration of what declares nothing.
fn nothing<S: Stack>(_set: &mut DeclaredFetch<'_, '_, S>) -> Declared {
    Declared::Unknown
}

impl<S: Stack> Engine<S> {
    /// Runs a procedure, whose output or abort becomes the `answer`. Its effects are visible and in the log's order
    /// when this returns, and durable at the position that it gives.
    #[inline]
    pub(crate) fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error> {
        let at = self.position_of::<P>()?;
        let body = ProcedureBody {
            run: |transaction: &mut StackTransaction<'_, S>| run_in(answer, procedure, transaction),
            declare: |set: &mut DeclaredFetch<'_, '_, S>| procedure.declare(set),
            end: |session: &mut Session<S>| self.commit(session),
        };
        let executed = self.execute_promising(Some(at), P::NAME, P::ABORTS, body)?;
        if let Err(reason) = executed.outcome {
            *answer = Answer::Failed(reason.into());
        }
        Ok(executed.lsn)
    }

    #[inline(always)]
    pub(super) fn position_of<P: Procedure>(&self) -> Result<usize, Error> {
        let position = self.procedures.iter().position(|known| known.id == TypeId::of::<P>());
        position.ok_or(Error::UnknownProcedure { name: P::NAME })
    }

    /// The part of a procedure's run that must be undoable. A log needs all of it, and so does a transaction that may
    /// be in the way of others. Without either, a procedure that promises not to abort after a write needs it only
    /// within an access; if it breaks the promise, the engine stops.
    const fn undoable(aborts: Aborts) -> Undoable {
        if <S::Logs as Logs>::Device::RECORDS || !S::Locks::ALONE || matches!(aborts, Aborts::Anytime) {
            Undoable::Transaction
        } else {
            Undoable::Nothing { changed: false }
        }
    }

    /// Runs a closure as a transaction.
    #[inline]
    pub(crate) fn execute_adhoc(
        &self,
        run: impl FnMut(&mut StackTransaction<'_, S>) -> Result<(), Stop>,
    ) -> Result<Executed, Error> {
        let closures = TypeId::of::<Closures>();
        let at = self.procedures.iter().position(|known| known.id == closures);
        let body = ProcedureBody { run, declare: nothing, end: |session: &mut Session<S>| self.commit(session) };
        self.execute_promising(at, Closures::NAME, Aborts::Anytime, body)
    }

    #[inline]
    pub(super) fn execute_promising(
        &self,
        at: Option<usize>,
        name: &'static str,
        aborts: Aborts,
        mut body: ProcedureBody<
            impl FnMut(&mut StackTransaction<'_, S>) -> Result<(), Stop>,
            impl Fn(&mut DeclaredFetch<'_, '_, S>) -> Declared,
            impl Fn(&mut Session<S>) -> Attempt,
        >,
    ) -> Result<Executed, Error> {
        let staged = at.filter(|at| S::TWO_STAGE && self.procedures[*at].is_staged());
        let _executing = S::TWO_STAGE.then(miss::execute);
        let mut repeated = 0;
        let mut stages = None;
        loop {
            let mut session = self.sessions.take()?;
            self.check()?;
            session.counters.running.set(at.map_or(RunningCall::UNNAMED, |at| RunningCall::procedure(at as u16)));
            session.seed = session.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut execution = ExecutionState {
                now: None,
                random: session.seed,
                repeated,
                stage: Stage::Operate,
                begun: Stage::Operate,
                accesses: 0,
                fetches: 0,
                trusts_declaration: false,
                is_declared: false,
                converted: None,
                has_lost_changes: false,
            };
            if let Some(at) = staged {
                let stages = stages.get_or_insert_with(|| Stages::new(self, &session, at));
                let stage = stages.begin(self, repeated > 0);
                self.begin_stage(&session, stages, stage, &mut execution);
            }
            let attempt = loop {
                session.journal.begin(Self::undoable(aborts));
                let attempt = self.attempt(&mut session, (name, aborts), &mut execution, &mut body);
                let Some(stages) = &mut stages else { break attempt };
                if !self.has_next_stage(&mut session, stages, &mut execution, &attempt) {
                    break attempt;
                }
            };
            let seed = session.seed;
            drop(session);
            match attempt {
                Attempt::Done(executed) => return Ok(executed),
                Attempt::Again => repeated += 1,
                Attempt::Panicked(panic) => resume_unwind(panic),
                Attempt::Failed(error) => return Err(error),
                Attempt::Fetched => unreachable!("a fetch stage has a next one"),
            }
            pause(repeated, seed);
        }
    }

    #[inline(never)]
    fn begin_stage(&self, session: &Session<S>, stages: &Stages, stage: Stage, execution: &mut ExecutionState) {
        (execution.stage, execution.begun) = (stage, stage);
        execution.fetches = stages.most_fetches(self, session, stage);
        execution.trusts_declaration = stages.trusts_declaration(self, session);
    }

    /// Ends a stage, and begins the next one if there is one.
    #[inline(never)]
    fn has_next_stage(
        &self,
        session: &mut Session<S>,
        stages: &mut Stages,
        execution: &mut ExecutionState,
        attempt: &Attempt,
    ) -> bool {
        let ended = EndedStage {
            begun: execution.begun,
            ended: execution.stage,
            accesses: execution.accesses,
            converted: execution.converted,
            has_lost_changes: execution.has_lost_changes,
            is_declared: execution.is_declared,
            is_last: !matches!(attempt, Attempt::Again),
            has_failed: matches!(attempt, Attempt::Failed(_)),
        };
        match stages.end(self, session, ended) {
            Some(next) => {
                self.begin_stage(session, stages, next, execution);
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn transaction<'e>(&'e self, session: &'e mut Session<S>, execution: &ExecutionState) -> StackTransaction<'e, S> {
        let ExecutionState { now, random, repeated, stage, fetches: fetches_left, .. } = *execution;
        StackTransaction {
            engine: self,
            session,
            now,
            random,
            repeated,
            ended: None,
            stage,
            accesses: 0,
            fetches_left,
            converted: None,
            writes: None,
            has_lost_changes: false,
        }
    }

    /// Runs once, and ends as the body says or rolls back; unless it was or became a fetch stage.
    #[inline]
    fn attempt(
        &self,
        session: &mut Session<S>,
        (name, aborts): (&'static str, Aborts),
        execution: &mut ExecutionState,
        body: &mut ProcedureBody<
            impl FnMut(&mut StackTransaction<'_, S>) -> Result<(), Stop>,
            impl Fn(&mut DeclaredFetch<'_, '_, S>) -> Declared,
            impl Fn(&mut Session<S>) -> Attempt,
        >,
    ) -> Attempt {
        let ExecutionState { stage, trusts_declaration, .. } = *execution;
        let mut transaction = self.transaction(session, execution);
        let mut fetched = DeclaredPart::Some;
        if S::TWO_STAGE {
            miss::begin_run(self.locks.number(&transaction.session.owner));
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            if S::TWO_STAGE && stage == Stage::Fetch && self.fetch == FetchMethod::Batches {
                fetched = FetchStage(&mut transaction).declared(&body.declare).trusted(trusts_declaration);
            }
            if fetched == DeclaredPart::Some { (body.run)(&mut transaction) } else { Ok(()) }
        }));
        let StackTransaction { ended, session, .. } = transaction;
        if S::TWO_STAGE {
            (execution.now, execution.stage, execution.accesses) =
                (transaction.now, transaction.stage, transaction.accesses);
            (execution.is_declared, execution.converted) = (fetched == DeclaredPart::All, transaction.converted);
            execution.has_lost_changes = transaction.has_lost_changes;
            if execution.stage == Stage::Fetch {
                return self.end_of_fetch(session, name, ended);
            }
        }
        match (result, ended) {
            (Ok(Ok(())), None) => (body.end)(session),
            (result, ended) => self.end_of_stopped(session, (name, aborts), result, ended),
        }
    }

    /// The end of a run that did not end well: it is rolled back.
    #[cold]
    fn end_of_stopped(
        &self,
        session: &mut Session<S>,
        (name, aborts): (&'static str, Aborts),
        result: thread::Result<Result<(), Stop>>,
        ended: Option<RunFailure>,
    ) -> Attempt {
        let was_ended = ended.is_some();
        let attempt = match (result, ended) {
            (Err(panic), _) => Attempt::Panicked(panic),
            (Ok(_), Some(RunFailure::Again)) => Attempt::Again,
            (Ok(_), Some(RunFailure::Failed(error))) => Attempt::Failed(error),
            (Ok(Ok(())), None) => unreachable!("a run that ended well is not rolled back"),
            (Ok(Err(stop)), None) => match AbortReason::of(stop) {
                Ok(reason) => Attempt::Done(self.told(Err(reason))),
                Err(_) => Attempt::Panicked(Box::new(FOREIGN_RETRY)),
            },
        };
        // A broken promise stops this engine even where changes are kept; a run that the engine ended broke none.
        let (is_final, wrote) = (session.journal.is_final(), session.journal.changes() > 0);
        if !is_final && let Err(error) = self.abort(session) {
            return Attempt::Failed(error);
        }
        let stopped_itself = !was_ended && matches!(attempt, Attempt::Done(_) | Attempt::Panicked(_));
        if is_final || aborts != Aborts::Anytime && wrote && stopped_itself {
            return self.broken(name, attempt);
        }
        match &attempt {
            Attempt::Done(_) => session.counters.aborted.add_one(),
            Attempt::Again => session.counters.rerun.add_one(),
            Attempt::Panicked(_) | Attempt::Failed(_) | Attempt::Fetched => {}
        }
        attempt
    }

    /// The end of a fetch stage: what it answered, or stopped or panicked with, came from what it read without locks.
    fn end_of_fetch(&self, session: &Session<S>, name: &'static str, ended: Option<RunFailure>) -> Attempt {
        if let Some(RunFailure::Failed(error)) = ended {
            return Attempt::Failed(error);
        }
        if session.journal.transaction() != TxnId::NONE {
            let reason = format!("a fetch stage of `{name}` has changed something");
            self.health.stop(reason.clone());
            return Attempt::Failed(Error::Stopped { reason });
        }
        Attempt::Fetched
    }

    #[inline(always)]
    fn commit(&self, session: &mut Session<S>) -> Attempt {
        self.name_reader(session);
        let committed = session.journal.commit();
        if let Ok(lsn) = committed {
            // Before the locks are released: a later reader of these changes must wait for it.
            self.note_commit(lsn);
        }
        self.release_all(session);
        match committed {
            Ok(lsn) => {
                session.counters.committed.add_one();
                let executed = if lsn == Lsn::NONE { self.told(Ok(())) } else { Executed { outcome: Ok(()), lsn } };
                Attempt::Done(executed)
            }
            // Its changes are neither durable nor undone.
            Err(error) => {
                self.health.stop(error.to_string());
                Attempt::Failed(error)
            }
        }
    }

    #[inline(always)]
    pub(super) fn note_commit(&self, lsn: Lsn) {
        self.last_commit.fetch_max(lsn.0, Ordering::AcqRel);
    }

    /// If the transaction, which is about to end, has read the disk: tells the locks its number, for those who wait.
    #[inline(always)]
    pub(super) fn name_reader(&self, session: &mut Session<S>) {
        if S::TWO_STAGE && miss::has_read() {
            self.locks.set_txn(&mut session.owner, session.journal.transaction());
        }
    }

    /// The transaction has ended.
    #[inline(always)]
    fn release_all(&self, session: &mut Session<S>) {
        if S::TWO_STAGE {
            miss::end_run(|reads| self.locks.attribute(&session.owner, reads));
        }
        self.locks.release_all(&mut session.owner);
        // Its number is not that of the next one.
        self.locks.set_txn(&mut session.owner, TxnId::NONE);
    }

    /// An outcome that changed nothing: to be told when all that it may have read is durable.
    fn told(&self, outcome: Result<(), AbortReason>) -> Executed {
        Executed { outcome, lsn: Lsn(self.last_commit.load(Ordering::Acquire)) }
    }

    /// The end of a run that stopped after a write although its procedure promised not to: the engine stops.
    #[cold]
    fn broken(&self, procedure: &'static str, attempt: Attempt) -> Attempt {
        let (reason, attempt) = match attempt {
            Attempt::Panicked(panic) => {
                (BrokenPromise::panicked(procedure, &*panic).to_string(), Attempt::Panicked(panic))
            }
            Attempt::Done(Executed { outcome: Err(reason), .. }) => {
                let broken = BrokenPromise::stopped(procedure, &reason.into());
                (broken.to_string(), Attempt::Failed(broken.into()))
            }
            Attempt::Failed(error) => (error.to_string(), Attempt::Failed(error)),
            Attempt::Done(_) | Attempt::Again | Attempt::Fetched => unreachable!("none of these breaks a promise"),
        };
        self.health.stop(reason);
        attempt
    }

    /// Rolls the transaction back, for which it must have kept what it needs, and releases its locks.
    #[cold]
    pub(crate) fn abort(&self, session: &mut Session<S>) -> Result<(), Error> {
        self.name_reader(session);
        let _reading = miss::reading_of_any();
        let rolled_back = session.journal.abort(&self.pages, &mut TreeUndo(self));
        self.release_all(session);
        rolled_back.inspect_err(|error| self.health.stop(error.to_string()))
    }

    /// Rolls a transaction back to a savepoint; it goes on.
    #[cold]
    pub(crate) fn roll_back(&self, session: &mut Session<S>, to: Savepoint) -> Result<(), Error> {
        let _reading = miss::reading_of_any();
        let rolled_back = session.journal.roll_back(to, &self.pages, &mut TreeUndo(self));
        rolled_back.inspect_err(|error| self.health.stop(error.to_string()))
    }

    /// Runs a procedure without changing anything: the keys that it would read and write. It reads under locks, so
    /// that its rows are of one moment.
    pub(crate) fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        let mut set = ReadWriteSet::new(1);
        let mut is_exhausted = false;
        let run = |transaction: &mut StackTransaction<'_, S>| {
            set = ReadWriteSet::new(1);
            let mut writes = PrivateWrites::default();
            let mut dry_run = DryRun::new(transaction, &mut writes, &mut set);
            let ended = procedure.run(&mut dry_run);
            is_exhausted = dry_run.is_exhausted();
            match ended {
                Err(Stop::Retry(retry)) if !is_exhausted => Err(Stop::Retry(retry)),
                _ => Ok(()),
            }
        };
        let body = ProcedureBody { run, declare: nothing, end: |session: &mut Session<S>| self.end_uncounted(session) };
        self.execute_promising(None, P::NAME, Aborts::Anytime, body)?;
        if is_exhausted { Err(Error::DryRunTooLong { name: P::NAME, accesses: MAX_ACCESSES }) } else { Ok(set) }
    }

    /// Ends a run that has changed nothing and is not counted.
    fn end_uncounted(&self, session: &mut Session<S>) -> Attempt {
        match self.abort(session) {
            Ok(()) => Attempt::Done(self.told(Ok(()))),
            Err(error) => Attempt::Failed(error),
        }
    }
}

impl Engine<Standard> {
    /// Runs a procedure and prepares its transaction, unless it aborts; the output or the abort becomes the `answer`.
    /// It is prepared for certain once the log is durable up to the position that is returned.
    pub(crate) fn prepare<P: Procedure>(
        &self,
        name: &str,
        procedure: &P,
        answer: &mut Answer<P::Output>,
    ) -> Result<Lsn, Error> {
        let at = self.position_of::<P>()?;
        let mut claim = self.prepared.claim(name)?;
        self.with_decision_journal(|_| Ok(()))?;
        let body = ProcedureBody {
            run: |transaction: &mut StackTransaction<'_, Standard>| run_in(answer, procedure, transaction),
            declare: |set: &mut DeclaredFetch<'_, '_, Standard>| procedure.declare(set),
            end: |session: &mut Session<Standard>| self.suspend(session, name),
        };
        let executed = self.execute_promising(Some(at), P::NAME, P::ABORTS, body)?;
        match executed.outcome {
            Ok(()) => claim.leave(),
            Err(reason) => *answer = Answer::Failed(reason.into()),
        }
        Ok(executed.lsn)
    }

    /// The end of a run that prepares its transaction.
    fn suspend(&self, session: &mut Session<Standard>, name: &str) -> Attempt {
        self.name_reader(session);
        let mut locks = Vec::new();
        session.owner.encode_locks(&mut locks);
        match session.journal.prepare(name.as_bytes(), &locks) {
            Ok(lsn) => match self.put_aside(session, name) {
                Ok(()) => Attempt::Done(Executed { outcome: Ok(()), lsn }),
                Err(error) => {
                    // It is in the log, and the next opening finds it.
                    let reason = error.to_string();
                    self.health.stop(reason.clone());
                    Attempt::Failed(Error::OutcomeUnknown { reason })
                }
            },
            // Nothing is promised.
            Err(error) => Attempt::Failed(self.abort(session).err().unwrap_or(error)),
        }
    }

    /// Takes a prepared transaction out of its session.
    fn put_aside(&self, session: &mut Session<Standard>, name: &str) -> Result<(), Error> {
        let undo_bytes = session.journal.undo_bytes();
        self.with_decision_journal(|decisions| {
            decisions.keep_room(undo_bytes);
            Ok(())
        })?;
        let suspended = session.journal.suspend()?;
        miss::end_run(|reads| self.locks.attribute(&session.owner, reads));
        let mut owner = self.locks.owner();
        self.locks.hand_over(&mut session.owner, &mut owner);
        self.locks.set_txn(&mut session.owner, TxnId::NONE);
        self.prepared.add(name, suspended, owner);
        Ok(())
    }

    fn with_decision_journal<O>(
        &self,
        work: impl FnOnce(&mut DecisionJournal<WalDevice>) -> Result<O, Error>,
    ) -> Result<O, Error> {
        self.prepared.with_journal(&self.logs, &self.transactions, work)
    }

    /// Commits a prepared transaction, or rolls it back; durably once the log is up to the position that is returned.
    /// Also while a close or a bulk load waits for transactions: these may wait for it.
    pub(crate) fn end_prepared(&self, name: &str, commit: bool) -> Result<Lsn, Error> {
        self.with_decision_journal(|decisions| {
            self.health.check_running()?;
            let mut undecided = self.prepared.take(name)?;
            let undo_bytes = undecided.suspended.undo_bytes();
            decisions.journal.resume(undecided.suspended);
            let ended = if commit {
                decisions.journal.commit()
            } else {
                let _reading = miss::reading_of_any();
                decisions.journal.abort(&self.pages, &mut TreeUndo(self)).map(|()| self.log().appended())
            };
            let lsn = ended.inspect_err(|error| self.health.stop(error.to_string()))?;
            // Before the locks are released: a later reader of these changes must wait for it.
            self.note_commit(lsn);
            self.locks.release_all(&mut undecided.owner);
            decisions.free_room(undo_bytes);
            self.prepared.end(name, commit);
            Ok(lsn)
        })
    }

    /// Adds what recovery found in doubt.
    pub(super) fn add_in_doubt(&self, in_doubt: Vec<InDoubt>) -> Result<(), Error> {
        for transaction in in_doubt {
            self.with_decision_journal(|decisions| {
                decisions.keep_room(transaction.suspended.undo_bytes());
                Ok(())
            })?;
            self.prepared.add_in_doubt(transaction, self.locks.owner())?;
        }
        Ok(())
    }

    /// Takes the locks of what was in doubt, once all tables are there and before any transaction runs.
    ///
    /// # Errors
    /// When these locks contradict each other.
    pub(crate) fn lock_prepared(&self) -> Result<(), Error> {
        self.prepared.lock_again(&self.locks)
    }

    /// The name of the prepared transaction that an owner of locks stands for.
    pub(crate) fn prepared_of(&self, owner: u32) -> Option<String> {
        self.prepared.name_of(owner)
    }

    /// The prepared transactions, in the order of their names.
    pub(crate) fn prepared(&self) -> Vec<PreparedTransaction> {
        self.prepared.list()
    }
}

/// Lets others get on before a run is repeated; at random, so that two do not meet again.
#[cold]
fn pause(repeated: u64, seed: u64) {
    let longest = (FIRST_PAUSE_US << repeated.min(16)).min(MAX_PAUSE_US);
    std::thread::sleep(Duration::from_micros(mix(seed ^ repeated) % longest));
}
