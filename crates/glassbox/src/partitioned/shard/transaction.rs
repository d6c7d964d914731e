//! A transaction on one partition of several: the rows here for real, rows elsewhere in copies.

use std::ops::ControlFlow;

use super::super::find::TableRow;
use super::super::held::Held;
use super::super::lookups::Lookups;
use super::super::run::OnPartitions;
use super::super::table::Table;
use super::super::transaction::PartitionedTransaction;
use super::elsewhere::{Elsewhere, Lookup, Wanted, bytes_of};
use super::place::Place;
use super::watch::{Touch, Watch, name, space};
use crate::procedure::{PartitionSet, Retry, Stop, Transaction};
use crate::record::{Bounds, Direction, Index, IndexVisitor, Key, OrderedRecord, Record, Timestamp};

/// Why a run could not go on; the last of these that came up.
#[derive(Default)]
pub(super) struct Lacks {
    pub(super) wanted: Vec<Wanted>,
    /// Partitions that do not take part and would have to.
    pub(super) partitions: PartitionSet,
    /// The watch refused.
    pub(super) refused: bool,
    /// The defect of a row that was given.
    pub(super) bad: Option<String>,
}

pub(super) struct ShardTransaction<'a, W> {
    /// Thinks that this partition is all there is.
    pub(super) inner: PartitionedTransaction<'a>,
    pub(super) place: Place,
    pub(super) elsewhere: Elsewhere<'a>,
    /// Nothing in most runs.
    pub(super) lacks: Option<Box<Lacks>>,
    /// Whether rows that are deleted keep their places until the transaction ends, because others run meanwhile.
    pub(super) keep_places: bool,
    pub(super) watch: W,
}

impl<'a, W> OnPartitions<'a> for ShardTransaction<'a, W> {
    #[inline(always)]
    fn partitioned(&mut self) -> &mut PartitionedTransaction<'a> {
        &mut self.inner
    }
}

pub(super) const STOP: Stop = Stop::Retry(Retry { partitions: PartitionSet::EMPTY });

impl<W: Watch> ShardTransaction<'_, W> {
    #[inline(always)]
    pub(super) fn table<R: Record>(&mut self) -> &mut Table<R> {
        self.inner.held.home().table::<R>()
    }

    /// Where a run that cannot go on notes why.
    #[cold]
    pub(super) fn lacks(&mut self) -> &mut Lacks {
        self.lacks.get_or_insert_default()
    }

    #[cold]
    pub(super) fn refused(&mut self) -> Stop {
        self.lacks().refused = true;
        STOP
    }

    #[inline(always)]
    fn touch<R: Record>(&mut self, key: R::Encoded, touch: Touch) -> Result<(), Stop> {
        if !self.watch.watches() {
            return Ok(());
        }
        let number = self.table::<R>().number;
        let allowed = self.watch.point(space(number, None), name(&key, R::Key::WIDTH), touch);
        if allowed { Ok(()) } else { Err(self.refused()) }
    }

    /// Says that a row is going to be written at its keys of all secondary indexes; of those only that differ from the
    /// `other` version's, if there is one.
    fn touch_indexes<R: Record>(&mut self, row: &R, other: Option<&R>) -> Result<(), Stop> {
        struct Touches<'t, R, W> {
            number: u16,
            row: &'t R,
            other: Option<&'t R>,
            watch: &'t mut W,
            allowed: bool,
        }
        impl<R: Record, W: Watch> IndexVisitor<R> for Touches<'_, R, W> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let key: I::Encoded = I::key(self.row).encode();
                let other: Option<I::Encoded> = self.other.map(|row| I::key(row).encode());
                if self.allowed && other != Some(key) {
                    let space = space(self.number, Some(I::POSITION));
                    self.allowed = self.watch.point(space, name(&key, I::Key::WIDTH), Touch::Write);
                }
            }
        }
        if !self.tells_of_indexes::<R>() {
            return Ok(());
        }
        let number = self.table::<R>().number;
        let mut touches = Touches { number, row, other, watch: &mut self.watch, allowed: true };
        R::each_index(&mut touches);
        if touches.allowed { Ok(()) } else { Err(self.refused()) }
    }

    /// Asks for rows of other partitions; those that do not take part would have to.
    #[cold]
    pub(super) fn want(&mut self, partitions: PartitionSet, table: u16, lookup: Lookup) -> Stop {
        let participants = self.place.participants;
        let lacks = self.lacks();
        lacks.partitions.extend(partitions.difference(participants));
        lacks.wanted.push(Wanted { partitions, table, lookup, writes: false });
        STOP
    }

    /// The run's copy of a row elsewhere.
    fn copy<R: Record>(&mut self, partition: u8, key: &R::Key) -> Result<&mut Option<Box<dyn std::any::Any>>, Stop> {
        let number = self.table::<R>().number;
        let bytes = bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH);
        match self.elsewhere.row::<R>(number, partition, &bytes) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(self.want(PartitionSet::of(partition.into()), number, Lookup::Key(bytes))),
            Err(bad) => {
                self.lacks().bad = Some(bad);
                return Err(STOP);
            }
        }
        let found = self.elsewhere.row::<R>(number, partition, &bytes);
        Ok(found.ok().flatten().expect("it was there a moment ago"))
    }

    /// A write to a row of a partition that does not take part would be lost.
    fn takes_part(&mut self, partition: u8) -> Result<(), Stop> {
        if self.place.participants.contains(partition.into()) {
            return Ok(());
        }
        self.lacks().partitions.insert(partition.into());
        Err(STOP)
    }

    /// As the inner transaction's `find`, which would have to find out that there is one partition only.
    #[inline(always)]
    fn find<'h, R: Record>(held: &'h mut Held<'_>, lookups: &mut Lookups, key: &R::Key) -> Option<TableRow<'h, R>> {
        if let Some(found) = lookups.take::<R>(held, key) {
            return Some(found.lend(held));
        }
        let table = held.home().table::<R>();
        let row = table.find(key.encode()).map(|id| table.rows.place(id))?;
        Some((table, row))
    }

    #[inline(always)]
    fn insert_here<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.touch::<R>(row.key().encode(), Touch::Write)?;
        self.touch_indexes(row, None)?;
        let PartitionedTransaction { held, changes, .. } = &mut self.inner;
        changes.insert_in(held.home().table::<R>(), row, false)
    }
}

impl<W: Watch> Transaction for ShardTransaction<'_, W> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        if let Some(partition) = self.place.elsewhere::<R>(key) {
            let copy = self.copy::<R>(partition, key)?.as_ref();
            return Ok(copy.map(|row| row.downcast_ref().expect("the record says what it is")));
        }
        self.touch::<R>(key.encode(), Touch::Read)?;
        // SAFETY: it is a live row of this shard, and the borrow of `self` keeps it as it is.
        let PartitionedTransaction { held, changes, .. } = &mut self.inner;
        Ok(Self::find::<R>(held, &mut changes.scratch.lookups, key).map(|(_, row)| unsafe { row.as_ref() }))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if let Some(partition) = self.place.elsewhere::<R>(key) {
            self.takes_part(partition)?;
            let copy = self.copy::<R>(partition, key)?.as_mut();
            return Ok(copy.map(|row| {
                let row: &mut R = row.downcast_mut().expect("the record says what it is");
                // Whole or not at all: the procedure may catch a panic of the change.
                let mut after = *row;
                let out = change(&mut after);
                *row = after;
                out
            }));
        }
        self.touch::<R>(key.encode(), Touch::Write)?;
        let tells_of_indexes = self.tells_of_indexes::<R>();
        let PartitionedTransaction { held, changes, .. } = &mut self.inner;
        let Some((table, place)) = Self::find::<R>(held, &mut changes.scratch.lookups, key) else { return Ok(None) };
        if !tells_of_indexes {
            return changes.update_at(table, place, key, false, change).map(Some);
        }
        // The index keys of the change are reported before it can be seen.
        // SAFETY: as in `get`.
        let before = *unsafe { place.as_ref() };
        let mut after = before;
        let out = change(&mut after);
        self.touch_indexes(&before, Some(&after))?;
        self.touch_indexes(&after, Some(&before))?;
        let PartitionedTransaction { held, changes, .. } = &mut self.inner;
        changes.update_at(held.home().table::<R>(), place, key, false, |row| *row = after)?;
        Ok(Some(out))
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let key = row.key();
        let Some(partition) = self.place.elsewhere::<R>(&key) else { return self.insert_here(row) };
        self.takes_part(partition)?;
        let number = self.table::<R>().number;
        let bytes = bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH);
        // Whether the key is free is found where the row goes. Here it matters only to this run.
        match self.elsewhere.row::<R>(number, partition, &bytes) {
            Ok(Some(Some(_))) => return Err(Stop::duplicate_key(row, None)),
            Ok(Some(copy)) => *copy = Some(Box::new(*row)),
            _ => self.elsewhere.write(bytes, Some(*row)),
        }
        Ok(())
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.get_here_and_elsewhere(keys.into_iter(), read)
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        self.update_here_and_elsewhere(keys.into_iter(), change)
    }

    #[inline(always)]
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        self.insert_here_and_elsewhere(rows.into_iter())
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if let Some(partition) = self.place.elsewhere::<R>(key) {
            self.takes_part(partition)?;
            return Ok(self.copy::<R>(partition, key)?.take().is_some());
        }
        self.touch::<R>(key.encode(), Touch::Write)?;
        let table = self.table::<R>();
        let Some(id) = table.find(key.encode()) else { return Ok(false) };
        let row = *table.rows.get(id);
        self.touch_indexes(&row, None)?;
        let PartitionedTransaction { held, changes, .. } = &mut self.inner;
        let table = held.home().table::<R>();
        if !self.keep_places {
            return Ok(changes.delete_in::<R>(table, key, false));
        }
        changes.wrote = true;
        changes.scratch.undo.unlinking(table, id);
        table.unlink(id);
        changes.scratch.lookups.clear();
        Ok(true)
    }

    #[inline(always)]
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_table::<R>(bounds, direction, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_by_index::<I>(bounds, direction, visit)
    }

    #[inline(always)]
    fn now(&mut self) -> Timestamp {
        self.inner.now()
    }

    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.inner.random()
    }

    #[inline(always)]
    fn owns<R: Record>(&mut self, key: &R::Key) -> bool {
        self.place.elsewhere::<R>(key).is_none()
    }
}
