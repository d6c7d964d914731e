//! A transaction on the partitions whose tokens are held: the engine's implementation of [`Transaction`].
//!
//! Nothing here waits or locks: whoever runs it owns the data. Each access works out the partition from the key; if
//! that one is not held, the run stops and says which partition it needs. What a change costs beyond the change itself
//! depends on two flags that are the same for all of a transaction: keep the old row (`undo`), write the difference to
//! the log record (`values`).

use std::ops::ControlFlow;

use super::merge::merge;
use super::partition::{Cell, Partition, Scratch};
use super::table::Table;
use crate::io::Clock;
use crate::procedure::{Abort, Retry, Stop, Transaction, partition_of};
use crate::record::{Bounds, Direction, Index, Key, Record, Timestamp, mix};

/// The code of the abort when memory for rows or index nodes is exhausted.
pub(crate) const TABLE_FULL: u32 = Abort::RESERVED;

/// What a procedure is told when there is no memory for a row or its index entries.
#[cold]
pub(super) fn table_full(table: &'static str) -> Stop {
    Stop::abort(TABLE_FULL, format!("no memory for another row of table `{table}`"))
}

/// A run of a transaction on partitions whose tokens the caller holds.
pub struct PartitionedTransaction<'a> {
    cells: &'a [Cell],
    pub(super) scratch: &'a mut Scratch,
    clock: &'a dyn Clock,
    /// Held partitions, bit *i* for partition *i*.
    held: u64,
    /// A held partition, whose copy of replicated tables is read.
    home: usize,
    pub(super) undo: bool,
    pub(super) values: bool,
    /// Whether anything was changed.
    pub(crate) wrote: bool,
    pub(crate) now: Option<Timestamp>,
    pub(crate) seed: u64,
    random: u64,
    /// Partitions that were asked for and are not held.
    missing: u64,
    /// The table of which some copies have taken a change and another had no room for it.
    torn: Option<&'static str>,
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
            torn: None,
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
        Stop::Retry(Retry { partitions })
    }

    /// What a run came to, given what the procedure says: when something was missing, or copies of a replicated table
    /// differ now, that means nothing.
    ///
    /// # Panics
    /// When the procedure asks for a retry that this run did not.
    #[inline(always)]
    pub(crate) fn outcome(&self, told: Result<(), Stop>) -> Result<(), Stop> {
        if self.missing != 0 {
            return Err(Stop::Retry(Retry { partitions: self.missing }));
        }
        if let Some(table) = self.torn {
            return Err(table_full(table));
        }
        assert!(!matches!(told, Err(Stop::Retry(_))), "a procedure kept a `Stop::Retry` of another run and answers it");
        told
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
            let copied = self.update_in::<R, _>(partition, key, false, |copy| *copy = row);
            copied.inspect_err(|_| self.torn = Some(R::TABLE))?;
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
            let inserted = self.insert_in(partition, row, self.values && at == 0);
            inserted.inspect_err(|_| self.torn = self.torn.or((at > 0).then_some(R::TABLE)))?;
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
