//! The transaction that a closure receives, on either engine.

use std::ops::ControlFlow;

use crate::classic::ClassicTransaction;
use crate::partitioned::PartitionedTransaction;
use crate::procedure::{Stop, Transaction};
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};

/// A running transaction of any engine: what [`Database::transaction`](crate::Database::transaction) gives its closure.
///
/// A procedure is compiled for each engine; a closure is one piece of code, so it pays a branch at each access.
pub struct AnyTransaction<'t, 'e>(Which<'t, 'e>);

enum Which<'t, 'e> {
    Partitioned(&'t mut PartitionedTransaction<'e>),
    Classic(&'t mut ClassicTransaction<'e>),
}

impl<'t, 'e> From<&'t mut PartitionedTransaction<'e>> for AnyTransaction<'t, 'e> {
    fn from(transaction: &'t mut PartitionedTransaction<'e>) -> Self {
        Self(Which::Partitioned(transaction))
    }
}

impl<'t, 'e> From<&'t mut ClassicTransaction<'e>> for AnyTransaction<'t, 'e> {
    fn from(transaction: &'t mut ClassicTransaction<'e>) -> Self {
        Self(Which::Classic(transaction))
    }
}

macro_rules! on_either {
    ($self:ident, $transaction:ident => $call:expr) => {
        match &mut $self.0 {
            Which::Partitioned($transaction) => $call,
            Which::Classic($transaction) => $call,
        }
    };
}

impl Transaction for AnyTransaction<'_, '_> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        on_either!(self, transaction => transaction.get(key))
    }

    fn get_for_update<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        on_either!(self, transaction => transaction.get_for_update(key))
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        on_either!(self, transaction => transaction.update(key, change))
    }

    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.get_each(keys, read))
    }

    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.update_each(keys, change))
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.insert(row))
    }

    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.insert_each(rows))
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        on_either!(self, transaction => transaction.delete::<R>(key))
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.scan(bounds, direction, visit))
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.scan_index::<I>(bounds, direction, visit))
    }

    fn scan_for_update<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.scan_for_update(bounds, direction, visit))
    }

    fn scan_index_for_update<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        on_either!(self, transaction => transaction.scan_index_for_update::<I>(bounds, direction, visit))
    }

    fn now(&mut self) -> Timestamp {
        on_either!(self, transaction => transaction.now())
    }

    fn random(&mut self) -> u64 {
        on_either!(self, transaction => transaction.random())
    }
}
