//! A transaction on the partitions whose tokens are held: the engine's implementation of [`Transaction`].
//!
//! Nothing here waits or locks: whoever runs it owns the data. Each access works out the partition from the key; if
//! that one is not held, the run stops and says which partition it needs. What a change costs beyond the change itself
//! depends on two flags that are the same for all of a transaction: keep the old row (`undo`), write the difference to
//! the log record (`values`).

use std::ops::ControlFlow;
use std::ptr::NonNull;

use super::partition::{Cell, Partition, Scratch};
use super::table::Table;
use crate::io::Clock;
use crate::procedure::{PartitionSet, Retry, Stop, TableFull, Transaction, partition_of};
use crate::record::{Bounds, Direction, Index, Key, OrderedRecord, Record, Timestamp, mix};

/// The refusal of a row for which there is no memory.
#[cold]
pub(super) fn table_full(table: &'static str) -> Stop {
    Stop::TableFull(TableFull { table: table.into() })
}

/// A change of which only a part was made, and its table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Torn {
    /// An index, or another copy of a replicated table, has no memory for the rest.
    Full(&'static str),
    /// The closure that changes a row panicked, and nothing was kept to put the row back.
    Panicked(&'static str),
}

impl Torn {
    #[cold]
    pub(super) fn stop(self) -> Stop {
        match self {
            Self::Full(table) => table_full(table),
            Self::Panicked(table) => Stop::abort(0, format!("the change of a row of table `{table}` panicked")),
        }
    }
}

/// A live row and its table, in a held partition.
pub(super) type Place<'a, R> = (&'a mut Table<R>, NonNull<R>);

/// A run of a transaction on partitions whose tokens the caller holds.
pub struct PartitionedTransaction<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) scratch: &'a mut Scratch,
    clock: &'a dyn Clock,
    /// Held partitions.
    pub(super) held: PartitionSet,
    /// A held partition, whose copy of replicated tables is read.
    pub(super) home: usize,
    pub(super) undo: bool,
    pub(super) values: bool,
    /// Whether anything was changed.
    pub(crate) wrote: bool,
    pub(crate) now: Option<Timestamp>,
    pub(crate) seed: u64,
    random: u64,
    /// Partitions that were asked for and are not held.
    missing: PartitionSet,
    /// A change that was made in part and can neither be completed nor undone by itself.
    pub(super) torn: Option<Torn>,
    /// Partition, record and table of the access before: the next one is often to the same.
    last: (usize, usize, *mut ()),
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
        held: PartitionSet,
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
            missing: PartitionSet::EMPTY,
            torn: None,
            last: (usize::MAX, 0, std::ptr::null_mut()),
        }
    }

    /// Sets what a replayed transaction was assigned when it first ran.
    pub(crate) fn assign(&mut self, now: Timestamp, seed: u64) {
        (self.now, self.seed, self.random) = (Some(now), seed, seed);
    }

    /// A partition, if it is held.
    #[inline(always)]
    fn partition(&mut self, at: usize) -> Result<&'a mut Partition, Stop> {
        if !self.held.contains(at) {
            return Err(self.miss(PartitionSet::of(at)));
        }
        // SAFETY: its token is held. References into partitions live only within one call of this type, or borrow it.
        Ok(unsafe { &mut *self.cells[at].partition() })
    }

    /// The partition of rows with this placement number; of a replicated table (`None`), the home's copy.
    #[inline(always)]
    pub(super) fn partition_of(&mut self, placement: Option<u64>) -> Result<&'a mut Partition, Stop> {
        self.partition(placement.map_or(self.home, |it| partition_of(it, self.cells.len() as u64) as usize))
    }

    #[cold]
    fn miss(&mut self, partitions: PartitionSet) -> Stop {
        self.missing.extend(partitions);
        Stop::Retry(Retry { partitions })
    }

    /// What a run came to, given what the procedure says: when something was missing, or copies of a replicated table
    /// differ now, that means nothing.
    ///
    /// # Panics
    /// When the procedure asks for a retry that this run did not.
    #[inline(always)]
    pub(crate) fn outcome(&self, told: Result<(), Stop>) -> Result<(), Stop> {
        if !self.missing.is_empty() {
            return Err(Stop::Retry(Retry { partitions: self.missing }));
        }
        if let Some(torn) = self.torn {
            return Err(torn.stop());
        }
        assert!(!matches!(told, Err(Stop::Retry(_))), "a procedure kept a `Stop::Retry` of another run and answers it");
        told
    }

    /// The number of the partition of the row with this key; of a replicated table, the home.
    #[inline(always)]
    pub(super) fn place_of<R: Record>(&self, key: &R::Key) -> usize {
        match R::PLACEMENT {
            Some(position) => partition_of(key.placement_at(position), self.cells.len() as u64) as usize,
            None => self.home,
        }
    }

    /// The table of the row with this key, in its partition.
    #[inline(always)]
    pub(super) fn table_of<R: Record>(&mut self, key: &R::Key) -> Result<&'a mut Table<R>, Stop> {
        let at = self.place_of::<R>(key);
        let record = R::table_id().get();
        if (at, record) != (self.last.0, self.last.1) {
            let table: *mut Table<R> = self.partition(at)?.table::<R>();
            self.last = (at, record, table.cast());
        }
        // SAFETY: it is the table of this record in a partition whose token is held.
        Ok(unsafe { &mut *self.last.2.cast() })
    }

    /// Where the row with this key is: where it was prefetched, or found now.
    #[inline(always)]
    pub(super) fn find<R: Record>(&mut self, key: &R::Key) -> Result<Option<Place<'a, R>>, Stop> {
        // SAFETY: the tokens are the same as when the lookups were made.
        match unsafe { self.scratch.lookups.take::<R>(key) } {
            Some(found) => Ok(Some(found)),
            None => self.look_up(key),
        }
    }

    #[inline(never)]
    pub(super) fn look_up<R: Record>(&mut self, key: &R::Key) -> Result<Option<Place<'a, R>>, Stop> {
        let table = self.table_of::<R>(key)?;
        let row = table.find(key.encode()).map(|id| table.rows.place(id));
        Ok(row.map(|row| (table, row)))
    }

    /// Every partition, for a change of a replicated table or a scan whose bounds do not fix one.
    pub(super) fn all_partitions(&mut self) -> Result<impl Iterator<Item = &'a mut Partition> + use<'a>, Stop> {
        let all = PartitionSet::all(self.cells.len());
        if self.held != all {
            return Err(self.miss(all));
        }
        // SAFETY: all tokens are held; each partition is given once.
        Ok(self.cells.iter().map(|cell| unsafe { &mut *cell.partition() }))
    }
}

impl Transaction for PartitionedTransaction<'_> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        // SAFETY: it is a live row of a held partition, and the borrow of `self` keeps it as it is.
        Ok(self.find::<R>(key)?.map(|(_, row)| unsafe { row.as_ref() }))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if R::PLACEMENT.is_some() {
            let Some((table, row)) = self.find::<R>(key)? else { return Ok(None) };
            return self.update_at(table, row, key, self.values, change).map(Some);
        }
        self.update_copies(key, change)
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.read_each(keys, |_| false, read).map(drop)
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        if R::PLACEMENT.is_none() {
            let mut keys = keys.into_iter();
            return keys.try_for_each(|(key, beside)| self.update::<R, ()>(&key, |row| change(beside, row)).map(drop));
        }
        self.change_each(keys, |_| false, change).map(drop)
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        if R::PLACEMENT.is_some() {
            let table = self.table_of::<R>(&row.key())?;
            return self.insert_in(table, row, self.values);
        }
        for (at, partition) in self.all_partitions()?.enumerate() {
            let inserted = self.insert_in(partition.table(), row, self.values && at == 0);
            inserted.inspect_err(|_| self.torn = self.torn.or((at > 0).then_some(Torn::Full(R::TABLE))))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        self.insert_all(rows.into_iter())
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if R::PLACEMENT.is_some() {
            let table = self.table_of::<R>(key)?;
            return Ok(self.delete_in::<R>(table, key, self.values));
        }
        let mut found = false;
        for (at, partition) in self.all_partitions()?.enumerate() {
            found |= self.delete_in::<R>(partition.table(), key, self.values && at == 0);
        }
        Ok(found)
    }

    #[inline(always)]
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_rows(bounds, direction, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_rows_by::<I>(bounds, direction, visit)
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
