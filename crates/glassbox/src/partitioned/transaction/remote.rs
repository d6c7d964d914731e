//! Where the rows of partitions come from that are not in this process.

use std::convert::Infallible;

use super::super::held::Held;
use crate::partitioned::storage::table::Table;
use crate::procedure::Stop;
use crate::record::{Encoded, EncodedKey, Record};

/// Rows of other processes, as one run reads and changes them.
///
/// A run may change a remote row only in its own copy: the row's partition runs the same procedure and makes the
/// change.
pub(crate) trait RemoteRows {
    /// Remote partitions, of one row or of a scan. An uninhabited type where all partitions are in this process.
    type At;

    /// Whether several partitions may be in this process, so that a replicated table has a copy in each.
    const SEVERAL_HERE: bool;

    /// The remote partition of a row.
    fn of<R: Record>(&self, key: &R::Key) -> Option<Self::At>;

    /// Whether a scan finds rows in this process, and the remote partitions that it goes to too. `placement`: as
    /// [`Bounds::placement_at`](crate::record::Bounds::placement_at) gives it, or `None` if the table is replicated.
    fn scanned(&self, placement: Option<Option<u64>>) -> (bool, Option<Self::At>);

    /// The table of a row in this process.
    fn table<'h, R: Record>(held: &'h mut Held<'_>, key: &R::Key) -> Result<&'h mut Table<R>, Stop>;

    /// Reads a row of the table with this number.
    fn get<R: Record>(&mut self, table: u16, at: Self::At, key: &R::Key) -> Result<Option<&R>, Stop>;

    /// Changes the run's copy of a row.
    fn update<R: Record, O>(
        &mut self,
        table: u16,
        at: Self::At,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Stop>;

    /// Inserts a row into the run's copies.
    fn insert<R: Record>(&mut self, table: u16, at: Self::At, row: &R) -> Result<(), Stop>;

    /// Deletes the run's copy of a row: whether there was one.
    fn delete<R: Record>(&mut self, table: u16, at: Self::At, key: &R::Key) -> Result<bool, Stop>;

    /// The rows of a range of the primary key (`index`: `None`) or of a secondary index, in no order. `width`: bytes of
    /// an encoded key there; `key` gives that of a row.
    fn range<R: Record, E: EncodedKey>(
        &mut self,
        table: u16,
        at: Self::At,
        index: Option<usize>,
        width: usize,
        range: &Encoded<E>,
        key: impl Fn(&R) -> E,
    ) -> Result<Vec<R>, Stop>;

    /// Whether the run asked for something that it did not get.
    fn has_missing(&self) -> bool;
}

/// All partitions are in this process: a row of one that is not held is a restart with that partition.
pub(crate) struct NoRemoteRows;

impl RemoteRows for NoRemoteRows {
    type At = Infallible;
    const SEVERAL_HERE: bool = true;

    #[inline(always)]
    fn of<R: Record>(&self, _key: &R::Key) -> Option<Infallible> {
        None
    }

    #[inline(always)]
    fn scanned(&self, _placement: Option<Option<u64>>) -> (bool, Option<Infallible>) {
        (true, None)
    }

    #[inline(always)]
    fn table<'h, R: Record>(held: &'h mut Held<'_>, key: &R::Key) -> Result<&'h mut Table<R>, Stop> {
        held.table_of::<R>(key)
    }

    fn get<R: Record>(&mut self, _table: u16, at: Infallible, _key: &R::Key) -> Result<Option<&R>, Stop> {
        match at {}
    }

    fn update<R: Record, O>(
        &mut self,
        _table: u16,
        at: Infallible,
        _key: &R::Key,
        _change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Stop> {
        match at {}
    }

    fn insert<R: Record>(&mut self, _table: u16, at: Infallible, _row: &R) -> Result<(), Stop> {
        match at {}
    }

    fn delete<R: Record>(&mut self, _table: u16, at: Infallible, _key: &R::Key) -> Result<bool, Stop> {
        match at {}
    }

    fn range<R: Record, E: EncodedKey>(
        &mut self,
        _table: u16,
        at: Infallible,
        _index: Option<usize>,
        _width: usize,
        _range: &Encoded<E>,
        _key: impl Fn(&R) -> E,
    ) -> Result<Vec<R>, Stop> {
        match at {}
    }

    #[inline(always)]
    fn has_missing(&self) -> bool {
        false
    }
}
