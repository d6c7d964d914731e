//! Many keys of one table: those that are here, the inner transaction takes together.
//!
//! What it has found beforehand is here; of others it asks, and gives back one whose row is elsewhere, which is then
//! done alone. Where each key is watched, or a row is to be inserted, it draws them from an iterator that ends before
//! one that it must not see.

use super::place::Place;
use super::transaction::ShardTransaction;
use super::watch::{Touch, Watch, name, space};
use crate::procedure::{Stop, Transaction};
use crate::record::{Key, Record};

/// Keys with what stands beside each, up to the first that is not for the inner transaction.
struct Here<'t, R: Record, C, I, W> {
    keys: &'t mut I,
    place: Place,
    watch: &'t mut W,
    space: u32,
    touch: Touch,
    left: Left<R::Key, C>,
}

/// Why keys that are here ended.
enum Left<K, C> {
    /// There are no more.
    None,
    /// The next one is elsewhere.
    Elsewhere(K, C),
    /// The watch refused the next one.
    Refused,
}

impl<'t, R: Record, C, I, W> Here<'t, R, C, I, W> {
    #[inline(always)]
    fn new(keys: &'t mut I, place: Place, watch: &'t mut W, (space, touch): (u32, Touch)) -> Self {
        Self { keys, place, watch, space, touch, left: Left::None }
    }

    /// Why they ended, if the inner transaction has `done` all of them. The stop may lie before a key that was
    /// refused; a caller that ignored it would go on past a refusal that was never reported.
    #[inline(always)]
    fn left(self, done: Result<(), Stop>) -> Result<Left<R::Key, C>, Stop> {
        if !matches!(self.left, Left::Refused) {
            done?;
        }
        Ok(self.left)
    }
}

impl<R: Record, C, I: Iterator<Item = (R::Key, C)>, W: Watch> Iterator for Here<'_, R, C, I, W> {
    type Item = (R::Key, C);

    #[inline(always)]
    fn next(&mut self) -> Option<(R::Key, C)> {
        if !matches!(self.left, Left::None) {
            return None;
        }
        let (key, beside) = self.keys.next()?;
        if self.place.elsewhere::<R>(&key).is_some() {
            self.left = Left::Elsewhere(key, beside);
            return None;
        }
        // Told before it is touched: those who draw it touch it next.
        let is_watched = self.watch.watches();
        if is_watched && !self.watch.point(self.space, name(&key.encode::<R::Encoded>(), R::Key::WIDTH), self.touch) {
            self.left = Left::Refused;
            return None;
        }
        Some((key, beside))
    }
}

impl<W: Watch> ShardTransaction<'_, W> {
    #[inline(always)]
    pub(super) fn get_here_and_elsewhere<R: Record, C>(
        &mut self,
        mut keys: impl Iterator<Item = (R::Key, C)>,
        mut read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if !self.watch.watches() {
            let place = self.place;
            let is_elsewhere = |key: &R::Key| place.elsewhere::<R>(key).is_some();
            while let Some((key, beside)) = self.inner.read_each::<R, C>(&mut keys, is_elsewhere, &mut read)? {
                read(beside, self.get::<R>(&key)?)?;
            }
            return Ok(());
        }
        let space = self.space_of::<R>();
        loop {
            let mut here = Here::<R, _, _, _>::new(&mut keys, self.place, &mut self.watch, (space, Touch::Read));
            let done = self.inner.get_each::<R, C>(&mut here, &mut read);
            match here.left(done)? {
                Left::None => return Ok(()),
                Left::Elsewhere(key, beside) => read(beside, self.get::<R>(&key)?)?,
                Left::Refused => return Err(self.refused()),
            }
        }
    }

    #[inline(always)]
    pub(super) fn update_here_and_elsewhere<R: Record, C>(
        &mut self,
        mut keys: impl Iterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        if !self.watch.watches() && R::PLACEMENT.is_some() {
            let place = self.place;
            let is_elsewhere = |key: &R::Key| place.elsewhere::<R>(key).is_some();
            while let Some((key, beside)) = self.inner.change_each::<R, C>(&mut keys, is_elsewhere, &mut change)? {
                self.update::<R, ()>(&key, |row| change(beside, row))?;
            }
            return Ok(());
        }
        if self.tells_of_indexes::<R>() {
            return keys.try_for_each(|(key, beside)| self.update::<R, ()>(&key, |row| change(beside, row)).map(drop));
        }
        let space = self.space_of::<R>();
        loop {
            let mut here = Here::<R, _, _, _>::new(&mut keys, self.place, &mut self.watch, (space, Touch::Write));
            let done = self.inner.update_each::<R, C>(&mut here, &mut change);
            match here.left(done)? {
                Left::None => return Ok(()),
                Left::Elsewhere(key, beside) => drop(self.update::<R, ()>(&key, |row| change(beside, row))?),
                Left::Refused => return Err(self.refused()),
            }
        }
    }

    #[inline(always)]
    pub(super) fn insert_here_and_elsewhere<R: Record>(
        &mut self,
        mut rows: impl Iterator<Item = R>,
    ) -> Result<(), Stop> {
        if self.tells_of_indexes::<R>() {
            return rows.try_for_each(|row| self.insert(&row));
        }
        let space = self.space_of::<R>();
        let mut keys = rows.map(|row| (row.key(), row));
        loop {
            let mut here = Here::<R, _, _, _>::new(&mut keys, self.place, &mut self.watch, (space, Touch::Write));
            let done = self.inner.insert_each::<R>((&mut here).map(|(_, row)| row));
            match here.left(done)? {
                Left::None => return Ok(()),
                Left::Elsewhere(_, row) => self.insert(&row)?,
                Left::Refused => return Err(self.refused()),
            }
        }
    }

    /// Whether the keys of secondary indexes at which rows are written are watched.
    #[inline(always)]
    pub(super) fn tells_of_indexes<R: Record>(&self) -> bool {
        R::INDEXES > 0 && self.watch.watches()
    }

    /// The space of a table's primary key, if it is watched.
    #[inline(always)]
    fn space_of<R: Record>(&mut self) -> u32 {
        if self.watch.watches() { space(self.table::<R>().number, None) } else { 0 }
    }
}
