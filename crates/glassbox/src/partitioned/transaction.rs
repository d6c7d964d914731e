//! A transaction on the partitions whose tokens are held: the engine's implementation of [`Transaction`].
//!
//! Nothing here waits or locks: whoever runs it owns the data. Each access works out the partition from the key; if
//! that one is not held, the run stops and says which partition it needs. What a change costs beyond the change itself
//! depends on two flags that are the same for all of a transaction: keep the old row (`undo`), write the difference to
//! the log record (`values`).

use std::ops::ControlFlow;

use super::merge::merge;
use super::partition::{Cell, Partition, Scratch};
use super::table::{Refused, Table};
use crate::io::Clock;
use crate::procedure::{Abort, Retry, Stop, Transaction, partition_of};
use crate::record::{Bounds, Direction, Index, Key, Record, Timestamp, mix};

/// The code of the abort when memory for rows or index nodes is exhausted.
pub(crate) const TABLE_FULL: u32 = Abort::RESERVED;

/// A run of a transaction on partitions whose tokens the caller holds.
pub struct PartitionedTransaction<'a> {
    cells: &'a [Cell],
    scratch: &'a mut Scratch,
    clock: &'a dyn Clock,
    /// Held partitions, bit *i* for partition *i*.
    held: u64,
    /// A held partition, whose copy of replicated tables is read.
    home: usize,
    undo: bool,
    values: bool,
    /// Whether anything was changed.
    pub(crate) wrote: bool,
    pub(crate) now: Option<Timestamp>,
    pub(crate) seed: u64,
    random: u64,
    /// Partitions that were asked for and are not held.
    missing: u64,
}

/// What a transaction keeps beside its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Old rows, to be able to undo.
    pub(crate) undo: bool,
    /// Changes, for the value log.
    pub(crate) values: bool,
}

impl<'a> PartitionedTransaction<'a> {
    /// # Safety
    /// The caller holds the tokens of all partitions in `held`, `home` among them, for as long as this lives, and
    /// `scratch` is the home's.
    #[inline(always)]
    pub(crate) unsafe fn new(
        cells: &'a [Cell],
        scratch: &'a mut Scratch,
        clock: &'a dyn Clock,
        held: u64,
        home: usize,
        keep: Keep,
    ) -> Self {
        // SAFETY: the home's token is held.
        let partition = unsafe { &mut *cells[home].partition() };
        partition.seed = partition.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let seed = partition.seed;
        Self {
            cells,
            scratch,
            clock,
            held,
            home,
            undo: keep.undo,
            values: keep.values,
            wrote: false,
            now: None,
            seed,
            random: seed,
            missing: 0,
        }
    }

    /// Sets what a replayed transaction was assigned when it first ran.
    pub(crate) fn assign(&mut self, now: Timestamp, seed: u64) {
        (self.now, self.seed, self.random) = (Some(now), seed, seed);
    }

    pub(crate) fn scratch(&mut self) -> &mut Scratch {
        self.scratch
    }

    /// The partition of rows with this placement number; of a replicated table (`None`), the home's copy.
    #[inline(always)]
    fn partition(&mut self, placement: Option<u64>) -> Result<&'a mut Partition, Stop> {
        let at = match placement {
            Some(placement) => partition_of(placement, self.cells.len() as u64) as usize,
            None => self.home,
        };
        if self.held >> at & 1 == 0 {
            return Err(self.miss(1 << at));
        }
        // SAFETY: its token is held. References into partitions live only within one call of this type, or borrow it.
        Ok(unsafe { &mut *self.cells[at].partition() })
    }

    #[cold]
    fn miss(&mut self, partitions: u64) -> Stop {
        self.missing |= partitions;
        Stop::Retry(Retry::Partitions(partitions))
    }

    /// Fails when something was missing, even if the procedure did not pass that on: what it came to means nothing then.
    #[inline(always)]
    pub(crate) fn nothing_missing(&self) -> Result<(), Stop> {
        if self.missing == 0 { Ok(()) } else { Err(Stop::Retry(Retry::Partitions(self.missing))) }
    }

    #[inline(always)]
    fn partition_of_key<R: Record>(&mut self, key: &R::Key) -> Result<&'a mut Partition, Stop> {
        self.partition(R::PLACEMENT.map(|position| key.placement_at(position)))
    }

    /// Every partition, for a change of a replicated table or a scan whose bounds do not fix one.
    fn all_partitions(&mut self) -> Result<impl Iterator<Item = &'a mut Partition> + use<'a>, Stop> {
        let all = u64::MAX >> (64 - self.cells.len());
        if self.held != all {
            return Err(self.miss(all));
        }
        // SAFETY: all tokens are held; each partition is given once.
        Ok(self.cells.iter().map(|cell| unsafe { &mut *cell.partition() }))
    }

    #[inline(always)]
    fn update_in<R: Record, O>(
        &mut self,
        partition: &mut Partition,
        key: &R::Key,
        values: bool,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Stop> {
        let table = partition.table::<R>();
        let Some(id) = table.find(key.encode()) else { return Ok(None) };
        table.preserve(id);
        if !self.undo && !values && R::INDEXES == 0 {
            self.wrote = true;
            let row = table.rows.get_mut(id);
            let out = change(row);
            check_key(row, key);
            return Ok(Some(out));
        }
        let copy;
        let before: &R = if self.undo {
            // SAFETY: the copy in the undo buffer stays until something is added to it, which `change` cannot do.
            unsafe { &*self.scratch.undo.updating(table, id) }
        } else {
            copy = *table.rows.get(id);
            &copy
        };
        // Until the indexes have followed, any way out of here puts the row back: they and undo know the old one.
        let out = {
            let mut guard = PutBack { row: table.rows.get_mut(id), before, armed: true };
            let out = change(guard.row);
            check_key(guard.row, key);
            guard.armed = false;
            out
        };
        if R::INDEXES > 0
            && let Err(refused) = table.reindex(before, id)
        {
            *table.rows.get_mut(id) = *before;
            return Err(refused.stop::<R>());
        }
        self.wrote = true;
        if values {
            table.log_update(key, before, table.rows.get(id), &mut self.scratch.record);
        }
        Ok(Some(out))
    }

    #[inline(always)]
    fn insert_in<R: Record>(&mut self, partition: &mut Partition, row: &R, values: bool) -> Result<(), Stop> {
        let table = partition.table::<R>();
        let id = table.insert(row).map_err(Refused::stop::<R>)?;
        self.wrote = true;
        if self.undo {
            self.scratch.undo.inserted(table, id);
        }
        if values {
            table.log_insert(row, &mut self.scratch.record);
        }
        Ok(())
    }

    #[inline(always)]
    fn delete_in<R: Record>(&mut self, partition: &mut Partition, key: &R::Key, values: bool) -> bool {
        let table = partition.table::<R>();
        let Some(id) = table.find(key.encode()) else { return false };
        self.wrote = true;
        if self.undo {
            self.scratch.undo.deleting(table, id);
        }
        table.remove(id);
        if values {
            table.log_delete(key, &mut self.scratch.record);
        }
        true
    }
}

/// Puts a row back when its change panics.
struct PutBack<'a, R: Copy> {
    row: &'a mut R,
    before: &'a R,
    armed: bool,
}

impl<R: Copy> Drop for PutBack<'_, R> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.armed {
            *self.row = *self.before;
        }
    }
}

/// Changing the primary key would leave the index pointing at a row that is another one.
#[inline(always)]
fn check_key<R: Record>(row: &R, key: &R::Key) {
    assert!(row.key() == *key, "an update changed the primary key of table `{}`; delete and insert instead", R::TABLE);
}

impl Refused {
    #[cold]
    fn stop<R: Record>(self) -> Stop {
        match self {
            Self::Duplicate => Stop::duplicate_key(R::TABLE),
            Self::Full => Stop::abort(TABLE_FULL, format!("no memory for another row of table `{}`", R::TABLE)),
        }
    }
}

impl Transaction for PartitionedTransaction<'_> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        let table = self.partition_of_key::<R>(key)?.table::<R>();
        Ok(table.find(key.encode()).map(|id| table.rows.get(id)))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if R::PLACEMENT.is_some() {
            let partition = self.partition_of_key::<R>(key)?;
            return self.update_in(partition, key, self.values, change);
        }
        // The change may be run once only: the other copies take over the row that it made.
        let mut partitions = self.all_partitions()?;
        let first = partitions.next().expect("a database has a partition");
        let Some(out) = self.update_in(first, key, self.values, change)? else { return Ok(None) };
        let table = first.table::<R>();
        let row = *table.rows.get(table.find(key.encode()).expect("it was just changed"));
        for partition in partitions {
            self.update_in::<R, _>(partition, key, false, |copy| *copy = row)?;
        }
        Ok(Some(out))
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        if R::PLACEMENT.is_some() {
            let partition = self.partition_of_key::<R>(&row.key())?;
            return self.insert_in(partition, row, self.values);
        }
        for (at, partition) in self.all_partitions()?.enumerate() {
            self.insert_in(partition, row, self.values && at == 0)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if R::PLACEMENT.is_some() {
            let partition = self.partition_of_key::<R>(key)?;
            return Ok(self.delete_in::<R>(partition, key, self.values));
        }
        let mut found = false;
        for (at, partition) in self.all_partitions()?.enumerate() {
            found |= self.delete_in::<R>(partition, key, self.values && at == 0);
        }
        Ok(found)
    }

    #[inline(always)]
    fn scan<R: Record>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        if let Some(None) = placement
            && self.cells.len() > 1
        {
            let mut tables: Vec<&Table<R>> = self.all_partitions()?.map(|partition| &*partition.table::<R>()).collect();
            merge(&mut tables, Table::primary_tree, range, direction, visit);
            return Ok(());
        }
        let table = self.partition(placement.map(Option::unwrap_or_default))?.table::<R>();
        for (_, id) in table.primary_tree().range(&range.low, &range.high, direction) {
            if visit(table.rows.get(id)).is_break() {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        if let Some(None) = placement
            && self.cells.len() > 1
        {
            let mut tables: Vec<&Table<I::Record>> =
                self.all_partitions()?.map(|partition| &*partition.table::<I::Record>()).collect();
            merge(&mut tables, Table::index_tree::<I>, range, direction, visit);
            return Ok(());
        }
        let table = self.partition(placement.map(Option::unwrap_or_default))?.table::<I::Record>();
        for (_, id) in table.index_tree::<I>().range(&range.low, &range.high, direction) {
            if visit(table.rows.get(id)).is_break() {
                break;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| Timestamp::from_micros(self.clock.wall_us()))
    }

    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random)
    }
}
