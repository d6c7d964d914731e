//! Scans: of one partition, or of all of them, merged.

use std::ops::ControlFlow;

use super::memory::BTree;
use super::table::Table;
use super::transaction::PartitionedTransaction;
use crate::procedure::Stop;
use crate::record::{Bounds, Direction, Encoded, EncodedKey, Index, Record};

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

/// Visits the rows of all `tables` within `range`, in the order of the index that `tree` picks, until `visit` breaks.
fn merge<'a, R: Record, K: EncodedKey>(
    tables: &mut [&'a Table<R>],
    tree: impl Fn(&'a Table<R>) -> &'a BTree<K>,
    range: Encoded<K>,
    direction: Direction,
    mut visit: impl FnMut(&R) -> ControlFlow<()>,
) {
    let mut cursors: Vec<_> =
        tables.iter().map(|&table| (table, tree(table).range(&range.low, &range.high, direction).peekable())).collect();
    loop {
        let keys = cursors.iter_mut().enumerate().filter_map(|(at, (_, rows))| rows.peek().map(|&(key, _)| (key, at)));
        let next = match direction {
            Direction::Forward => keys.min_by_key(|&(key, _)| key),
            Direction::Backward => keys.max_by_key(|&(key, _)| key),
        };
        let Some((_, at)) = next else { return };
        let (table, rows) = &mut cursors[at];
        let (_, id) = rows.next().expect("it was peeked");
        if visit(table.rows.get(id)).is_break() {
            return;
        }
    }
}
