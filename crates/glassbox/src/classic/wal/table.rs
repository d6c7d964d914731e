//! The transaction table: which transactions run, and since when.
//!
//! Problem: a checkpoint must know from where on the log is needed, without stopping a transaction; and a transaction
//! of ten microseconds cannot afford a lock that all sessions share. So each session has a slot of its own, on a cache
//! line of its own, written by that session and read by checkpoints.
//!
//! A race would make a checkpoint say too little. It is closed like this: what the session says in its slot is stored
//! *before* it appends the record, and the checkpoint appends its first record, "begin", *before* it reads the slots.
//! An append is one atomic addition to the log's head by every session, so for each record of a session either it lies
//! behind "begin", and recovery finds it by reading from there; or its addition, and so what was stored before it,
//! happened before the checkpoint reads the slot.
//!
//! So [`TransactionSlot::begin`] stores a position before the transaction's first record, then its number, and a
//! checkpoint misses no transaction that has a record before "begin" and still runs. One that has just ended may be
//! seen or not: its last record is in the log before that of the checkpoint's end, so they become durable in that
//! order.
//!
//! The other half, that no page is missed which such a record has changed, is the buffer pool's (`buffer::clean`): it
//! looks at each frame under its latch, and who changes a page holds that from before the record to after the note in
//! the frame. A mark in the slot while a page is being changed, to be waited for here, would say the same once more and
//! cost each change two stores.

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
    /// It rolls back.
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
struct TransactionEntry {
    taken: AtomicBool,
    state: AtomicU8,
    /// 0 when none runs.
    transaction: AtomicU64,
    before: AtomicU64,
}

/// The slots.
pub(crate) struct TransactionTable {
    next: AtomicU64,
    entries: Box<[TransactionEntry]>,
}

/// A slot of the table, held by one session.
pub(crate) struct TransactionSlot {
    table: Arc<TransactionTable>,
    at: usize,
}

impl TransactionTable {
    /// A table of so many slots. The first transaction will be number 1.
    pub(crate) fn new(slots: usize) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(1), entries: (0..slots).map(|_| TransactionEntry::default()).collect() })
    }

    /// Takes a free slot.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<TransactionSlot, Error> {
        let free = |entry: &TransactionEntry| !entry.taken.swap(true, Ordering::Acquire);
        match self.entries.iter().position(free) {
            Some(at) => Ok(TransactionSlot { table: self.clone(), at }),
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
        self.entries.iter().filter_map(TransactionEntry::read).collect()
    }
}

impl TransactionEntry {
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

impl TransactionSlot {
    #[inline(always)]
    fn entry(&self) -> &TransactionEntry {
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

    /// Ends the transaction; its last record is in the log.
    #[inline]
    pub(super) fn end(&self) {
        self.entry().transaction.store(0, Ordering::Release);
    }
}

impl Drop for TransactionSlot {
    /// A slot whose transaction has not ended stays taken: its records are needed by the recovery to come.
    fn drop(&mut self) {
        let entry = self.entry();
        if entry.transaction.load(Ordering::Relaxed) == 0 {
            entry.taken.store(false, Ordering::Release);
        }
    }
}
