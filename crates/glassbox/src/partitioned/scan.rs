//! Scans: of one partition, or of all of them, merged.

use std::ops::ControlFlow;

use super::merge::merge;
use super::table::Table;
use super::transaction::PartitionedTransaction;
use crate::procedure::Stop;
use crate::record::{Bounds, Direction, Index, Record};

impl PartitionedTransaction<'_> {
    /// As [`Transaction::scan`](crate::procedure::Transaction::scan).
    #[inline(always)]
    pub(super) fn scan_rows<R: Record>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        if let Some(None) = placement
            && self.held.count() > 1
        {
            let mut tables: Vec<&Table<R>> = self.held.need_all()?.map(|partition| &*partition.table::<R>()).collect();
            merge(&mut tables, Table::primary_tree, range, direction, visit);
            return Ok(());
        }
        let table = self.held.placed(placement.map(Option::unwrap_or_default))?.table::<R>();
        for (_, id) in table.primary_tree().range(&range.low, &range.high, direction) {
            if visit(table.rows.get(id)).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// As [`Transaction::scan_index`](crate::procedure::Transaction::scan_index).
    #[inline(always)]
    pub(super) fn scan_rows_by<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        if let Some(None) = placement
            && self.held.count() > 1
        {
            let mut tables: Vec<&Table<I::Record>> =
                self.held.need_all()?.map(|partition| &*partition.table::<I::Record>()).collect();
            merge(&mut tables, Table::index_tree::<I>, range, direction, visit);
            return Ok(());
        }
        let table = self.held.placed(placement.map(Option::unwrap_or_default))?.table::<I::Record>();
        for (_, id) in table.index_tree::<I>().range(&range.low, &range.high, direction) {
            if visit(table.rows.get(id)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
