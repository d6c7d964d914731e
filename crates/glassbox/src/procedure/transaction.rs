//! The interface of a transaction, the same on every engine.

use std::ops::ControlFlow;

use super::stop::Stop;
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};

/// A running transaction.
///
/// Every method may return [`Stop`], which the procedure returns with `?`; the engine then brings what is missing and
/// restarts the procedure. A table that is not in the database's catalog is a mistake in the program, and panics with
/// the table's name.
pub trait Transaction {
    /// The row with this primary key.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop>;

    /// The row with this primary key, which the transaction will probably change: as [`Transaction::get`], and with the
    /// same result.
    ///
    /// Where rows are locked (the classic engine), the row is locked in mode U, *read with the intent to write* (Gray
    /// and Reuter 1993, §7.8.2), which only one transaction may hold. Two transactions that read a row with `get` and
    /// then change it wait for each other, so one of them is run again; with this method, the second waits before it
    /// reads. Transactions that read the row with `get` later wait, too. A row that is changed whatever it contains is
    /// best changed with [`Transaction::update`] alone.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn get_for_update<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.get(key)
    }

    /// Changes the row with this primary key in place, and returns the result of `change`; `None` when there is no such
    /// row. Secondary indexes are updated.
    ///
    /// # Errors
    /// [`Stop`]; among them [`Stop::DuplicateKey`] when a unique index has the new key already.
    ///
    /// # Panics
    /// When `change` changes the primary key: delete and insert instead.
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop>;

    /// Reads the rows with these primary keys, one after the other: as [`Transaction::get`] of each, but cheaper.
    /// `read` gets the second value of each item with the row. The iterator may be ahead of the row that is read.
    ///
    /// # Errors
    /// [`Stop`], to be passed on, or the error of `read`, which ends the iteration.
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        keys.into_iter().try_for_each(|(key, beside)| read(beside, self.get::<R>(&key)?))
    }

    /// Changes the rows with these primary keys, one after the other: as [`Transaction::update`] of each, but cheaper.
    /// `change` gets the second value of each item with the row; a key without a row is skipped. The iterator may be
    /// ahead of the row that is changed.
    ///
    /// # Errors
    /// [`Stop`], as for `update`.
    ///
    /// # Panics
    /// As `update` does.
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        keys.into_iter().try_for_each(|(key, beside)| self.update::<R, ()>(&key, |row| change(beside, row)).map(drop))
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Stop`]; among them [`Stop::DuplicateKey`] when the primary key or a unique index has it already, and
    /// [`Stop::TableFull`] when there is no memory for it.
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop>;

    /// Adds rows, one after the other: as [`Transaction::insert`] of each, but cheaper if they are in the order of the
    /// primary key.
    ///
    /// # Errors
    /// [`Stop`], as for `insert`; earlier rows stay added then, and the iterator may be ahead of them.
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        rows.into_iter().try_for_each(|row| self.insert(&row))
    }

    /// Removes the row with this primary key; returns whether there was one.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop>;

    /// Visits the rows within `bounds` in the order of the primary key until `visit` breaks. Tables with
    /// `access = point` have no order, so they are no [`OrderedRecord`].
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// Visits the rows within `bounds` in the order of a secondary index until `visit` breaks.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// As [`Transaction::scan`], of rows that the transaction will probably change: see
    /// [`Transaction::get_for_update`].
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn scan_for_update<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan(bounds, direction, visit)
    }

    /// As [`Transaction::scan_index`], of rows that the transaction will probably change: see
    /// [`Transaction::get_for_update`].
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn scan_index_for_update<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_index::<I>(bounds, direction, visit)
    }

    /// The transaction's time: the same at every call, in restarts and in replay.
    fn now(&mut self) -> Timestamp;

    /// The next of the transaction's random numbers: the same in restarts and in replay.
    fn random(&mut self) -> u64;

    /// Whether this run's changes of the row with this key have an effect.
    ///
    /// In a cluster each participant runs the procedure. Its change of a remote row has no effect, and a read of one
    /// costs a message. So a procedure may skip work that only concerns remote rows, and
    /// [`Procedure::merge`](super::Procedure::merge) merges the outputs of the runs. It must not decide anything else
    /// by this. Otherwise a run owns all rows.
    #[inline(always)]
    fn owns<R: Record>(&mut self, key: &R::Key) -> bool {
        let _ = key;
        true
    }

    /// A copy of the first row within `bounds`, in `direction`.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn first<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
    ) -> Result<Option<R>, Stop> {
        let mut first = None;
        self.scan::<R>(bounds, direction, |row| {
            first = Some(*row);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// A copy of the first row within `bounds`, in `direction`, which the transaction will probably change: see
    /// [`Transaction::get_for_update`].
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn first_for_update<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
    ) -> Result<Option<R>, Stop> {
        let mut first = None;
        self.scan_for_update::<R>(bounds, direction, |row| {
            first = Some(*row);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// A copy of the first row within `bounds` of a secondary index, in `direction`.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn first_by<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
    ) -> Result<Option<I::Record>, Stop> {
        let mut first = None;
        self.scan_index::<I>(bounds, direction, |row| {
            first = Some(*row);
            ControlFlow::Break(())
        })?;
        Ok(first)
    }
}
