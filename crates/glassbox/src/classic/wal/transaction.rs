//! The journal of a transaction: each change is applied, logged, and kept for taking back.
//!
//! Invariants of [`TransactionLog`]:
//!
//! - A transaction is in the table before its first record is in the log, and until its last one is.
//! - `own` is what recovery would find to undo if the log ended after this transaction's last record.
//! - Of a change that failed nothing is left, neither on the page nor in the log. A change that was applied and that
//!   the log then refused is undone by its inverse. A page that was formatted and refused stays formatted, which
//!   does no harm: its content does not matter, and its next user formats it.
//!
//! During a logical undo, changes are *compensations*: see `rollback`.
//!
//! Transactions that wait for their coordinator, in no session.

use crate::classic::change::{Change, PageLog, Start, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::page;
use crate::classic::page::BadChange;
use crate::classic::page::pages::ExclusivePage;
use crate::error::Error;
use crate::log::Lsn;
use std::sync::Arc;

use super::forms::{Device, Unlogged};
use super::own::OwnRecords;
use super::record::{Body, LogRecord, begin_compensation, begin_update};
use super::table::{State, TransactionSlot, TransactionTable};

/// What of a transaction survives when its session does something else meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Active {
    pub(crate) transaction: TxnId,
    /// Behind its last record.
    pub(crate) last: Lsn,
    pub(crate) own: OwnRecords,
}

/// A moment in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Savepoint(pub(super) usize);

/// Where a nested action began.
#[derive(Debug)]
pub(crate) struct Nested(pub(super) usize);

impl AccessSavepoint {
    /// Where it began, if the journal can undo it.
    pub(crate) fn since(&self) -> Option<Savepoint> {
        self.since
    }
}

/// The journal of a session, for one transaction after the other.
pub(crate) struct TransactionLog<D> {
    pub(super) device: D,
    pub(super) slot: TransactionSlot,
    pub(super) active: Active,
    /// Nested actions that are going on.
    pub(super) nested: usize,
    /// While the newest own record is being undone: how many there will be then.
    pub(super) taking_back: Option<usize>,
    /// The record that is being undone.
    pub(super) scratch: Vec<u8>,
    /// For describing changes.
    pub(super) room: Vec<u8>,
    /// For records and changes that are seldom.
    other: Vec<u8>,
    pub(super) undoable: Undoable,
}

/// The part of a transaction that can be undone, because the data for that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undoable {
    /// All of it.
    Transaction,
    /// The access under way. `changed`: something was changed before it, so the transaction cannot be rolled back.
    Access { changed: bool },
    /// Nothing. `changed`: something was changed, so the transaction cannot be rolled back.
    Nothing { changed: bool },
}

impl Undoable {
    #[inline(always)]
    pub(super) fn keeps(self) -> bool {
        !matches!(self, Self::Nothing { .. })
    }

    /// Notes a change that is not kept.
    #[inline(always)]
    pub(super) fn note_change(&mut self) {
        if let Self::Nothing { changed } = self {
            *changed = true;
        }
    }
}

/// Where an access began that can be undone by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessSavepoint {
    /// `None`: changes are not described; the caller undoes them by deleting the records that it inserted.
    since: Option<Savepoint>,
    before: Undoable,
}

impl<D: Device> TransactionLog<D> {
    /// A journal without a transaction.
    pub(crate) fn new(device: D, slot: TransactionSlot) -> Self {
        let (active, scratch, room, other) = (Active::default(), Vec::new(), Vec::new(), Vec::new());
        Self {
            device,
            slot,
            active,
            nested: 0,
            taking_back: None,
            scratch,
            room,
            other,
            undoable: Undoable::Transaction,
        }
    }

    /// The transaction's number; none as long as it has changed nothing.
    #[inline]
    pub(crate) fn transaction(&self) -> TxnId {
        self.active.transaction
    }

    /// How many changes it would have to undo.
    #[inline]
    pub(crate) fn changes(&self) -> usize {
        self.active.own.len()
    }

    /// Begins a transaction of which this can be undone.
    #[inline(always)]
    pub(crate) fn begin(&mut self, undoable: Undoable) {
        self.undoable = undoable;
    }

    /// Whether the transaction has changed something that it cannot undo.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.undoable, Undoable::Access { changed: true } | Undoable::Nothing { changed: true })
    }

    /// Begins an access whose changes can be undone by themselves. `undone_by_caller`:
    /// while changes are not described, the caller undoes them, by deleting the records that it inserted.
    #[inline(always)]
    pub(crate) fn begin_access(&mut self, undone_by_caller: bool) -> AccessSavepoint {
        let before = self.undoable;
        if undone_by_caller && self.is_silent() {
            return AccessSavepoint { since: None, before };
        }
        if let Undoable::Nothing { changed } = before {
            self.undoable = Undoable::Access { changed };
        }
        AccessSavepoint { since: Some(self.savepoint()), before }
    }

    /// Ends an access whose changes stay.
    #[inline(always)]
    pub(crate) fn end_access(&mut self, access: AccessSavepoint) {
        let (Some(since), Undoable::Nothing { changed }) = (access.since, access.before) else { return };
        self.undoable = Undoable::Nothing { changed: changed || self.active.own.len() > since.0 };
        self.active.own.truncate(since.0);
    }

    /// Notes that the caller has undone all of an access; without descriptions it is as if nothing had been changed.
    pub(crate) fn undone(&mut self, access: AccessSavepoint) {
        if access.since.is_none() {
            self.undoable = access.before;
        }
    }

    /// This moment. Later changes are undone by
    /// [`TransactionLog::roll_back`](Self::roll_back) to it.
    #[inline]
    pub(crate) fn savepoint(&self) -> Savepoint {
        assert!(self.nested == 0, "a savepoint within a nested action");
        Savepoint(self.active.own.len())
    }

    /// Commits: the transaction is over, and will be so after a crash once the log is durable up to what is returned.
    /// One that has changed nothing needs no log: the position is 0.
    ///
    /// # Errors
    /// When the log refuses. The transaction goes on then, and can only be found out to be a loser by recovery.
    pub(crate) fn commit(&mut self) -> Result<Lsn, Error> {
        assert!(self.nested == 0, "a commit within a nested action");
        if self.active.transaction == TxnId::NONE {
            return Ok(Lsn::NONE);
        }
        let lsn = self.append(Body::Commit)?;
        self.end();
        Ok(lsn)
    }

    /// What the session appends with.
    #[cfg(test)]
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    /// The session's slot in the transaction table.
    pub(crate) fn slot(&self) -> &TransactionSlot {
        &self.slot
    }

    #[inline]
    pub(super) fn ensure_begun(&mut self) {
        if self.active.transaction == TxnId::NONE {
            self.active.transaction = self.slot.begin(self.device.appended());
        }
    }

    /// Ends the transaction here and in the table.
    #[inline]
    pub(super) fn end(&mut self) {
        self.slot.end();
        self.device.set_undo_bytes(0);
        self.active.transaction = TxnId::NONE;
        self.active.last = Lsn::NONE;
        self.active.own.clear();
        self.undoable = Undoable::Transaction;
    }

    /// Appends a record that changes no page, but ends something, for which there is room.
    pub(super) fn append(&mut self, body: Body<'_>) -> Result<Lsn, Error> {
        self.append_by(body, D::append_undo)
    }

    fn append_by(
        &mut self,
        body: Body<'_>,
        append: impl FnOnce(&mut D, &[u8]) -> Result<Lsn, Error>,
    ) -> Result<Lsn, Error> {
        let mut record = std::mem::take(&mut self.other);
        if D::RECORDS {
            let (transaction, previous) = (self.active.transaction, self.active.last);
            LogRecord { transaction, previous, body }.encode(&mut record);
        }
        let appended = append(&mut self.device, &record);
        record.clear();
        self.other = record;
        self.active.last = appended?;
        Ok(self.active.last)
    }

    /// Applies a change, appends the record that `begin` begins, and tells the page. The record is left as a draft
    /// behind `start`, if it was made: when there is a log, or `needed`.
    #[inline]
    fn apply_and_log(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        needed: bool,
        apply: impl FnOnce(&mut [u8]) -> Result<(), BadChange>,
        begin: impl FnOnce() -> Start<32>,
    ) -> Result<Lsn, Error> {
        let id = page.id();
        apply(page).map_err(|bad| does_not_fit(id, page, bad))?;
        let start = self.active.own.draft_start();
        if D::RECORDS || needed {
            match change.stored() {
                Some((first, rest)) => self.active.own.draft(begin(), first, rest),
                None => self.draft_other(begin(), change),
            }
        }
        if needed {
            // Before the append: from then on others must leave room for it.
            self.device.set_undo_bytes(self.active.own.undo_bytes_with_draft());
        }
        let from = self.device.appended();
        let record = if D::RECORDS { self.active.own.drafted(start) } else { &[] };
        let appended = match self.taking_back {
            None => self.device.append(record),
            Some(_) => self.device.append_undo(record),
        };
        match &appended {
            Ok(lsn) => {
                let stamp = D::stamp(page::lsn(page), *lsn);
                page.changed(from, stamp);
                self.active.last = *lsn;
            }
            Err(_) => {
                self.active.own.drop_draft(start);
                if needed {
                    self.device.set_undo_bytes(self.active.own.undo_bytes());
                }
                if let Some(inverse) = change.inverse() {
                    inverse.apply(id, page).expect("an applied change can be undone");
                }
            }
        }
        appended
    }

    /// Makes the record of a change that is seldom.
    #[inline(never)]
    fn draft_other(&mut self, begin: Start<32>, change: Change<'_>) {
        change.encode(&mut self.other);
        self.active.own.draft(begin, ([0; 8], 0), &self.other);
        self.other.clear();
    }

    #[inline]
    pub(super) fn update(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        undo: Undo,
        apply: impl FnOnce(&mut [u8]) -> Result<(), BadChange>,
    ) -> Result<(), Error> {
        let nested = self.nested > 0;
        assert!(!nested || undo != Undo::Logical, "a nested action is undone page by page");
        let store = store_of(page, &change);
        let (id, own) = (page.id(), (self.active.transaction, self.active.last));
        let start = self.active.own.draft_start();
        let keep = undo != Undo::Nothing && self.undoable.keeps();
        let lsn = {
            let begin = || begin_update(own, id, store, (undo, nested));
            self.apply_and_log(page, change, keep, apply, begin)?
        };
        if keep {
            self.active.own.keep(start, lsn);
        } else {
            self.active.own.drop_draft(start);
            if undo != Undo::Nothing {
                self.undoable.note_change();
            }
        }
        Ok(())
    }

    /// Makes the change that undoes the newest own record, of which there are `count` then.
    pub(super) fn compensate(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        count: usize,
    ) -> Result<(), Error> {
        assert!(self.active.own.len() == count + 1, "a nested action left something to be undone");
        // The bytes may have come with the log from another process.
        page.note_sound(false);
        let (id, own) = (page.id(), (self.active.transaction, self.active.last));
        let undo_next = self.active.own.lsn_below(count);
        let begin = || begin_compensation(own, id, undo_next);
        self.apply_and_log(page, change, false, |page| change.apply(id, page), begin)?;
        self.active.own.truncate(count);
        Ok(())
    }

    /// Logs that records after the oldest `count` own ones are not to be undone.
    pub(super) fn skip_to(&mut self, count: usize) -> Result<(), Error> {
        if self.active.own.len() > count {
            let undo_next = self.active.own.lsn_below(count);
            self.append(Body::NestedEnd { undo_next })?;
            self.active.own.truncate(count);
        }
        Ok(())
    }
}

/// The store that a page belongs to once the change is made.
#[inline]
fn store_of(page: &[u8], change: &Change<'_>) -> StoreId {
    match change {
        Change::Format { store, .. } => *store,
        #[allow(unreachable_patterns)]
        _ => page::store(page),
    }
}

/// A page that is not what its change takes it for.
pub(crate) fn does_not_fit(id: PageId, page: &[u8], bad: BadChange) -> Error {
    let offset = u64::from(id.0) * page.len() as u64;
    Error::Damaged { file: "pages".into(), offset, problem: format!("page {id} does not take {bad}") }
}

/// A transaction apart from any session: prepared, or found by recovery. It keeps its slot of the transaction table.
pub(crate) struct Suspended {
    active: Active,
    slot: TransactionSlot,
}

impl Suspended {
    /// A transaction that recovery has found; its records are behind `before`.
    pub(crate) fn new(active: Active, slot: TransactionSlot, before: Lsn) -> Self {
        slot.continue_with(active.transaction, before);
        slot.set_state(State::Prepared);
        Self { active, slot }
    }

    pub(crate) fn transaction(&self) -> TxnId {
        self.active.transaction
    }

    /// Changes that its rollback would undo.
    pub(crate) fn changes(&self) -> usize {
        self.active.own.len()
    }

    /// Bytes that its rollback would append.
    pub(crate) fn undo_bytes(&self) -> u64 {
        self.active.own.undo_bytes()
    }
}

impl<D: Device> TransactionLog<D> {
    /// Bytes that a rollback would append.
    pub(crate) fn undo_bytes(&self) -> u64 {
        self.active.own.undo_bytes()
    }

    /// Promises to do what a coordinator will say, also after a crash once the log is durable up to what is returned.
    /// `global` is the coordinator's name for the transaction, `locks` what it holds, for the recovery of the
    /// transaction.
    ///
    /// # Errors
    /// When the log refuses, or the two are too long for a record; nothing is promised then.
    pub(crate) fn prepare(&mut self, global: &[u8], locks: &[u8]) -> Result<Lsn, Error> {
        assert!(self.nested == 0, "a promise within a nested action");
        self.ensure_begun();
        let lsn = self.append_by(Body::Prepared { global, locks }, D::append)?;
        self.slot.set_state(State::Prepared);
        Ok(lsn)
    }

    /// Takes the transaction out of the session, which is then free for another one. The room in the log for its
    /// rollback is the caller's to keep; see [`TransactionLog::undo_bytes`].
    ///
    /// # Errors
    /// When the transaction table has no slot to spare.
    pub(crate) fn suspend(&mut self) -> Result<Suspended, Error> {
        assert!(self.nested == 0 && self.taking_back.is_none(), "suspended in the middle of an action");
        let free = self.slot.table().slot()?;
        let slot = std::mem::replace(&mut self.slot, free);
        self.device.set_undo_bytes(0);
        Ok(Suspended { active: std::mem::take(&mut self.active), slot })
    }

    /// Brings a transaction into this session, which must have none.
    pub(crate) fn resume(&mut self, suspended: Suspended) {
        assert!(self.active.transaction == TxnId::NONE, "a session has one transaction at a time");
        self.active = suspended.active;
        self.slot = suspended.slot;
    }
}

impl TransactionLog<Unlogged> {
    /// A journal that keeps no log.
    ///
    /// # Errors
    /// When the table has no slot left.
    pub(crate) fn unlogged(table: &Arc<TransactionTable>) -> Result<Self, Error> {
        Ok(Self::new(Unlogged, table.slot()?))
    }
}
