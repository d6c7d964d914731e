//! The calls of a procedure: one row each, and scans; batches and index entries stand in files of their own.

use std::ops::ControlFlow;

use super::super::directory::Directory;
use super::super::engine::{IndexStore, TableStores};
use super::super::ids::Rid;
use super::super::lock::LockMode;
use super::super::stack::Stack;
use super::super::tree::{Cursor, Neighbour, Step};
use super::entries::has_same_entries;
use super::{DeferredLock, StackTransaction};
use crate::procedure::{Stop, Transaction};
use crate::record::{Bounds, Direction, Encoded, EncodedKey, Index, OrderedRecord, Record, Timestamp, mix};

impl<S: Stack> Transaction for StackTransaction<'_, S> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        let Some(rid) = self.find::<R>(key, LockMode::S)? else { return Ok(None) };
        let table = self.table::<R>()?;
        self.read::<R>(table, rid).map(|row| Some(&*row))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        let Some(rid) = self.find::<R>(key, LockMode::X)? else { return Ok(None) };
        let table = self.table::<R>()?;
        self.update_at(table, rid, key, change).map(Some)
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.each::<R, C>(keys, LockMode::S, |tx, table, _, beside, rid| match rid {
            Some(rid) => read(beside, Some(tx.read::<R>(table, rid)?)),
            None => read(beside, None),
        })
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        self.each::<R, C>(keys, LockMode::X, |tx, table, key, beside, rid| match rid {
            Some(rid) => tx.update_at(table, rid, key, |row| change(beside, row)),
            None => Ok(()),
        })
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.insert_row(row)
    }

    #[inline(always)]
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        self.insert_rows(rows)
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        let Some(rid) = self.find::<R>(key, LockMode::X)? else { return Ok(false) };
        let table = self.table::<R>()?;
        self.delete_row::<R>(table, rid, key)?;
        Ok(true)
    }

    #[inline(always)]
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        self.walk(table, &table.primary, range, direction, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let table = self.table::<I::Record>()?;
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        self.walk(table, &table.indexes[I::POSITION], range, direction, visit)
    }

    #[inline(always)]
    fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| Timestamp::from_micros(self.engine.clock.wall_us()))
    }

    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random)
    }
}

impl<S: Stack> StackTransaction<'_, S> {
    /// Changes the row of this key, which is there, locked in X.
    #[inline(always)]
    fn update_at<R: Record, O>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        let mut moved = None;
        let out = self.change_row(table, rid, |row: &mut R, before| {
            let out = change(row);
            let same = row.key() == *key;
            assert!(same, "an update changed the primary key of table `{}`; delete and insert instead", R::TABLE);
            // Trees are latched before pages of records: who moves in an index is written after that.
            let stays = R::INDEXES == 0 || has_same_entries(&before.load(), row);
            if !stays {
                moved = Some((before.load(), *row));
            }
            (stays, out)
        })?;
        if let Some((before, after)) = moved {
            self.reindex(table, rid, &before, &after)?;
            self.write(table, rid, &after)?;
        }
        Ok(out)
    }

    /// Visits the rows of a range of an index; each is locked before it is read, and so is what ends the range.
    #[inline(always)]
    fn walk<R: Record, E: EncodedKey>(
        &mut self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        range: Encoded<E>,
        direction: Direction,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let width = index.key_width();
        let mut cursor =
            range.low.for_bytes(width, |low| range.high.for_bytes(width, |high| Cursor::new(direction, low, high)));
        while let Some(rid) = self.step(table, index, &mut cursor)? {
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
    ) -> Result<Option<Rid>, Stop> {
        let (engine, heap) = (self.engine, table.heap.store());
        if cursor.key().is_empty() {
            self.or_fail(engine.directory.access(&engine.pages, &index.entry))?;
        }
        let tree = engine.tree(index);
        loop {
            let owner = &mut self.session.owner;
            let mut wanted = None;
            let step = cursor.step(&tree, |neighbour: Neighbour| {
                let want = DeferredLock::of(neighbour, heap, index, LockMode::S);
                wanted = Some(want);
                Self::try_lock(&engine.locks, owner, want)
            });
            match self.or_fail(step)? {
                Step::Got(rid) => return Ok(Some(rid)),
                Step::End => return Ok(None),
                Step::Refused(_) => self.wait_for(wanted.expect("it was asked for"))?,
            }
        }
    }
}
