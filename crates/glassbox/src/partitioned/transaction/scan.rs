//! Scans by the primary key or a secondary index: of one partition, or of several, merged.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use super::PartitionedTransaction;
use super::remote::RemoteRows;
use super::watch::{Touch, Watching, space, watched_range};
use crate::partitioned::storage::memory::BTree;
use crate::partitioned::storage::table::Table;
use crate::procedure::Stop;
use crate::record::{Bounds, Direction, Encoded, EncodedKey, Index, Key, Record};

/// The index that a scan goes through.
trait AccessPath {
    type Record: Record;
    type Encoded: EncodedKey;
    /// The secondary index by its place among the table's; `None`: the primary key.
    const POSITION: Option<usize>;
    /// Bytes of an encoded key.
    const WIDTH: usize;
    fn tree(table: &Table<Self::Record>) -> &BTree<Self::Encoded>;
    fn key(row: &Self::Record) -> Self::Encoded;
}

struct PrimaryKey<R>(PhantomData<R>);

impl<R: Record> AccessPath for PrimaryKey<R> {
    type Record = R;
    type Encoded = R::Encoded;
    const POSITION: Option<usize> = None;
    const WIDTH: usize = R::Key::WIDTH;

    #[inline(always)]
    fn tree(table: &Table<R>) -> &BTree<R::Encoded> {
        table.primary_tree()
    }

    fn key(row: &R) -> R::Encoded {
        row.key().encode()
    }
}

struct Secondary<I>(PhantomData<I>);

impl<I: Index> AccessPath for Secondary<I> {
    type Record = I::Record;
    type Encoded = I::Encoded;
    const POSITION: Option<usize> = Some(I::POSITION);
    const WIDTH: usize = I::Key::WIDTH;

    #[inline(always)]
    fn tree(table: &Table<I::Record>) -> &BTree<I::Encoded> {
        table.index_tree::<I>()
    }

    fn key(row: &I::Record) -> I::Encoded {
        I::key(row).encode()
    }
}

impl<M: RemoteRows, W: Watching> PartitionedTransaction<'_, M, W> {
    /// As [`Transaction::scan`](crate::procedure::Transaction::scan).
    #[inline(always)]
    pub(super) fn scan_rows<R: Record>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        self.scan_by::<PrimaryKey<R>>(placement, &range, direction, visit)
    }

    /// As [`Transaction::scan_index`](crate::procedure::Transaction::scan_index).
    #[inline(always)]
    pub(super) fn scan_rows_by<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        self.scan_by::<Secondary<I>>(placement, &range, direction, visit)
    }

    #[inline(always)]
    fn scan_by<P: AccessPath>(
        &mut self,
        placement: Option<Option<u64>>,
        range: &Encoded<P::Encoded>,
        direction: Direction,
        visit: impl FnMut(&P::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        match self.remote.scanned(placement) {
            (_, None) => self.scan_here::<P>(placement, range, direction, visit),
            (here, Some(at)) => self.scan_remote::<P>(here.then_some(placement), at, range, direction, visit),
        }
    }

    /// Visits rows in the held partitions.
    #[inline(always)]
    fn scan_here<P: AccessPath>(
        &mut self,
        placement: Option<Option<u64>>,
        range: &Encoded<P::Encoded>,
        direction: Direction,
        mut visit: impl FnMut(&P::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let number = if W::WATCHES { self.number::<P::Record>() } else { 0 };
        if W::WATCHES {
            let (low, high) = watched_range(range, P::WIDTH);
            self.watch.range(space(number, P::POSITION), low, high)?;
        }
        let (watch, mut allowed) = (&mut self.watch, Ok(()));
        let mut visit = |row: &P::Record| {
            if W::WATCHES && P::POSITION.is_some() {
                allowed = watch.key::<P::Record>(number, &row.key(), Touch::Read);
                if allowed.is_err() {
                    return ControlFlow::Break(());
                }
            }
            visit(row)
        };
        if let Some(None) = placement
            && M::SEVERAL_HERE
            && self.held.count() > 1
        {
            let tables = self.held.need_all()?.map(|partition| &*partition.table::<P::Record>());
            merge::<P>(&mut tables.collect::<Vec<_>>(), range, direction, visit);
            return allowed;
        }
        let table = self.held.placed(placement.map(Option::unwrap_or_default))?.table::<P::Record>();
        for (_, id) in P::tree(table).range(&range.low, &range.high, direction) {
            if visit(table.rows.get(id)).is_break() {
                break;
            }
        }
        allowed
    }

    /// Visits rows of several partitions; `here`: the placement of those that are held, if any are.
    #[cold]
    fn scan_remote<P: AccessPath>(
        &mut self,
        here: Option<Option<Option<u64>>>,
        at: M::At,
        range: &Encoded<P::Encoded>,
        direction: Direction,
        mut visit: impl FnMut(&P::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let mut rows = Vec::new();
        if let Some(placement) = here {
            self.scan_here::<P>(placement, range, direction, |row| {
                rows.push(*row);
                ControlFlow::Continue(())
            })?;
        }
        let number = self.number::<P::Record>();
        rows.extend(self.remote.range(number, at, P::POSITION, P::WIDTH, range, P::key)?);
        rows.sort_by_key(P::key);
        if direction == Direction::Backward {
            rows.reverse();
        }
        let _ = rows.iter().try_for_each(&mut visit);
        Ok(())
    }
}

/// Visits the rows of all `tables` within `range`, in the order of their keys, until `visit` breaks.
fn merge<P: AccessPath>(
    tables: &mut [&Table<P::Record>],
    range: &Encoded<P::Encoded>,
    direction: Direction,
    mut visit: impl FnMut(&P::Record) -> ControlFlow<()>,
) {
    let cursor = |table| (table, P::tree(table).range(&range.low, &range.high, direction).peekable());
    let mut cursors: Vec<_> = tables.iter().map(|&table| cursor(table)).collect();
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
