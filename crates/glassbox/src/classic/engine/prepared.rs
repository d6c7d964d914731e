//! Prepared transactions: the participant's side of two-phase commit (Gray, *Notes on Data Base Operating Systems*,
//! 1978).
//!
//! A prepared transaction has run. Its changes, and a record with its name and its locks, are in the log; it keeps its
//! locks, and leaves its session to others, until its coordinator's decision. After a crash its changes are redone, and
//! its locks are taken again before anything else runs: reads as well as writes, because the coordinator may run the
//! rest of the transaction elsewhere only now, and two-phase locking allows no release before the last lock.
//!
//! Decisions are carried out by a journal of their own: all sessions may be waiting for locks of what is to be ended.
//! Another appender keeps the room in the log that rollbacks of all prepared transactions need.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::classic::lock::{LockManager, LockMode, LockName, Owner, decode_locks};
use crate::classic::recovery::InDoubt;
use crate::classic::wal::forms::{Device, Logs};
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::{Suspended, TransactionLog};
use crate::error::Error;
use crate::executed::{PreparedTransaction, SharedCounters};

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// The prepared transactions of an engine, by name.
pub(crate) struct PreparedTransactions<D> {
    limit: usize,
    by_name: Mutex<BTreeMap<String, NameState>>,
    decisions: Mutex<Decisions<D>>,
    /// Of those that have ended.
    counters: SharedCounters,
}

/// Whether decisions are carried out, and by what.
enum Decisions<D> {
    /// Before the first prepared transaction.
    NoJournal,
    Open(DecisionJournal<D>),
    Closed,
}

/// What a name stands for.
enum NameState {
    /// A transaction that runs, and will be prepared.
    Runs,
    Prepared(Box<Undecided>),
    /// A transaction whose decision is being carried out.
    Ends,
}

pub(super) struct Undecided {
    pub(super) suspended: Suspended,
    pub(super) owner: Owner,
    /// The number of its locks without intents.
    locks: usize,
    /// Locks to be taken again after a restart.
    lost_locks: Vec<(LockName, LockMode)>,
}

/// What carries out decisions.
pub(super) struct DecisionJournal<D> {
    pub(super) journal: TransactionLog<D>,
    /// Appends nothing: it keeps the room for rollbacks.
    room: D,
    undo_bytes: u64,
}

impl<D: Device> PreparedTransactions<D> {
    /// At most so many at a time.
    pub(super) fn new(limit: usize) -> Self {
        let (by_name, decisions, counters) =
            (Mutex::default(), Mutex::new(Decisions::NoJournal), SharedCounters::default());
        Self { limit, by_name, decisions, counters }
    }

    pub(super) fn counters(&self) -> &SharedCounters {
        &self.counters
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, NameState>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the order of their names.
    pub(crate) fn list(&self) -> Vec<PreparedTransaction> {
        let names = self.names();
        let entry = |(name, state): (&String, &NameState)| match state {
            NameState::Prepared(it) => Some(PreparedTransaction {
                name: name.clone(),
                transaction: it.suspended.transaction().0,
                changes: it.suspended.changes() as u64,
                locks: it.locks as u64,
            }),
            NameState::Runs | NameState::Ends => None,
        };
        names.iter().filter_map(entry).collect()
    }

    /// The name of the prepared transaction that an owner of locks stands for.
    pub(crate) fn name_of(&self, owner: u32) -> Option<String> {
        let is_its = |state: &NameState| matches!(state, NameState::Prepared(it) if it.owner.number() == owner);
        self.names().iter().find(|(_, state)| is_its(state)).map(|(name, _)| name.clone())
    }

    /// Takes a name for a transaction that will run.
    pub(super) fn claim(&self, name: &str) -> Result<NameClaim<'_, D>, Error> {
        if !(1..=MAX_NAME_BYTES).contains(&name.len()) {
            let bytes = name.len();
            return Err(Error::Config(format!(
                "the name of a prepared transaction has {bytes} bytes; use 1 to {MAX_NAME_BYTES}"
            )));
        }
        let mut names = self.names();
        let count = names.len();
        match names.entry(name.to_owned()) {
            Entry::Occupied(_) => Err(Error::AlreadyPrepared { name: name.to_owned() }),
            Entry::Vacant(_) if count >= self.limit => Err(Error::TooManyPrepared { limit: self.limit }),
            Entry::Vacant(vacant) => {
                vacant.insert(NameState::Runs);
                Ok(NameClaim { name: Some(name.to_owned()), of: self })
            }
        }
    }

    /// Takes a prepared transaction whose decision is known; its name stays in use until
    /// [`PreparedTransactions::end`].
    pub(super) fn take(&self, name: &str) -> Result<Undecided, Error> {
        match self.names().get_mut(name) {
            Some(state @ NameState::Prepared(_)) => match mem::replace(state, NameState::Ends) {
                NameState::Prepared(undecided) => Ok(*undecided),
                NameState::Runs | NameState::Ends => unreachable!("it was prepared"),
            },
            _ => Err(Error::NotPrepared { name: name.to_owned() }),
        }
    }

    /// Notes that a decision was carried out.
    pub(super) fn end(&self, name: &str, commit: bool) {
        self.names().remove(name);
        if commit { self.counters.committed.add_one() } else { self.counters.aborted.add_one() }
    }

    /// Does something with the journal that carries out decisions, which is made if there is none yet.
    pub(super) fn with_journal<O>(
        &self,
        logs: &impl Logs<Device = D>,
        table: &Arc<TransactionTable>,
        work: impl FnOnce(&mut DecisionJournal<D>) -> Result<O, Error>,
    ) -> Result<O, Error> {
        let panicked = |_| Error::Stopped {
            reason: "a thread panicked while it ended a prepared transaction; open the database again".to_owned(),
        };
        let mut decisions = self.decisions.lock().map_err(panicked)?;
        if matches!(*decisions, Decisions::NoJournal) {
            *decisions = Decisions::Open(DecisionJournal::new(logs, table)?);
        }
        match &mut *decisions {
            Decisions::Open(journal) => work(journal),
            Decisions::NoJournal => unreachable!("it was made"),
            Decisions::Closed => Err(Error::Stopped { reason: "it was closed; open it again".to_owned() }),
        }
    }

    /// Waits for the decision that is being carried out, and lets none begin until the result is dropped.
    pub(super) fn hold_decisions(&self) -> impl Drop + '_ {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the decision that is being carried out, and refuses all further ones.
    pub(super) fn close(&self) {
        *self.decisions.lock().unwrap_or_else(PoisonError::into_inner) = Decisions::Closed;
    }

    /// Adds a transaction that was prepared, and holds these locks.
    pub(super) fn add(&self, name: &str, suspended: Suspended, mut owner: Owner) {
        owner.set_txn(suspended.transaction());
        let is_intent = |mode| matches!(mode, LockMode::IS | LockMode::IX);
        let locks = owner.locks().filter(|(_, mode)| !is_intent(*mode)).count();
        let undecided = Undecided { suspended, owner, locks, lost_locks: Vec::new() };
        self.names().insert(name.to_owned(), NameState::Prepared(Box::new(undecided)));
    }

    /// Adds what recovery found in doubt. Its locks are taken by [`PreparedTransactions::lock_again`].
    ///
    /// # Errors
    /// When the log cannot be right.
    pub(super) fn add_in_doubt(&self, of: InDoubt, mut owner: Owner) -> Result<(), Error> {
        let InDoubt { transaction, global, locks, suspended } = of;
        let damaged = |problem: String| Error::Damaged {
            file: "log".into(),
            offset: 0,
            problem: format!("prepared transaction {transaction}: {problem}"),
        };
        let name = String::from_utf8(global).map_err(|bad| damaged(bad.to_string()))?;
        let lost_locks = decode_locks(&locks).map_err(|bad| damaged(bad.to_string()))?;
        owner.set_txn(transaction);
        let undecided = Undecided { suspended, owner, locks: lost_locks.len(), lost_locks };
        match self.names().insert(name.clone(), NameState::Prepared(Box::new(undecided))) {
            None => Ok(()),
            Some(_) => Err(damaged(format!("another one has the name `{name}`"))),
        }
    }

    /// Takes the locks of what was in doubt. To be called before any transaction runs.
    ///
    /// # Errors
    /// When these locks contradict each other.
    pub(super) fn lock_again(&self, locks: &LockManager) -> Result<(), Error> {
        for (name, state) in self.names().iter_mut() {
            let NameState::Prepared(undecided) = state else { continue };
            let lost = mem::take(&mut undecided.lost_locks);
            if !locks.lock_again(&mut undecided.owner, &lost) {
                return Err(Error::Config(format!(
                    "the locks of prepared transaction `{name}` and of another one do not go together; open the \
                     database with the former lock granularity (classic.granularity), and end them first"
                )));
            }
        }
        Ok(())
    }
}

/// A name whose transaction runs; free again when this is dropped.
pub(super) struct NameClaim<'a, D: Device> {
    /// `None`: it belongs to the prepared transaction.
    name: Option<String>,
    of: &'a PreparedTransactions<D>,
}

impl<D: Device> NameClaim<'_, D> {
    /// Leaves the name to the transaction, which was prepared.
    pub(super) fn leave(&mut self) {
        self.name = None;
    }
}

impl<D: Device> Drop for NameClaim<'_, D> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.of.names().remove(name);
        }
    }
}

impl<D: Device> DecisionJournal<D> {
    fn new(logs: &impl Logs<Device = D>, table: &Arc<TransactionTable>) -> Result<Self, Error> {
        Ok(Self { journal: TransactionLog::new(logs.device()?, table.slot()?), room: logs.device()?, undo_bytes: 0 })
    }

    pub(super) fn keep_room(&mut self, bytes: u64) {
        self.undo_bytes += bytes;
        self.room.set_undo_bytes(self.undo_bytes);
    }

    pub(super) fn free_room(&mut self, bytes: u64) {
        self.undo_bytes -= bytes;
        self.room.set_undo_bytes(self.undo_bytes);
    }
}
