//! A transaction on one partition of several: the rows here for real, rows elsewhere in copies.

use std::ops::ControlFlow;

use super::super::memory::RowId;
use super::super::partition::Partition;
use super::super::table::Table;
use super::super::transaction::PartitionedTransaction;
use super::elsewhere::{Elsewhere, Lookup, Wanted, bytes_of, range_of};
use super::watch::{Touch, Watch, name, names, space};
use crate::procedure::{Retry, Stop, Transaction, partition_of};
use crate::record::{Bounds, Direction, Encoded, EncodedKey, Index, IndexVisitor, Key, Record, Timestamp};

/// Which partition this is, and which take part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) index: u8,
    pub(super) count: u8,
    pub(super) participants: u64,
}

/// Why a run could not go on; the last of these that came up.
#[derive(Default)]
pub(super) struct Lacks {
    pub(super) wanted: Vec<Wanted>,
    /// Partitions that do not take part and would have to.
    pub(super) partitions: u64,
    /// The watch refused.
    pub(super) refused: bool,
    /// What was given cannot be right.
    pub(super) bad: Option<String>,
}

pub(super) struct ShardTransaction<'a, W> {
    /// Thinks that this partition is all there is.
    pub(super) inner: PartitionedTransaction<'a>,
    pub(super) partition: *mut Partition,
    pub(super) place: Place,
    pub(super) elsewhere: Elsewhere<'a>,
    pub(super) lacks: Lacks,
    /// Whether rows that are deleted keep their places until the transaction ends, because others run meanwhile.
    pub(super) keep_places: bool,
    pub(super) watch: W,
}

const STOP: Stop = Stop::Retry(Retry { partitions: 0 });

impl<'a, W: Watch> ShardTransaction<'a, W> {
    #[inline(always)]
    fn table<R: Record>(&mut self) -> &'a mut Table<R> {
        // SAFETY: the shard is borrowed for as long as this lives, and tables are used by one call of it at a time.
        unsafe { &mut *self.partition }.table::<R>()
    }

    /// The partition of a key's row, if it is not here.
    #[inline(always)]
    fn partition_elsewhere<R: Record>(&self, key: &R::Key) -> Option<u8> {
        let placement = key.placement_at(R::PLACEMENT?);
        let partition = partition_of(placement, u64::from(self.place.count)) as u8;
        (partition != self.place.index).then_some(partition)
    }

    #[cold]
    fn refused(&mut self) -> Stop {
        self.lacks.refused = true;
        STOP
    }

    #[inline(always)]
    fn touch<R: Record>(&mut self, key: R::Encoded, touch: Touch) -> Result<(), Stop> {
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
        if R::INDEXES == 0 {
            return Ok(());
        }
        let number = self.table::<R>().number;
        let mut touches = Touches { number, row, other, watch: &mut self.watch, allowed: true };
        R::each_index(&mut touches);
        if touches.allowed { Ok(()) } else { Err(self.refused()) }
    }

    /// Asks for rows of other partitions; those that do not take part would have to.
    #[cold]
    fn want(&mut self, partitions: u64, table: u16, lookup: Lookup) -> Stop {
        self.lacks.partitions |= partitions & !self.place.participants;
        self.lacks.wanted.push(Wanted { partitions, table, lookup, writes: false });
        STOP
    }

    /// The run's copy of a row elsewhere.
    fn copy<R: Record>(&mut self, partition: u8, key: &R::Key) -> Result<&mut Option<Box<dyn std::any::Any>>, Stop> {
        let number = self.table::<R>().number;
        let bytes = bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH);
        match self.elsewhere.row::<R>(number, partition, &bytes) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(self.want(1 << partition, number, Lookup::Key(bytes))),
            Err(bad) => {
                self.lacks.bad = Some(bad);
                return Err(STOP);
            }
        }
        let found = self.elsewhere.row::<R>(number, partition, &bytes);
        Ok(found.ok().flatten().expect("it was there a moment ago"))
    }

    /// A write to a row of a partition that does not take part would be lost.
    fn takes_part(&mut self, partition: u8) -> Result<(), Stop> {
        if self.place.participants >> partition & 1 == 1 {
            return Ok(());
        }
        self.lacks.partitions |= 1 << partition;
        Err(STOP)
    }

    #[inline(always)]
    fn find<R: Record>(&mut self, key: &R::Key) -> Option<(&'a mut Table<R>, RowId)> {
        // SAFETY: the shard is borrowed for as long as this lives.
        if let Some(found) = unsafe { self.inner.scratch.lookups.take::<R>(key) } {
            return Some(found);
        }
        let table = self.table::<R>();
        table.find(key.encode()).map(|id| (table, id))
    }

    /// The partitions other than this that a scan goes to, given its placement (`None`: any).
    fn others(&self, placed: bool, placement: Option<u64>) -> u64 {
        let count = u64::from(self.place.count);
        let on = match placement {
            _ if !placed => 0,
            Some(placement) => 1 << partition_of(placement, count),
            None => u64::MAX >> (64 - count),
        };
        on & !(1 << self.place.index)
    }

    /// Whether a scan with this placement finds rows here.
    fn is_here(&self, placed: bool, placement: Option<u64>) -> bool {
        let here = |it| partition_of(it, u64::from(self.place.count)) as u8 == self.place.index;
        !placed || placement.is_none_or(here)
    }

    /// Visits rows of several partitions in the order of `key`, `here` the ones of this.
    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn scan_several<R: Record, E: EncodedKey>(
        &mut self,
        others: u64,
        lookup: Lookup,
        range: &Encoded<E>,
        direction: Direction,
        key: impl Fn(&R) -> E,
        here: Vec<R>,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let number = self.table::<R>().number;
        let (mut rows, unasked) = match self.elsewhere.range::<R, E>(number, others, &lookup, range, &key) {
            Ok(found) => found,
            Err(bad) => {
                self.lacks.bad = Some(bad);
                return Err(STOP);
            }
        };
        if unasked != 0 {
            return Err(self.want(unasked, number, lookup));
        }
        rows.extend(here);
        rows.sort_by_key(|row| key(row));
        if direction == Direction::Backward {
            rows.reverse();
        }
        let _ = rows.iter().try_for_each(&mut visit);
        Ok(())
    }

    #[inline(always)]
    fn insert_here<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.touch::<R>(row.key().encode(), Touch::Write)?;
        self.touch_indexes(row, None)?;
        let table = self.table::<R>();
        self.inner.insert_in(table, row, false)
    }
}

impl<W: Watch> Transaction for ShardTransaction<'_, W> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        if let Some(partition) = self.partition_elsewhere::<R>(key) {
            let copy = self.copy::<R>(partition, key)?.as_ref();
            return Ok(copy.map(|row| row.downcast_ref().expect("the record says what it is")));
        }
        self.touch::<R>(key.encode(), Touch::Read)?;
        Ok(self.find::<R>(key).map(|(table, id)| table.rows.get(id)))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if let Some(partition) = self.partition_elsewhere::<R>(key) {
            self.takes_part(partition)?;
            let copy = self.copy::<R>(partition, key)?.as_mut();
            return Ok(copy.map(|row| change(row.downcast_mut().expect("the record says what it is"))));
        }
        self.touch::<R>(key.encode(), Touch::Write)?;
        let Some((table, id)) = self.find::<R>(key) else { return Ok(None) };
        if R::INDEXES == 0 {
            return self.inner.update_at(table, id, key, false, change).map(Some);
        }
        // Which index keys it comes to is to be told before anybody could notice.
        let before = *table.rows.get(id);
        let mut after = before;
        let out = change(&mut after);
        self.touch_indexes(&before, Some(&after))?;
        self.touch_indexes(&after, Some(&before))?;
        self.inner.update_at(table, id, key, false, |row| *row = after)?;
        Ok(Some(out))
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let key = row.key();
        let Some(partition) = self.partition_elsewhere::<R>(&key) else { return self.insert_here(row) };
        self.takes_part(partition)?;
        let number = self.table::<R>().number;
        let bytes = bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH);
        // Whether the key is free is found where the row goes. Here it matters only to this run.
        match self.elsewhere.row::<R>(number, partition, &bytes) {
            Ok(Some(Some(_))) => return Err(Stop::duplicate_key(R::TABLE)),
            Ok(Some(copy)) => *copy = Some(Box::new(*row)),
            _ => self.elsewhere.write(bytes, Some(*row)),
        }
        Ok(())
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if let Some(partition) = self.partition_elsewhere::<R>(key) {
            self.takes_part(partition)?;
            return Ok(self.copy::<R>(partition, key)?.take().is_some());
        }
        self.touch::<R>(key.encode(), Touch::Write)?;
        let table = self.table::<R>();
        let Some(id) = table.find(key.encode()) else { return Ok(false) };
        self.touch_indexes(&{ *table.rows.get(id) }, None)?;
        if !self.keep_places {
            return Ok(self.inner.delete_in::<R>(table, key, false));
        }
        self.inner.wrote = true;
        self.inner.scratch.undo.unlinking(table, id);
        table.unlink(id);
        self.inner.scratch.lookups.clear();
        Ok(true)
    }

    #[inline(always)]
    fn scan<R: Record>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let placement = R::PLACEMENT.and_then(|position| bounds.placement_at(position));
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        let others = self.others(R::PLACEMENT.is_some(), placement);
        let here = self.is_here(R::PLACEMENT.is_some(), placement);
        if here {
            let (low, high) = names(&range, R::Key::WIDTH);
            let number = self.table::<R>().number;
            if !self.watch.range(space(number, None), low, high) {
                return Err(self.refused());
            }
        }
        if others == 0 {
            return self.inner.scan::<R>(bounds, direction, visit);
        }
        let mut rows = Vec::new();
        if here {
            self.inner.scan::<R>(bounds, direction, |row| {
                rows.push(*row);
                ControlFlow::Continue(())
            })?;
        }
        let lookup = range_of(None, &range, R::Key::WIDTH);
        self.scan_several(others, lookup, &range, direction, |row: &R| row.key().encode(), rows, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = I::PLACEMENT.and_then(|position| bounds.placement_at(position));
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        let others = self.others(partitioned, placement);
        let mut rows = Vec::new();
        if self.is_here(partitioned, placement) {
            let number = self.table::<I::Record>().number;
            let (low, high) = names(&range, I::Key::WIDTH);
            if !self.watch.range(space(number, Some(I::POSITION)), low, high) {
                return Err(self.refused());
            }
            let (watch, mut allowed) = (&mut self.watch, true);
            self.inner.scan_index::<I>(bounds, direction, |row| {
                let key = row.key().encode::<<I::Record as Record>::Encoded>();
                let key = name(&key, <<I::Record as Record>::Key as Key>::WIDTH);
                allowed = watch.point(space(number, None), key, Touch::Read);
                match (allowed, others) {
                    (false, _) => ControlFlow::Break(()),
                    (true, 0) => visit(row),
                    (true, _) => {
                        rows.push(*row);
                        ControlFlow::Continue(())
                    }
                }
            })?;
            if !allowed {
                return Err(self.refused());
            }
        }
        if others == 0 {
            return Ok(());
        }
        let lookup = range_of(Some(I::POSITION), &range, I::Key::WIDTH);
        self.scan_several(others, lookup, &range, direction, |row| I::key(row).encode(), rows, visit)
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
        self.partition_elsewhere::<R>(key).is_none()
    }
}
