//! A transaction on the classic engine: every access locks what it touches, and the gaps beside it.
//!
//! Serializable by strict two-phase locking with next-key locks (Mohan, *ARIES/KVL*, VLDB 1990; Mohan and Levine,
//! *ARIES/IM*, SIGMOD 1992). The lock of a key is that of the record that it points to; it also stands for the gap
//! below the key, in every index. So
//!
//! ```text
//! reading a key        S on its record; if it is not there, on the record of the next key (the gap where it would be)
//! scanning             S on each record, and on the first one above the range
//! reading for update   as reading and scanning, with U on the records that are read
//! updating             X on the record
//! inserting a key      X on the record, from before it can be seen; and for a moment X on the next key's: the gap
//!                      was not read; if the key is there, S on its record
//! deleting a key       X on the record, and on the next key's to the end: the gap that the key leaves is not certain
//!                      before
//! ```
//!
//! Where leaves are locked too ([`Granularity::PageAndLeaf`]), a leaf is locked before what is in it: in S to look for
//! a key or to scan, in X to insert or delete one, to the end. That is more than serializability needs: Berkeley DB
//! locks so. A transaction that splits a leaf locks the new one as well. After a wait the leaf may have been split, and
//! the search, which restarts from the root, asks for the lock of the leaf that it comes to.
//!
//! [`Granularity::PageAndLeaf`]: crate::config::Granularity::PageAndLeaf
//!
//! Behind the last key stands the index's end, which can be locked like a record. Locks are asked for while the leaf
//! is latched, so that the result of the search still holds when the lock is granted; but without waiting. If another
//! lock is in the way, the latches are released, the transaction waits, and the access restarts from the root.

mod batches;
mod declared;
mod dry_run;
mod entries;
mod fetch;
mod point;

use std::ops::ControlFlow;

use super::engine::{Engine, IndexStore, TableStores, TreeOf};
use super::heap::OnPage;
use super::ids::{PageId, Rid, StoreId};
use super::lock::{Duration, LockMode, LockName, Locks, Outcome};
use super::page::miss;
use super::page::pages::Pages;
use super::stack::{Session, Stack};
use super::tree::{Find, Guess, InLeaf, Neighbour, Next};
use super::two_stage::{Stage, ThreadWaits};
use crate::error::Error;
use crate::procedure::{DryRun, PartitionSet, PrivateWrites, Retry, Stop};
use crate::record::{Bounds, Direction, EncodedKey, Index, Key, OrderedRecord, Record, Timestamp};

pub(super) use declared::{DeclaredFetch, DeclaredPart};

/// A run of a transaction in a session.
pub(crate) struct StackTransaction<'e, S: Stack> {
    pub(super) engine: &'e Engine<S>,
    pub(super) session: &'e mut Session<S>,
    pub(super) now: Option<Timestamp>,
    pub(super) random: u64,
    /// How often it has been run before.
    pub(super) repeated: u64,
    /// Why it cannot go on; from then on every access stops.
    pub(super) ended: Option<RunFailure>,
    pub(super) stage: Stage,
    /// Accesses in the operate stage.
    pub(super) accesses: u64,
    /// Accesses that the fetch stage may still make.
    pub(super) fetches_left: u64,
    /// When an optimistic operate stage became a fetch stage, if it did.
    pub(super) converted: Option<ThreadWaits>,
    /// The rows that a fetch stage has changed for itself, once there are some.
    pub(super) writes: Option<Box<PrivateWrites>>,
    /// Whether it had changed rows when it became a fetch stage.
    pub(super) has_lost_changes: bool,
}

/// The accesses of a transaction in its fetch stage.
pub(super) struct FetchStage<'t, 'e, S: Stack>(pub(in crate::classic) &'t mut StackTransaction<'e, S>);

/// Why a run cannot go on.
pub(super) enum RunFailure {
    /// It was in a deadlock, or waited too long, or a page that it needs was evicted at the wrong moment; it is to be
    /// run again.
    Again,
    /// The engine failed it.
    Failed(Error),
}

impl RunFailure {
    /// Because of an error. A page that left memory a moment ago is there when the run is repeated.
    #[cold]
    fn of(error: Error) -> Self {
        if let Error::NotInMemory { .. } = error { Self::Again } else { Self::Failed(error) }
    }
}

/// A name to be locked, when that was refused without waiting.
#[derive(Clone, Copy)]
pub(super) struct DeferredLock {
    pub(super) name: LockName,
    pub(super) mode: LockMode,
    pub(super) duration: Duration,
}

/// The modes in which a key that is looked for is locked.
#[derive(Clone, Copy)]
pub(super) struct FindModes {
    pub(super) record: LockMode,
    /// The mode of the leaf, where leaves are locked.
    pub(super) leaf: LockMode,
}

impl FindModes {
    /// For a row whose key stays in the index.
    pub(super) const fn of(record: LockMode) -> Self {
        Self { record, leaf: LockMode::S }
    }

    /// For a row that is deleted: two transactions that converted the lock of a leaf would be in a deadlock.
    pub(super) const DELETED: Self = Self { record: LockMode::X, leaf: LockMode::X };
}

impl<'e, S: Stack> StackTransaction<'e, S> {
    /// Passes on what went wrong in the engine, and ends the run; or, after a page was missing that must not be read
    /// now, makes it a fetch stage.
    #[cold]
    pub(super) fn fail(&mut self, error: Error) -> Stop {
        if let Error::NotInMemory { page } = error
            && S::TWO_STAGE
            && self.stage == Stage::Optimistic
        {
            self.convert(PageId(page));
            return AGAIN;
        }
        self.ended = Some(RunFailure::Failed(error));
        AGAIN
    }

    #[inline(always)]
    pub(super) fn or_fail<T>(&mut self, result: Result<T, Error>) -> Result<T, Stop> {
        result.map_err(|error| self.fail(error))
    }

    /// Whether accesses neither lock nor change anything. Ask for [`Stack::TWO_STAGE`] first, there and then: so what
    /// follows is not compiled for other stacks.
    #[inline(always)]
    pub(super) fn is_fetching(&self) -> bool {
        self.stage == Stage::Fetch
    }

    /// Makes an optimistic operate stage, in which `missing` is not in memory, a fetch stage: undoes the changes,
    /// releases the locks, and pins the pages that it has touched, and `missing`.
    #[cold]
    pub(super) fn convert(&mut self, missing: PageId) {
        let engine = self.engine;
        let mut touched = miss::fixed_pages();
        touched.push(missing);
        miss::note_fixed_pages(false);
        self.stage = Stage::Fetch;
        if self.session.journal.changes() > 0 {
            // What follows would not see them: a fetch stage begins from scratch.
            (self.has_lost_changes, self.fetches_left) = (true, 0);
        }
        let undone = engine.abort(self.session);
        self.converted = Some(ThreadWaits::now(&*engine.clock));
        match undone {
            Ok(()) => FetchStage(self).pin(&touched),
            Err(error) => self.ended = Some(RunFailure::Failed(error)),
        }
    }

    /// Converts if a page that the next access needs for certain is missing.
    #[inline(always)]
    pub(super) fn settle(&mut self, page: PageId) {
        if S::TWO_STAGE && self.stage == Stage::Optimistic && !self.engine.pages.is_resident(page) {
            self.convert(page);
        }
    }

    /// Whether it is a fetch stage with changes that its reads have to see. Asked as [`is_fetching`] is.
    ///
    /// [`is_fetching`]: StackTransaction::is_fetching
    #[inline(always)]
    pub(super) fn has_own_writes(&self) -> bool {
        self.writes.is_some()
    }

    /// Makes an access of the fetch stage that sees its writes, or is one. It counts as one of the stage, also if it
    /// reads no stored row.
    #[cold]
    #[inline(never)]
    pub(super) fn dry<O>(&mut self, access: impl FnOnce(&mut DryRun<'_, FetchStage<'_, 'e, S>>) -> O) -> O {
        let mut writes = self.writes.take().unwrap_or_default();
        let fetches_left = self.fetches_left;
        let mut stage = FetchStage(&mut *self);
        let mut run = DryRun::unrecorded(&mut stage, &mut writes, fetches_left);
        let out = access(&mut run);
        let accesses_left = run.accesses_left();
        self.fetches_left = self.fetches_left.min(accesses_left);
        self.writes = Some(writes);
        out
    }

    /// The row with this key, as the fetch stage sees it.
    pub(super) fn dry_row<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        let row = self.dry(|run| run.row::<R>(key))?;
        Ok(row.map(|row| &*self.session.row.keep(row)))
    }

    /// The stores of a record's table, which is read from now on.
    #[inline(always)]
    fn table_of<R: Record>(&self) -> &'e TableStores<S> {
        let table = self.engine.table::<R>();
        if S::TWO_STAGE {
            miss::set_table(table.heap.store());
        }
        table
    }

    /// The same, if the run goes on.
    #[inline(always)]
    pub(super) fn table<R: Record>(&self) -> Result<&'e TableStores<S>, Stop> {
        if self.ended.is_some() { Err(AGAIN) } else { Ok(self.table_of::<R>()) }
    }

    /// Locks without waiting, under a latch.
    #[inline(always)]
    pub(super) fn try_lock(locks: &S::Locks, owner: &mut <S::Locks as Locks>::Owner, wanted: DeferredLock) -> bool {
        locks.lock(owner, wanted.name, wanted.mode, false, wanted.duration) == Outcome::Granted
    }

    /// Locks an entry without waiting, under the latch of its leaf; before it the leaf, where leaves are locked. Notes
    /// in `refused` which of the two was not granted.
    #[inline(always)]
    fn try_lock_entry(
        locks: &S::Locks,
        owner: &mut <S::Locks as Locks>::Owner,
        index: &IndexStore<S>,
        (leaf, mode): (PageId, LockMode),
        entry: DeferredLock,
        refused: &mut Option<DeferredLock>,
    ) -> bool {
        if S::Locks::ASKS && index.locks_leaves {
            let leaf = DeferredLock::leaf(index, leaf, mode);
            if !Self::try_lock(locks, owner, leaf) {
                *refused = Some(leaf);
                return false;
            }
        }
        let is_granted = Self::try_lock(locks, owner, entry);
        if !is_granted {
            *refused = Some(entry);
        }
        is_granted
    }

    /// Waits for a lock; no latch is held.
    pub(super) fn wait_for(&mut self, wanted: DeferredLock) -> Result<(), Stop> {
        let locks = &self.engine.locks;
        locks.set_txn(&mut self.session.owner, self.session.journal.transaction());
        // A former victim is chosen again only if all others were victims more often.
        locks.set_work(&mut self.session.owner, self.repeated << 32 | self.session.journal.changes() as u64);
        match locks.lock(&mut self.session.owner, wanted.name, wanted.mode, true, wanted.duration) {
            Outcome::Granted => Ok(()),
            Outcome::WouldBlock => unreachable!("the request was to wait"),
            Outcome::Deadlock | Outcome::Timeout => {
                self.ended = Some(RunFailure::Again);
                Err(AGAIN)
            }
        }
    }

    /// The record of a primary key, locked in `modes.record`; if there is none, the gap is locked in S.
    #[inline(always)]
    pub(super) fn find<R: Record>(&mut self, key: &R::Key, modes: FindModes) -> Result<Option<Rid>, Stop> {
        if S::TWO_STAGE && self.is_fetching() {
            return FetchStage(self).find::<R>(key);
        }
        let table = self.table::<R>()?;
        let encoded: R::Encoded = key.encode();
        let guess = encoded.as_u64().map_or(Guess::NONE, |number| self.engine.tree(&table.primary).guess(number));
        let tree = self.or_fail(self.engine.look_up(&table.primary))?;
        let found = self.find_at::<R>(table, tree, &encoded, guess, modes);
        match found {
            Ok(Some(rid)) => table.heap.prefetch(&self.engine.pages, rid),
            Err(_) if S::TWO_STAGE && self.is_fetching() => return FetchStage(self).find::<R>(key),
            _ => {}
        }
        found
    }

    /// As [`StackTransaction::find`], in the tree that was looked up, with a guess where the key is.
    #[inline(always)]
    pub(super) fn find_at<R: Record>(
        &mut self,
        table: &TableStores<S>,
        tree: TreeOf<'_, S>,
        key: &R::Encoded,
        guess: Guess,
        modes: FindModes,
    ) -> Result<Option<Rid>, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        if S::TWO_STAGE {
            self.accesses += 1;
        }
        key.for_bytes(R::Key::WIDTH, |bytes| {
            let owner = &mut self.session.owner;
            let index = &table.primary;
            let mut refused = None;
            let lock = |InLeaf { leaf, found }| {
                let entry = DeferredLock::of(found, heap, index, modes.record);
                Self::try_lock_entry(&engine.locks, owner, index, (leaf, modes.leaf), entry, &mut refused)
            };
            match tree.find_at(guess, tree.probe(bytes, key.as_u64()), lock) {
                Some(Find::Found(rid)) => Ok(Some(rid)),
                _ => self.find_key(table, bytes, modes, refused),
            }
        })
    }

    // What does not depend on the record's type is compiled once for all of them.

    /// Looks for a key that a guess did not find: in the whole tree, or, if a lock was `refused` there, once that one
    /// is not in the way.
    #[inline(never)]
    fn find_key(
        &mut self,
        table: &TableStores<S>,
        key: &[u8],
        modes: FindModes,
        mut refused: Option<DeferredLock>,
    ) -> Result<Option<Rid>, Stop> {
        let (engine, heap, index) = (self.engine, table.heap.store(), &table.primary);
        let tree = engine.tree(index);
        let mut is_known = false;
        loop {
            if let Some(wanted) = refused.take() {
                self.wait_for(wanted)?;
                is_known = true;
            }
            let owner = &mut self.session.owner;
            let lock = |InLeaf { leaf, found }| {
                let entry = DeferredLock::of(found, heap, index, modes.record);
                Self::try_lock_entry(&engine.locks, owner, index, (leaf, modes.leaf), entry, &mut refused)
            };
            let search = if is_known { tree.find(key, lock) } else { tree.find_from_root(tree.probe(key, None), lock) };
            match self.or_fail(search)? {
                Find::Found(rid) => return Ok(Some(rid)),
                Find::Missing => return Ok(None),
                Find::Refused(_) => {}
            }
        }
    }

    /// Reads a record that is locked.
    #[inline(always)]
    pub(super) fn read<R: Record>(&mut self, table: &TableStores<S>, rid: Rid) -> Result<&mut R, Stop> {
        self.settle(rid.page);
        if S::TWO_STAGE && self.is_fetching() {
            return FetchStage(self).read::<R>(table, rid);
        }
        let (engine, row) = (self.engine, &mut self.session.row);
        // So that it is decoded where it stays.
        match table.heap.read_row(&engine.pages, rid, |read: R| row.keep(read)) {
            Ok(Some(Ok(row))) => Ok(row),
            other => {
                let failed = other.map(|found| found.map(|row| row.map(drop)));
                self.ended = Some(RunFailure::of(engine.no_row(R::TABLE, rid, failed)));
                Err(AGAIN)
            }
        }
    }

    // The row of a key, and those of a range, locked in `mode`.

    #[inline(always)]
    pub(super) fn get_locked<R: Record>(&mut self, key: &R::Key, mode: LockMode) -> Result<Option<&R>, Stop> {
        let Some(rid) = self.find::<R>(key, FindModes::of(mode))? else { return Ok(None) };
        let table = self.table::<R>()?;
        self.read::<R>(table, rid).map(|row| Some(&*row))
    }

    #[inline(always)]
    pub(super) fn scan_locked<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        mode: LockMode,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        self.walk(table, &table.primary, (range, direction, mode), visit)
    }

    #[inline(always)]
    pub(super) fn scan_index_locked<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mode: LockMode,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let table = self.table::<I::Record>()?;
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        self.walk(table, &table.indexes[I::POSITION], (range, direction, mode), visit)
    }

    /// Changes a record that is locked in X, unless `change`, which is told what it was too, says that its page is to
    /// stay as it was. The new row has the same key in every index; so the page is fixed only once.
    #[inline(always)]
    pub(super) fn change_row<R: Record, O>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        change: impl FnOnce(&mut R, OnPage<'_, R>) -> (bool, O),
    ) -> Result<O, Stop> {
        let Session { journal, stored, row, .. } = &mut *self.session;
        match table.heap.update_row(&self.engine.pages, (journal, stored), rid, |read| row.keep(read), change) {
            Ok(Some(Ok(out))) => Ok(out),
            other => {
                let failed = other.map(|found| found.map(|row| row.map(drop)));
                Err(self.fail(self.engine.no_row(R::TABLE, rid, failed)))
            }
        }
    }

    /// Writes a row over a record that is locked in X.
    #[inline(always)]
    pub(super) fn write<R: Record>(&mut self, table: &TableStores<S>, rid: Rid, row: &R) -> Result<(), Stop> {
        self.session.stored.resize(R::ROW_WIDTH, 0);
        row.store(&mut self.session.stored);
        self.write_stored(table, rid)
    }

    #[inline]
    fn write_stored(&mut self, table: &TableStores<S>, rid: Rid) -> Result<(), Stop> {
        let Session { journal, stored, .. } = &mut *self.session;
        let updated = table.heap.update(&self.engine.pages, journal, rid, stored);
        match self.or_fail(updated)? {
            true => Ok(()),
            false => Err(self.fail(self.engine.missing_record(&table.schema.name, rid))),
        }
    }

    /// Puts a row into the heap file; the record is locked before it is visible.
    #[inline(always)]
    pub(super) fn put<R: Record>(&mut self, table: &TableStores<S>, row: &R) -> Result<Rid, Stop> {
        self.session.stored.resize(R::ROW_WIDTH, 0);
        row.store(&mut self.session.stored);
        self.put_stored(table)
    }

    #[inline]
    fn put_stored(&mut self, table: &TableStores<S>) -> Result<Rid, Stop> {
        self.put_stored_at(table, 0)
    }

    /// Puts the rows that are stored one behind the other into the heap file; `placed` is told where each is.
    pub(super) fn put_all_stored(&mut self, table: &TableStores<S>, mut placed: impl FnMut(Rid)) -> Result<(), Stop> {
        let (engine, heap, mut at) = (self.engine, table.heap.store(), 0);
        let Session { journal, owner, stored, .. } = &mut *self.session;
        let lock = |rid| Self::try_lock(&engine.locks, owner, DeferredLock::record(heap, rid, LockMode::X));
        let appended = table.heap.append(&engine.pages, journal, stored, lock, |rid| {
            placed(rid);
            at += table.heap.width();
        });
        self.or_fail(appended)?;
        while at < self.session.stored.len() {
            placed(self.put_stored_at(table, at)?);
            at += table.heap.width();
        }
        Ok(())
    }

    /// Puts the row that is stored from `at` on into the heap file.
    #[inline(always)]
    fn put_stored_at(&mut self, table: &TableStores<S>, at: usize) -> Result<Rid, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        loop {
            let Session { journal, owner, stored, .. } = &mut *self.session;
            let row = &stored[at..at + table.heap.width()];
            let put = table.heap.insert(&engine.pages, &engine.space, journal, row, |rid| {
                Self::try_lock(&engine.locks, owner, DeferredLock::record(heap, rid, LockMode::X))
            });
            match self.or_fail(put)? {
                Some(rid) => return Ok(rid),
                // Another transaction has locked the whole table, or all pages with room.
                None => self.wait_for(DeferredLock {
                    name: LockName::Store(heap),
                    mode: LockMode::IX,
                    duration: Duration::Commit,
                })?,
            }
        }
    }
}

/// What a run that must be run again says. Which partitions it needs means nothing here.
pub(in crate::classic) const AGAIN: Stop = Stop::Retry(Retry { partitions: PartitionSet::EMPTY });

impl DeferredLock {
    #[inline(always)]
    pub(super) fn record(heap: StoreId, rid: Rid, mode: LockMode) -> Self {
        Self { name: LockName::Record(heap, rid), mode, duration: Duration::Commit }
    }

    #[inline(always)]
    pub(super) fn next<S: Stack>(next: Next, heap: StoreId, index: &IndexStore<S>, mode: LockMode) -> Self {
        match next {
            Next::Record(rid) => Self::record(heap, rid, mode),
            Next::End => Self { name: LockName::End(index.store()), mode, duration: Duration::Commit },
        }
    }

    /// A leaf of an index, to the end.
    #[inline(always)]
    pub(super) fn leaf<S: Stack>(index: &IndexStore<S>, leaf: PageId, mode: LockMode) -> Self {
        Self { name: LockName::Page(index.store(), leaf), mode, duration: Duration::Commit }
    }

    /// What a search ends at: the record in `mode`, or the gap in S.
    #[inline(always)]
    pub(super) fn of<S: Stack>(neighbour: Neighbour, heap: StoreId, index: &IndexStore<S>, mode: LockMode) -> Self {
        match neighbour {
            Neighbour::Here(rid) => Self::record(heap, rid, mode),
            Neighbour::Beyond(next) => Self::next(next, heap, index, LockMode::S),
        }
    }
}
