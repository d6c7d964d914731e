//! A transaction on the classic engine: every access locks what it touches, and the gaps beside it.
//!
//! Serializable by strict two-phase locking with next-key locks (Mohan, *ARIES/KVL*, VLDB 1990; Mohan and Levine,
//! *ARIES/IM*, SIGMOD 1992). The lock of a key is that of the record that it points to; it also stands for the gap
//! below the key, in every index. So
//!
//! ```text
//! reading a key        S on its record; if it is not there, on the record of the next key (the gap where it would be)
//! scanning             S on each record, and on the first one above the range
//! updating             X on the record
//! inserting a key      X on the record, from before it can be seen; and for a moment X on the next key's: nobody has
//!                      read the gap
//! deleting a key       X on the record, and on the next key's to the end: the gap that the key leaves is not certain
//!                      before
//! ```
//!
//! Behind the last key stands the index's end, which can be locked like a record. Locks are asked for while the leaf is
//! latched, so that what was found is still so when the lock is granted; but without waiting. If somebody is in the way,
//! the latches are let go, the transaction waits, and the access begins again from the root.

use super::engine::Engine;
use super::ids::{Rid, StoreId};
use super::lock::{Duration, LockName, Locks, Mode, Outcome};
use super::session::Session;
use super::stack::Stack;
use super::table::{IndexStore, TableStores};
use super::tree::{Find, Inserted, Neighbour, Next, Removed};
use crate::classic::change::Undo;
use crate::error::Error;
use crate::procedure::{Retry, Stop};
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record, Timestamp};

/// A run of a transaction in a session.
pub(crate) struct StackTransaction<'e, S: Stack> {
    pub(super) engine: &'e Engine<S>,
    pub(super) session: &'e mut Session<S>,
    pub(super) now: Option<Timestamp>,
    pub(super) random: u64,
    /// How often it has been run before.
    pub(super) repeated: u64,
    /// Why it cannot go on; from then on every access stops.
    pub(super) ended: Option<Ended>,
}

/// Why a run cannot go on.
pub(super) enum Ended {
    /// It was in a deadlock, or waited too long; it is to be run again.
    Again,
    /// The engine failed it.
    Failed(Error),
}

/// A name to be locked, when that was refused without waiting.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    name: LockName,
    mode: Mode,
    duration: Duration,
}

/// Whether a change of a tree was made.
enum Changed {
    Done,
    /// A unique key is there already.
    Duplicate,
}

impl<'e, S: Stack> StackTransaction<'e, S> {
    /// Passes on what went wrong in the engine, and ends the run.
    #[cold]
    pub(super) fn fail(&mut self, error: Error) -> Stop {
        self.ended = Some(Ended::Failed(error));
        AGAIN
    }

    #[inline(always)]
    pub(super) fn or_fail<T>(&mut self, result: Result<T, Error>) -> Result<T, Stop> {
        result.map_err(|error| self.fail(error))
    }

    /// The stores of a record's table.
    #[inline(always)]
    pub(super) fn table<R: Record>(&self) -> Result<&'e TableStores<S>, Stop> {
        if self.ended.is_some() { Err(AGAIN) } else { Ok(self.engine.table::<R>()) }
    }

    /// Locks without waiting, for whoever holds a latch.
    #[inline(always)]
    pub(super) fn try_lock(locks: &S::Locks, owner: &mut <S::Locks as Locks>::Owner, wanted: Wanted) -> bool {
        locks.lock(owner, wanted.name, wanted.mode, false, wanted.duration) == Outcome::Granted
    }

    /// Waits for a lock; no latch is held.
    pub(super) fn wait_for(&mut self, wanted: Wanted) -> Result<(), Stop> {
        let locks = &self.engine.locks;
        locks.set_txn(&mut self.session.owner, self.session.journal.transaction());
        // Whoever has been a victim before is so again only if all others were oftener.
        locks.set_work(&mut self.session.owner, self.repeated << 32 | self.session.journal.changes() as u64);
        match locks.lock(&mut self.session.owner, wanted.name, wanted.mode, true, wanted.duration) {
            Outcome::Granted => Ok(()),
            Outcome::WouldBlock => unreachable!("the request was to wait"),
            Outcome::Deadlock | Outcome::Timeout => {
                self.ended = Some(Ended::Again);
                Err(AGAIN)
            }
        }
    }

    /// The record of a primary key, locked in `mode`; if there is none, the gap is locked in S.
    #[inline(always)]
    pub(super) fn find<R: Record>(&mut self, key: &R::Key, mode: Mode) -> Result<Option<Rid>, Stop> {
        let table = self.table::<R>()?;
        let engine = self.engine;
        let tree = self.or_fail(engine.look_up(&table.primary))?;
        let heap = table.heap.store();
        let encoded: R::Encoded = key.encode();
        loop {
            let owner = &mut self.session.owner;
            let mut wanted = None;
            let found = encoded.for_bytes(R::Key::WIDTH, |key| {
                tree.find(key, |neighbour| {
                    let want = Wanted::of(neighbour, heap, &table.primary, mode);
                    wanted = Some(want);
                    Self::try_lock(&engine.locks, owner, want)
                })
            });
            match self.or_fail(found)? {
                Find::Found(rid) => return Ok(Some(rid)),
                Find::Missing => return Ok(None),
                Find::Refused(_) => self.wait_for(wanted.expect("it was asked for"))?,
            }
        }
    }

    /// Reads a record that is locked into the session's buffer of stored rows, and decodes it.
    #[inline(always)]
    pub(super) fn read<R: Record>(&mut self, table: &TableStores<S>, rid: Rid) -> Result<R, Stop> {
        let read = table.heap.read(&self.engine.pages, rid, |bytes| R::load(bytes));
        match self.or_fail(read)? {
            Some(Ok(row)) => Ok(row),
            Some(Err(bad)) => Err(self.fail(self.engine.bad_row(rid, bad))),
            None => Err(self.fail(self.engine.missing_record(R::TABLE, rid))),
        }
    }

    /// Writes a row over a record that is locked in X.
    #[inline(always)]
    pub(super) fn write<R: Record>(&mut self, table: &TableStores<S>, rid: Rid, row: &R) -> Result<(), Stop> {
        let Session { journal, stored, .. } = &mut *self.session;
        stored.resize(R::ROW_WIDTH, 0);
        row.store(stored);
        let updated = table.heap.update(&self.engine.pages, journal, rid, stored);
        match self.or_fail(updated)? {
            true => Ok(()),
            false => Err(self.fail(self.engine.missing_record(R::TABLE, rid))),
        }
    }

    /// Puts a row into the heap file; the record is locked before anybody can see it.
    #[inline(always)]
    pub(super) fn put<R: Record>(&mut self, table: &TableStores<S>, row: &R) -> Result<Rid, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        self.session.stored.resize(R::ROW_WIDTH, 0);
        row.store(&mut self.session.stored);
        loop {
            let Session { journal, owner, stored, .. } = &mut *self.session;
            let put = table.heap.insert(&engine.pages, &engine.space, journal, stored, |rid| {
                Self::try_lock(&engine.locks, owner, Wanted::record(heap, rid, Mode::X))
            });
            match self.or_fail(put)? {
                Some(rid) => return Ok(rid),
                // Somebody has locked the whole table, or the pages that could take it.
                None => self.wait_for(Wanted { name: LockName::Store(heap), mode: Mode::IX, duration: Duration::Commit })?,
            }
        }
    }

    /// Adds an entry to a tree.
    #[inline(always)]
    fn enter(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        key: impl EncodedKey,
        rid: Rid,
    ) -> Result<Changed, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        let tree = self.or_fail(engine.look_up(index))?;
        loop {
            let Session { journal, owner, .. } = &mut *self.session;
            let mut wanted = None;
            let inserted = key.for_bytes(index.key_width(), |key| {
                tree.insert(journal, key, rid, Undo::Logical, |next| {
                    let want = Wanted { duration: Duration::Momentary, ..Wanted::next(next, heap, index, Mode::X) };
                    wanted = Some(want);
                    Self::try_lock(&engine.locks, owner, want)
                })
            });
            match self.or_fail(inserted)? {
                Inserted::Done => return Ok(Changed::Done),
                Inserted::Refused(_) => self.wait_for(wanted.expect("it was asked for"))?,
                Inserted::Exists(other) => {
                    // Perhaps only until the one who inserted it is taken back: known once its record can be read.
                    let want = Wanted::record(heap, other, Mode::S);
                    if Self::try_lock(&engine.locks, &mut self.session.owner, want) {
                        return Ok(Changed::Duplicate);
                    }
                    self.wait_for(want)?;
                }
            }
        }
    }

    /// Removes an entry, which is there, from a tree.
    #[inline(always)]
    fn strike(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        key: impl EncodedKey,
    ) -> Result<(), Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        let tree = self.or_fail(engine.look_up(index))?;
        loop {
            let Session { journal, owner, .. } = &mut *self.session;
            let mut wanted = None;
            let removed = key.for_bytes(index.key_width(), |key| {
                tree.remove(journal, key, Undo::Logical, |next| {
                    let want = Wanted::next(next, heap, index, Mode::X);
                    wanted = Some(want);
                    Self::try_lock(&engine.locks, owner, want)
                })
            });
            match self.or_fail(removed)? {
                Removed::Done(_) => return Ok(()),
                Removed::Refused(_) => self.wait_for(wanted.expect("it was asked for"))?,
                Removed::Missing => return Err(self.fail(self.engine.missing_entry(index))),
            }
        }
    }

    /// Inserts a row; on a duplicate key everything that was done for it is taken back.
    #[inline(always)]
    pub(super) fn insert_row<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        let before = self.session.journal.savepoint();
        let rid = self.put(table, row)?;
        let mut entered = self.enter(table, &table.primary, row.key().encode::<R::Encoded>(), rid)?;
        if R::INDEXES > 0 && matches!(entered, Changed::Done) {
            let mut enter = EnterAll { transaction: self, table, row, rid, entered: Ok(Changed::Done) };
            R::each_index(&mut enter);
            entered = enter.entered?;
        }
        match entered {
            Changed::Done => Ok(()),
            Changed::Duplicate => Err(self.duplicate::<R>(before)),
        }
    }

    /// Makes the indexes follow a row that changed from `before` to `after`.
    #[inline(always)]
    pub(super) fn reindex<R: Record>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        before: &R,
        after: &R,
    ) -> Result<(), Stop> {
        let savepoint = self.session.journal.savepoint();
        let mut follow = Follow { transaction: self, table, before, after, rid, followed: Ok(Changed::Done) };
        R::each_index(&mut follow);
        match follow.followed? {
            Changed::Done => Ok(()),
            Changed::Duplicate => Err(self.duplicate::<R>(savepoint)),
        }
    }

    /// Deletes a row that is locked in X.
    #[inline(always)]
    pub(super) fn delete_row<R: Record>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        key: &R::Key,
    ) -> Result<(), Stop> {
        if R::INDEXES > 0 {
            let row = self.read::<R>(table, rid)?;
            let mut strike = StrikeAll { transaction: self, table, row: &row, struck: Ok(()) };
            R::each_index(&mut strike);
            strike.struck?;
        }
        self.strike(table, &table.primary, key.encode::<R::Encoded>())?;
        let deleted = table.heap.delete(&self.engine.pages, &mut self.session.journal, rid);
        match self.or_fail(deleted)? {
            true => Ok(()),
            false => Err(self.fail(self.engine.missing_record(R::TABLE, rid))),
        }
    }

    #[cold]
    fn duplicate<R: Record>(&mut self, before: super::wal::transaction::Savepoint) -> Stop {
        match self.engine.roll_back(self.session, before) {
            Ok(()) => Stop::duplicate_key(R::TABLE),
            Err(error) => self.fail(error),
        }
    }
}

/// What a run that must be run again says. Which partitions it needs means nothing here.
pub(super) const AGAIN: Stop = Stop::Retry(Retry { partitions: 0 });

impl Wanted {
    #[inline(always)]
    pub(super) fn record(heap: StoreId, rid: Rid, mode: Mode) -> Self {
        Self { name: LockName::Record(heap, rid), mode, duration: Duration::Commit }
    }

    #[inline(always)]
    pub(super) fn next<S: Stack>(next: Next, heap: StoreId, index: &IndexStore<S>, mode: Mode) -> Self {
        match next {
            Next::Record(rid) => Self::record(heap, rid, mode),
            Next::End => Self { name: LockName::End(index.store()), mode, duration: Duration::Commit },
        }
    }

    /// What a search ends at: the record in `mode`, or the gap in S.
    #[inline(always)]
    pub(super) fn of<S: Stack>(neighbour: Neighbour, heap: StoreId, index: &IndexStore<S>, mode: Mode) -> Self {
        match neighbour {
            Neighbour::Here(rid) => Self::record(heap, rid, mode),
            Neighbour::Beyond(next) => Self::next(next, heap, index, Mode::S),
        }
    }
}

/// Enters a new row into the secondary indexes.
struct EnterAll<'a, 'e, S: Stack, R> {
    transaction: &'a mut StackTransaction<'e, S>,
    table: &'a TableStores<S>,
    row: &'a R,
    rid: Rid,
    entered: Result<Changed, Stop>,
}

impl<S: Stack, R: Record> IndexVisitor<R> for EnterAll<'_, '_, S, R> {
    #[inline(always)]
    fn visit<I: Index<Record = R>>(&mut self) {
        if let Ok(Changed::Done) = self.entered {
            let index = &self.table.indexes[I::POSITION];
            let key: I::Encoded = I::key(self.row).encode();
            self.entered = self.transaction.enter(self.table, index, key, self.rid);
        }
    }
}

/// Moves a row in those secondary indexes whose key changed.
struct Follow<'a, 'e, S: Stack, R> {
    transaction: &'a mut StackTransaction<'e, S>,
    table: &'a TableStores<S>,
    before: &'a R,
    after: &'a R,
    rid: Rid,
    followed: Result<Changed, Stop>,
}

impl<S: Stack, R: Record> IndexVisitor<R> for Follow<'_, '_, S, R> {
    #[inline(always)]
    fn visit<I: Index<Record = R>>(&mut self) {
        let (old, new): (I::Encoded, I::Encoded) = (I::key(self.before).encode(), I::key(self.after).encode());
        if old == new || !matches!(self.followed, Ok(Changed::Done)) {
            return;
        }
        let index = &self.table.indexes[I::POSITION];
        self.followed = self
            .transaction
            .strike(self.table, index, old)
            .and_then(|()| self.transaction.enter(self.table, index, new, self.rid));
    }
}

/// Strikes a row out of the secondary indexes.
struct StrikeAll<'a, 'e, S: Stack, R> {
    transaction: &'a mut StackTransaction<'e, S>,
    table: &'a TableStores<S>,
    row: &'a R,
    struck: Result<(), Stop>,
}

impl<S: Stack, R: Record> IndexVisitor<R> for StrikeAll<'_, '_, S, R> {
    #[inline(always)]
    fn visit<I: Index<Record = R>>(&mut self) {
        if self.struck.is_ok() {
            let index = &self.table.indexes[I::POSITION];
            let key: I::Encoded = I::key(self.row).encode();
            self.struck = self.transaction.strike(self.table, index, key);
        }
    }
}
