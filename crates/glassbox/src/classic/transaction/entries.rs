//! The index entries of a row: what inserting, changing and deleting it does to the trees of its table; and walks along
//! an index.
//!
//! An access is atomic by itself: after a duplicate key nothing of it is left, though the transaction may go on.

use std::ops::ControlFlow;

use super::super::change::Undo;
use super::super::directory::Directory;
use super::super::engine::{IndexStore, TableStores, TreeOf};
use super::super::ids::{PageId, Rid};
use super::super::lock::{Duration, LockMode, Locks};
use super::super::stack::{Session, Stack};
use super::super::tree::{Cursor, InLeaf, Inserted, Near, Neighbour, Removed, Step};
use super::super::wal::transaction::AccessSavepoint;
use super::{AGAIN, DeferredLock, FetchStage, StackTransaction};
use crate::procedure::{Stop, Transaction};
use crate::record::{Direction, Encoded, EncodedKey, Index, IndexVisitor, Key, Record};

/// Whether a change of a tree was made.
enum Changed {
    Done,
    /// A unique key is there already: in the secondary index at this position; `None`: the primary one.
    Duplicate(Option<usize>),
}

impl Changed {
    /// The same, of a secondary index.
    #[inline(always)]
    fn of_index(self, position: usize) -> Self {
        if let Self::Duplicate(_) = self { Self::Duplicate(Some(position)) } else { self }
    }
}

impl<S: Stack> StackTransaction<'_, S> {
    /// Adds an entry to a tree.
    #[inline(always)]
    fn enter(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        key: impl EncodedKey,
        rid: Rid,
    ) -> Result<Changed, Stop> {
        key.for_bytes(index.key_width(), |key| self.enter_key(table, index, key, rid))
    }

    #[inline]
    fn enter_key(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        key: &[u8],
        rid: Rid,
    ) -> Result<Changed, Stop> {
        let tree = self.or_fail(self.engine.look_up(index))?;
        let entered = self.enter_with(table, index, tree, (key, rid), &[])?;
        Ok(if entered.is_some() { Changed::Done } else { Changed::Duplicate(None) })
    }

    /// Adds an entry to a tree that was looked up, and those that follow as far as they come right behind it. How many
    /// did; `None` when the key is there already.
    #[inline(always)]
    pub(super) fn enter_with(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        tree: TreeOf<'_, S>,
        (key, rid): (&[u8], Rid),
        following: &[(u64, Rid)],
    ) -> Result<Option<usize>, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        loop {
            let Session { journal, owner, fingers, .. } = &mut *self.session;
            let mut refused = None;
            let mut near = Near::new((key, rid), Undo::Logical, Some(fingers), following);
            let inserted = tree.insert_near(journal, &mut near, S::Locks::ASKS, |InLeaf { leaf, found }| {
                let entry = match found {
                    // Perhaps only until its inserter is rolled back: known once its record can be read.
                    Neighbour::Here(other) => DeferredLock::record(heap, other, LockMode::S),
                    Neighbour::Beyond(next) => DeferredLock {
                        duration: Duration::Momentary,
                        ..DeferredLock::next(next, heap, index, LockMode::X)
                    },
                };
                Self::try_lock_entry(&engine.locks, owner, index, (leaf, LockMode::X), entry, &mut refused)
            });
            let Near { followed, new_leaves, .. } = near;
            let inserted = self.or_fail(inserted)?;
            if S::Locks::ASKS && index.locks_leaves {
                for leaf in new_leaves.into_iter().filter(|leaf| *leaf != PageId::NONE) {
                    self.wait_for(DeferredLock::leaf(index, leaf, LockMode::X))?;
                }
            }
            match inserted {
                Inserted::Done => return Ok(Some(followed)),
                Inserted::Exists(_) => return Ok(None),
                Inserted::Refused(_) => self.wait_for(refused.expect("a lock was refused"))?,
            }
        }
    }

    /// Removes an entry, which is there, from a tree.
    #[inline(always)]
    fn strike(&mut self, table: &TableStores<S>, index: &IndexStore<S>, key: impl EncodedKey) -> Result<(), Stop> {
        key.for_bytes(index.key_width(), |key| self.strike_key(table, index, key))
    }

    #[inline]
    fn strike_key(&mut self, table: &TableStores<S>, index: &IndexStore<S>, key: &[u8]) -> Result<(), Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        let tree = self.or_fail(engine.look_up(index))?;
        loop {
            let Session { journal, owner, .. } = &mut *self.session;
            let mut refused = None;
            let removed = tree.remove(journal, key, Undo::Logical, |InLeaf { leaf, found }| {
                let entry = DeferredLock::next(found, heap, index, LockMode::X);
                Self::try_lock_entry(&engine.locks, owner, index, (leaf, LockMode::X), entry, &mut refused)
            });
            match self.or_fail(removed)? {
                Removed::Done(_) => return Ok(()),
                Removed::Refused(_) => self.wait_for(refused.expect("a lock was refused"))?,
                Removed::Missing => return Err(self.fail(self.engine.missing_entry(index))),
            }
        }
    }

    /// Inserts a row: its record, then its entries, that of the primary key first.
    #[inline(always)]
    pub(super) fn insert_row<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        if S::TWO_STAGE && self.is_fetching() {
            return self.dry(|run| run.insert(row));
        }
        let inserted = self.insert_row_now(row);
        if S::TWO_STAGE && inserted.is_err() && self.is_fetching() {
            return self.dry(|run| run.insert(row));
        }
        inserted
    }

    #[inline(always)]
    fn insert_row_now<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        if S::TWO_STAGE {
            self.accesses += 1;
        }
        // Of a row that is in one index only, nothing but the record can be there when a key is refused.
        let access = self.session.journal.begin_access(R::INDEXES == 0);
        let rid = self.put(table, row)?;
        let mut entered = self.enter(table, &table.primary, row.key().encode::<R::Encoded>(), rid)?;
        if R::INDEXES > 0 && matches!(entered, Changed::Done) {
            let mut enter = EnterAll { transaction: self, table, row, rid, entered: Ok(Changed::Done) };
            R::each_index(&mut enter);
            entered = enter.entered?;
        }
        self.end_access(row, entered, access, (table, &[(0, rid)]))
    }

    /// Ends an access that gave `row`; after a duplicate key it is undone. `puts`: the records that it inserted.
    #[inline(always)]
    fn end_access<R: Record>(
        &mut self,
        row: &R,
        changed: Changed,
        access: AccessSavepoint,
        puts: (&TableStores<S>, &[(u64, Rid)]),
    ) -> Result<(), Stop> {
        match changed {
            Changed::Done => {
                self.session.journal.end_access(access);
                Ok(())
            }
            Changed::Duplicate(index) => Err(self.undo_access(row, index, access, puts)),
        }
    }

    #[cold]
    pub(super) fn undo_access<R: Record>(
        &mut self,
        row: &R,
        index: Option<usize>,
        access: AccessSavepoint,
        (table, puts): (&TableStores<S>, &[(u64, Rid)]),
    ) -> Stop {
        let Some(since) = access.since() else { return self.delete_puts(row, table, puts, Some(access)) };
        if let Err(error) = self.engine.roll_back(self.session, since) {
            return self.fail(error);
        }
        self.session.journal.end_access(access);
        Stop::duplicate_key(row, index)
    }

    /// Makes the indexes follow a row that changed from `before` to `after`.
    #[inline(always)]
    fn reindex<R: Record>(&mut self, table: &TableStores<S>, rid: Rid, before: &R, after: &R) -> Result<(), Stop> {
        let access = self.session.journal.begin_access(false);
        let mut follow = Follow { transaction: self, table, before, after, rid, followed: Ok(Changed::Done) };
        R::each_index(&mut follow);
        let followed = follow.followed?;
        self.end_access(after, followed, access, (table, &[]))
    }

    /// Deletes a row that is locked in X.
    #[inline(always)]
    pub(super) fn delete_row<R: Record>(&mut self, table: &TableStores<S>, rid: Rid, key: &R::Key) -> Result<(), Stop> {
        self.settle(rid.page);
        if S::TWO_STAGE && self.is_fetching() {
            return self.dry(|run| run.delete::<R>(key)).map(drop);
        }
        let deleted = self.delete_row_now::<R>(table, rid, key);
        if S::TWO_STAGE && deleted.is_err() && self.is_fetching() {
            return self.dry(|run| run.delete::<R>(key)).map(drop);
        }
        deleted
    }

    #[inline(always)]
    fn delete_row_now<R: Record>(&mut self, table: &TableStores<S>, rid: Rid, key: &R::Key) -> Result<(), Stop> {
        if R::INDEXES > 0 {
            let row = *self.read::<R>(table, rid)?;
            if S::TWO_STAGE && self.is_fetching() {
                // Its page was evicted just now.
                return Err(AGAIN);
            }
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
            self.entered = self.transaction.enter(self.table, index, key, self.rid).map(|it| it.of_index(I::POSITION));
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
        let struck = self.transaction.strike(self.table, index, old);
        let followed = struck.and_then(|()| self.transaction.enter(self.table, index, new, self.rid));
        self.followed = followed.map(|it| it.of_index(I::POSITION));
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

/// Whether all secondary indexes have both states of a row under the same key.
#[inline(always)]
fn has_same_entries<R: Record>(before: &R, after: &R) -> bool {
    let mut same = SameEntries { before, after, same: true };
    R::each_index(&mut same);
    same.same
}

/// Compares the keys of two states of a row.
struct SameEntries<'a, R> {
    before: &'a R,
    after: &'a R,
    same: bool,
}

impl<R: Record> IndexVisitor<R> for SameEntries<'_, R> {
    #[inline(always)]
    fn visit<I: Index<Record = R>>(&mut self) {
        self.same &= I::key(self.before).is_key(&I::key(self.after));
    }
}

// Changes of rows that may move in an index, and walks along one.

impl<S: Stack> StackTransaction<'_, S> {
    /// Changes the row of this key, which is there, locked in X.
    #[inline(always)]
    pub(super) fn update_at<R: Record, O>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        self.settle(rid.page);
        if S::TWO_STAGE && self.is_fetching() {
            return self.dry(|run| run.update(key, change))?.ok_or(AGAIN);
        }
        let mut moved = None;
        let out = self.change_row(table, rid, |row: &mut R, before| {
            let out = change(row);
            let same = row.key().is_key(key);
            assert!(same, "an update changed the primary key of table `{}`; delete and insert instead", R::TABLE);
            // Trees are latched before pages of records: who moves in an index is written after that.
            let stays = R::INDEXES == 0 || has_same_entries(&before.load(), row);
            if !stays {
                moved = Some((before.load(), *row));
            }
            (stays, out)
        })?;
        if let Some((before, after)) = moved {
            let followed = self.reindex(table, rid, &before, &after);
            let written = followed.and_then(|()| self.write(table, rid, &after));
            match written {
                Err(_) if S::TWO_STAGE && self.is_fetching() => FetchStage(self).entries(table, &before, Some(&after)),
                other => other?,
            }
        }
        Ok(out)
    }

    /// Visits the rows of a range of an index; each is locked in `mode` before it is read, and the end of the range
    /// in S.
    #[inline(always)]
    pub(super) fn walk<R: Record, E: EncodedKey>(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        (range, direction, mode): (Encoded<E>, Direction, LockMode),
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let width = index.key_width();
        let mut cursor =
            range.low.for_bytes(width, |low| range.high.for_bytes(width, |high| Cursor::new(direction, low, high)));
        while let Some(rid) = self.step(table, index, &mut cursor, mode)? {
            if visit(self.read::<R>(table, rid)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The next record of a walk, locked.
    #[inline]
    fn step(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        cursor: &mut Cursor,
        mode: LockMode,
    ) -> Result<Option<Rid>, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        if cursor.key().is_empty() {
            self.or_fail(engine.directory.access(&engine.pages, &index.entry))?;
        }
        let tree = engine.tree(index);
        if S::TWO_STAGE {
            self.accesses += 1;
        }
        loop {
            if S::TWO_STAGE && self.is_fetching() {
                return FetchStage(self).step(index, cursor);
            }
            let owner = &mut self.session.owner;
            let mut refused = None;
            let step = cursor.step(&tree, |InLeaf { leaf, found }| {
                let entry = DeferredLock::of(found, heap, index, mode);
                Self::try_lock_entry(&engine.locks, owner, index, (leaf, LockMode::S), entry, &mut refused)
            });
            let step = match self.or_fail(step) {
                Err(_) if S::TWO_STAGE && self.is_fetching() => continue,
                step => step?,
            };
            match step {
                Step::Got(rid) => return Ok(Some(rid)),
                Step::End => return Ok(None),
                Step::Refused(_) => self.wait_for(refused.expect("a lock was refused"))?,
            }
        }
    }
}
