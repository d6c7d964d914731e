//! Scans: of the rows here, and where the bounds fix no partition, of those elsewhere too.

use std::ops::ControlFlow;

use super::elsewhere::Lookup;
use super::elsewhere::range_of;
use super::transaction::{STOP, ShardTransaction};
use super::watch::{Touch, Watch, name, names, space};
use crate::procedure::{PartitionSet, Stop, Transaction, partition_of};
use crate::record::{Bounds, Direction, Encoded, EncodedKey, Index, Key, OrderedRecord, Record};

impl<W: Watch> ShardTransaction<'_, W> {
    /// The partitions other than this that a scan goes to, given its placement (`None`: any).
    fn others(&self, placed: bool, placement: Option<u64>) -> PartitionSet {
        let count = u64::from(self.place.count);
        let on = match placement {
            _ if !placed => PartitionSet::EMPTY,
            Some(placement) => PartitionSet::of(partition_of(placement, count) as usize),
            None => PartitionSet::all(count as usize),
        };
        on.difference(PartitionSet::of(self.place.index.into()))
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
        others: PartitionSet,
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
                self.lacks().bad = Some(bad);
                return Err(STOP);
            }
        };
        if !unasked.is_empty() {
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
    pub(super) fn scan_table<R: OrderedRecord>(
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
        if others.is_empty() {
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
    pub(super) fn scan_by_index<I: Index>(
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
                match (allowed, others.is_empty()) {
                    (false, _) => ControlFlow::Break(()),
                    (true, true) => visit(row),
                    (true, false) => {
                        rows.push(*row);
                        ControlFlow::Continue(())
                    }
                }
            })?;
            if !allowed {
                return Err(self.refused());
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        let lookup = range_of(Some(I::POSITION), &range, I::Key::WIDTH);
        self.scan_several(others, lookup, &range, direction, |row| I::key(row).encode(), rows, visit)
    }
}
