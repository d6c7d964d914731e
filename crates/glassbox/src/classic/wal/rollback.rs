//! Taking back: of a part of a transaction, or of all of it.
//!
//! Newest first, one record at a time; each is dropped from the transaction's stack by the very record that undoes it,
//! the *compensation*, which says where the rest ends. So however often a crash interrupts this, nothing is undone
//! twice.
//!
//! A record is undone on its page by the inverse of its change. Or logically, by the owner of the store
//! ([`Undoer`]): the entry may be on another page, and its undo may need more than one page, as when a deleted
//! entry comes back to a leaf that is full by now. The owner uses the same [`PageLog`] as ever:
//!
//! - Its first change outside of nested actions is logged as the compensation.
//! - Later changes outside of nested actions must need no undo: a crash in between may lose it.
//! - Nested actions, as the split that makes room first and the unlinking of a leaf that is empty now, are logged as
//!   ever: with updates that can be undone until the action has ended. After a crash behind its end the split is done
//!   and the record not yet undone, and recovery goes on.
//!
//! Transactions hold their locks until they are rolled back, so what another one has changed is never in the way.

use super::forms::Device;
use super::record::{Body, LogRecord};
use super::table::State;
use super::transaction::{Active, Savepoint, TransactionLog, does_not_fit};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::page::pages::Pages;
use crate::error::Error;

/// Undoes changes that are marked [`Undo::Logical`].
pub(crate) trait Undoer {
    /// Undoes `change`, made on `page` of `store`, wherever what it concerns is by now. It holds no latches when
    /// it is called nor when it returns. The first change outside of nested actions is the compensation,
    /// whatever it says about its undo; later ones must be [`Undo::Nothing`]. None is made when nothing is to be done.
    ///
    /// # Errors
    /// When pages cannot be had or are damaged, or the log refuses. The engine cannot go on then.
    fn undo(
        &mut self,
        journal: &mut impl PageLog,
        store: StoreId,
        page: PageId,
        change: Change<'_>,
    ) -> Result<(), Error>;
}

/// When nothing is logical.
impl Undoer for () {
    fn undo(&mut self, _: &mut impl PageLog, store: StoreId, page: PageId, _: Change<'_>) -> Result<(), Error> {
        panic!("page {page} of store {store} was changed without a way to undo it");
    }
}

impl<D: Device> TransactionLog<D> {
    /// Undoes the changes since `to`, and nested actions that were given up. The transaction goes on.
    ///
    /// # Errors
    /// As of [`Undoer::undo`]. The changes not undone yet stay known; but the engine cannot go on.
    pub(crate) fn roll_back(
        &mut self,
        to: Savepoint,
        pages: &impl Pages,
        undoer: &mut impl Undoer,
    ) -> Result<(), Error> {
        self.nested = 0;
        while self.active.own.len() > to.0 {
            self.undo_newest(pages, undoer)?;
        }
        Ok(())
    }

    /// Rolls the whole transaction back and ends it.
    ///
    /// # Errors
    /// As of [`TransactionLog::roll_back`].
    pub(crate) fn abort(&mut self, pages: &impl Pages, undoer: &mut impl Undoer) -> Result<(), Error> {
        if self.active.transaction == TxnId::NONE {
            self.nested = 0;
            return Ok(());
        }
        self.slot.set_state(State::RollingBack);
        self.roll_back(Savepoint(0), pages, undoer)?;
        self.append(Body::End)?;
        self.end();
        Ok(())
    }

    /// Undoes the newest record of a transaction that is in no session, for recovery.
    pub(crate) fn undo_newest_of(
        &mut self,
        active: &mut Active,
        pages: &impl Pages,
        undoer: &mut impl Undoer,
    ) -> Result<(), Error> {
        std::mem::swap(&mut self.active, active);
        let undone = self.undo_newest(pages, undoer);
        std::mem::swap(&mut self.active, active);
        undone
    }

    /// Logs that a transaction which is in no session has been rolled back.
    pub(crate) fn end_of(&mut self, active: &mut Active) -> Result<(), Error> {
        std::mem::swap(&mut self.active, active);
        let ended = self.append(Body::End);
        std::mem::swap(&mut self.active, active);
        ended.map(drop)
    }

    /// Undoes the newest record, of which there is one.
    fn undo_newest(&mut self, pages: &impl Pages, undoer: &mut impl Undoer) -> Result<(), Error> {
        let count = self.active.own.len() - 1;
        // The undo makes records in the buffer that holds the undone one.
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        record.extend_from_slice(self.active.own.newest().expect("there is one"));
        self.taking_back = Some(count);
        let undone = self.undo_record(&record, count, pages, undoer);
        self.taking_back = None;
        self.scratch = record;
        undone
    }

    fn undo_record(
        &mut self,
        record: &[u8],
        count: usize,
        pages: &impl Pages,
        undoer: &mut impl Undoer,
    ) -> Result<(), Error> {
        let record = LogRecord::decode(record).expect("own records are sound");
        let Body::Update { page, store, undo, change, .. } = record.body else {
            panic!("only updates are undone");
        };
        let change = Change::decode(change).map_err(|bad| does_not_fit(page, &[], bad))?;
        match undo {
            Undo::Nothing => {}
            Undo::Page => {
                if let Some(inverse) = change.inverse() {
                    self.compensate(&mut pages.fix_exclusive(page)?, inverse, count)?;
                }
                // Else there is nothing to do, however often.
                self.active.own.truncate(count);
            }
            Undo::Logical => {
                undoer.undo(self, store, page, change)?;
                assert!(self.nested == 0, "a nested action did not end");
                // Nothing was to be done, or all of it in nested actions: it must not be done twice.
                self.skip_to(count)?;
            }
        }
        Ok(())
    }
}
