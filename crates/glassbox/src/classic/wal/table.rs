//! The transaction table: which transactions run, since when, and which of them is changing a page just now.
//!
//! Problem: a checkpoint must know from where on the log is needed, without stopping anybody; and a transaction of ten
//! microseconds cannot afford a lock that all sessions share. So each session has a slot of its own, on a cache line of
//! its own, written by that session and read by checkpoints.
//!
//! Two races would make a checkpoint say too little. Both are closed in the same way: what the session says in its
//! slot is stored *before* it appends the record, and the checkpoint appends its first record, "begin", *before* it
//! reads the slots. Appending is one atomic addition to the log's head by everybody, so for each record of a session
//! either it lies behind "begin", and recovery finds it by reading from there; or its addition, and so what was stored
//! before it, happened before the checkpoint reads the slot.
//!
//! - *A transaction begins.* [`Slot::begin`] stores a position before its first record, then its number. So a
//!   checkpoint misses no transaction that has a record before "begin" and still runs. One that has just ended may be
//!   seen or not: its last record is in the log before that of the checkpoint's end, so they become durable in that
//!   order.
//! - *A page is changed*: the record is in the log, but the buffer pool does not know yet that the page is dirty, and
//!   the checkpoint would call it clean. So [`Slot::changing`] is stored before the record is appended, and taken away
//!   when the pool knows. The checkpoint waits, after "begin", until every slot that is changing a page has moved on
//!   ([`TransactionTable::let_changes_finish`]): as long as one append and a memory copy take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::classic::ids::TxnId;
use crate::error::Error;
use crate::log::Lsn;

/// What a transaction is doing, for who wants to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// It reads and changes.
    Active = 0,
    /// It takes back.
    RollingBack = 1,
    /// It waits for its coordinator.
    Prepared = 2,
}

/// A running transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTransaction {
    pub(crate) transaction: TxnId,
    /// A position before its first record.
    pub(crate) before: Lsn,
    pub(crate) state: State,
}

#[repr(align(128))]
#[derive(Default)]
struct Entry {
    taken: AtomicBool,
    state: AtomicU8,
    /// 0 when none runs.
    transaction: AtomicU64,
    before: AtomicU64,
    /// 0, or while a page is being changed a number that is not the same in the session's next change.
    changing: AtomicU64,
}

/// The slots.
pub(crate) struct TransactionTable {
    next: AtomicU64,
    entries: Box<[Entry]>,
}

/// A slot of the table, held by one session.
pub(crate) struct Slot {
    table: Arc<TransactionTable>,
    at: usize,
}

impl TransactionTable {
    /// A table of so many slots. The first transaction will be number 1.
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(1), entries: (0..slots).map(|_| Entry::default()).collect() })
    }

    /// Takes a slot that nobody has.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<Slot, Error> {
        let free = |entry: &Entry| !entry.taken.swap(true, Ordering::Acquire);
        match self.entries.iter().position(free) {
            Some(at) => Ok(Slot { table: self.clone(), at }),
            None => {
                let slots = self.entries.len();
                Err(Error::Config(format!("all {slots} slots of the transaction table are taken; allow more sessions")))
            }
        }
    }

    /// Numbers below this have been given to transactions.
    pub(crate) fn next(&self) -> TxnId {
        TxnId(self.next.load(Ordering::Acquire))
    }

    /// Says that all numbers below `next` were used before.
    pub(crate) fn set_next(&self, next: TxnId) {
        self.next.fetch_max(next.0, Ordering::AcqRel);
    }

    /// The transactions that run. While others begin and end, one of which the number and the rest were true at
    /// different moments is left out only if it has ended.
    pub(crate) fn running(&self) -> Vec<RunningTransaction> {
        self.entries.iter().filter_map(Entry::read).collect()
    }

    /// Returns when every change of a page that was going on at the call is known to the buffer pool.
    pub(crate) fn let_changes_finish(&self) {
        for entry in &self.entries {
            let going_on = entry.changing.load(Ordering::Acquire);
            while going_on != 0 && entry.changing.load(Ordering::Acquire) == going_on {
                std::thread::yield_now();
            }
        }
    }
}

impl Entry {
    fn read(&self) -> Option<RunningTransaction> {
        loop {
            let transaction = self.transaction.load(Ordering::Acquire);
            let before = Lsn(self.before.load(Ordering::Acquire));
            let state = match self.state.load(Ordering::Acquire) {
                0 => State::Active,
                1 => State::RollingBack,
                _ => State::Prepared,
            };
            // The same number still, so what lies between belongs to it: a number never comes again.
            if self.transaction.load(Ordering::Acquire) == transaction {
                let transaction = TxnId(transaction);
                return (transaction != TxnId::NONE).then_some(RunningTransaction { transaction, before, state });
            }
        }
    }
}

impl Slot {
    #[inline(always)]
    fn entry(&self) -> &Entry {
        &self.table.entries[self.at]
    }

    /// The table that this is a slot of.
    pub(crate) fn table(&self) -> &Arc<TransactionTable> {
        &self.table
    }

    /// Begins a transaction whose records will be behind `before`, and gives it its number.
    pub(super) fn begin(&self, before: Lsn) -> TxnId {
        let transaction = TxnId(self.table.next.fetch_add(1, Ordering::AcqRel));
        self.continue_with(transaction, before);
        transaction
    }

    /// Registers a transaction that has a number.
    pub(crate) fn continue_with(&self, transaction: TxnId, before: Lsn) {
        let entry = self.entry();
        entry.before.store(before.0, Ordering::Release);
        entry.state.store(State::Active as u8, Ordering::Release);
        entry.transaction.store(transaction.0, Ordering::Release);
    }

    pub(crate) fn set_state(&self, state: State) {
        self.entry().state.store(state as u8, Ordering::Release);
    }

    /// Says that a page is being changed by a record that will be behind `before`. The number differs from that of the
    /// session's change before, because that one's record lies between; and from 0, because positions are even.
    #[inline(always)]
    pub(super) fn changing(&self, before: Lsn) {
        self.entry().changing.store(before.0 | 1, Ordering::Release);
    }

    /// Says that the buffer pool knows.
    #[inline(always)]
    pub(super) fn changed(&self) {
        self.entry().changing.store(0, Ordering::Release);
    }

    /// Ends the transaction; its last record is in the log.
    #[inline]
    pub(super) fn end(&self) {
        self.entry().transaction.store(0, Ordering::Release);
    }
}

impl Drop for Slot {
    /// A slot whose transaction has not ended stays taken: its records are needed by the recovery to come.
    fn drop(&mut self) {
        let entry = self.entry();
        if entry.transaction.load(Ordering::Relaxed) == 0 {
            entry.taken.store(false, Ordering::Release);
        }
    }
}
