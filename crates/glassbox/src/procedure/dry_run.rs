//! The dry run: a procedure runs, changes nothing, and its keys are recorded.
//!
//! One mechanism with several names in the literature (Calvin's reconnaissance, Charm's fetch stage, H-Store's extra
//! round): it finds the keys, partitions or pages of a procedure that could not declare them. Reads go to the stored
//! rows below; a write goes to [`PrivateWrites`], which later reads and scans of the run see and which is dropped at
//! its end. So a procedure behaves as in its real run: it finds what it has inserted, a unique key refuses it, and a
//! loop over rows that it deletes ends. The keys are a very good guess, not a promise, and engines treat them so: rows
//! may have changed until the real run.
//!
//! A dry run is bounded in accesses: for a loop that ends only by rows which other transactions write, and for one that
//! is cheap in place and not here. After the last access every further one stops the run.

use std::ops::ControlFlow;

use super::key_set::KeySet;
use super::partition_set::PartitionSet;
use super::private_writes::PrivateWrites;
use super::read_write_set::{Mode, ReadWriteSet};
use super::stop::{Retry, Stop};
use super::transaction::Transaction;
use crate::record::{Bounds, Direction, EncodedKey, Index, IndexVisitor, Key, OrderedRecord, Record, Timestamp};

/// Whether runs without effect are made. A run on rows that are read without locks may panic, which must not end a
/// program whose panics abort.
pub(crate) const MAKES_TRIAL_RUNS: bool = cfg!(not(panic = "abort"));

/// Accesses of a dry run, each visited row of a scan among them. A write counts its row's bytes in addition, so that
/// private writes stay below some 64 MiB.
pub(crate) const MAX_ACCESSES: u64 = 1 << 20;
/// Bytes of a written row that count as one access.
const BYTES_PER_ACCESS: usize = 64;

/// Stops a run that has used up its accesses.
const EXHAUSTED: Stop = Stop::Retry(Retry { partitions: PartitionSet::EMPTY });

/// The stored rows below a dry run. Every transaction can be this.
pub(crate) trait StoredRows {
    /// As [`Transaction::get`].
    fn stored<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop>;

    /// As [`Transaction::scan`].
    fn scan_stored<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// As [`Transaction::scan_index`].
    fn scan_index_stored<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// Brings what the real run needs to make this change; `None`: no row before, or none after.
    ///
    /// # Errors
    /// [`Stop`], to be passed on.
    fn prepare_change<R: Record>(&mut self, before: Option<&R>, after: Option<&R>) -> Result<(), Stop>;

    /// As [`Transaction::owns`].
    fn owns_row<R: Record>(&mut self, key: &R::Key) -> bool;

    /// As [`Transaction::now`].
    fn time(&mut self) -> Timestamp;

    /// As [`Transaction::random`].
    fn next_random(&mut self) -> u64;
}

impl<T: Transaction> StoredRows for T {
    fn stored<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.get(key)
    }

    fn scan_stored<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan(bounds, direction, visit)
    }

    fn scan_index_stored<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_index::<I>(bounds, direction, visit)
    }

    fn prepare_change<R: Record>(&mut self, _before: Option<&R>, _after: Option<&R>) -> Result<(), Stop> {
        Ok(())
    }

    fn owns_row<R: Record>(&mut self, key: &R::Key) -> bool {
        self.owns::<R>(key)
    }

    fn time(&mut self) -> Timestamp {
        self.now()
    }

    fn next_random(&mut self) -> u64 {
        self.random()
    }
}

/// A run that keeps nothing, over the stored rows `below`.
#[derive(Debug)]
pub(crate) struct DryRun<'a, B> {
    below: &'a mut B,
    writes: &'a mut PrivateWrites,
    /// Receives the keys, if they are wanted.
    set: Option<&'a mut ReadWriteSet>,
    accesses_left: u64,
    is_exhausted: bool,
}

impl<'a, B: StoredRows> DryRun<'a, B> {
    /// A run that records its keys, of at most [`MAX_ACCESSES`].
    pub(crate) fn new(below: &'a mut B, writes: &'a mut PrivateWrites, set: &'a mut ReadWriteSet) -> Self {
        Self { below, writes, set: Some(set), accesses_left: MAX_ACCESSES, is_exhausted: false }
    }

    /// A part of a run that may make `accesses_left` more accesses, and whose keys are not wanted.
    pub(crate) fn unrecorded(below: &'a mut B, writes: &'a mut PrivateWrites, accesses_left: u64) -> Self {
        Self { below, writes, set: None, accesses_left, is_exhausted: false }
    }

    /// Accesses that the run may still make.
    pub(crate) fn accesses_left(&self) -> u64 {
        self.accesses_left
    }

    /// Whether the run has used up its accesses, so that its keys are those up to there.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    fn spend(&mut self, accesses: u64) -> Result<(), Stop> {
        spend(&mut self.accesses_left, &mut self.is_exhausted, accesses)
    }

    fn record(&mut self, record: impl FnOnce(&mut ReadWriteSet)) {
        if let Some(set) = &mut self.set {
            record(set);
        }
    }

    /// A copy of the row with this key, as the run sees it.
    pub(crate) fn row<R: Record>(&mut self, key: &R::Key) -> Result<Option<R>, Stop> {
        self.spend(1)?;
        match self.writes.get::<R>(key) {
            Some(changed) => Ok(changed.copied()),
            None => Ok(self.below.stored::<R>(key)?.copied()),
        }
    }

    /// Makes a change in the private writes, unless a unique index refuses it.
    fn change<R: Record>(&mut self, key: &R::Key, before: Option<&R>, after: Option<&R>) -> Result<(), Stop> {
        self.spend((size_of::<R>() / BYTES_PER_ACCESS) as u64)?;
        if let Some(after) = after {
            let mut unique = UniqueCheck { run: &mut *self, before, after, checked: Ok(()) };
            R::each_index(&mut unique);
            unique.checked?;
        }
        self.below.prepare_change(before, after)?;
        self.writes.put(key, after.copied());
        Ok(())
    }

    fn visit_range<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let Some(range) = bounds.encode::<R::Encoded>() else { return Ok(()) };
        let own = self.writes.range::<R>(range, direction);
        let merge = Merge {
            writes: self.writes,
            left: &mut self.accesses_left,
            is_exhausted: &mut self.is_exhausted,
            direction,
            key_of: |row: &R| row.key().encode::<R::Encoded>(),
        };
        merge.visit(own, |stored| self.below.scan_stored::<R>(bounds, direction, stored), visit)
    }

    fn visit_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let Some(range) = bounds.encode::<I::Encoded>() else { return Ok(()) };
        let key_of = |row: &I::Record| I::key(row).encode::<I::Encoded>();
        let own = self.writes.index_range::<I>(range, direction);
        let merge = Merge {
            writes: self.writes,
            left: &mut self.accesses_left,
            is_exhausted: &mut self.is_exhausted,
            direction,
            key_of,
        };
        merge.visit(own, |stored| self.below.scan_index_stored::<I>(bounds, direction, stored), visit)
    }
}

fn spend(left: &mut u64, is_exhausted: &mut bool, accesses: u64) -> Result<(), Stop> {
    match left.checked_sub(accesses) {
        Some(rest) if !*is_exhausted => {
            *left = rest;
            Ok(())
        }
        _ => {
            *is_exhausted = true;
            Err(EXHAUSTED)
        }
    }
}

/// A scan of stored rows and of those that the run has changed, as one sequence.
struct Merge<'m, K> {
    writes: &'m PrivateWrites,
    left: &'m mut u64,
    is_exhausted: &'m mut bool,
    direction: Direction,
    key_of: K,
}

impl<K> Merge<'_, K> {
    /// Visits both until `visit` breaks. `own` are changed rows by the scan's key, deleted ones as `None`.
    fn visit<'r, R: Record, E: EncodedKey>(
        self,
        own: impl Iterator<Item = (E, Option<&'r R>)>,
        scan_stored: impl FnOnce(&mut dyn FnMut(&R) -> ControlFlow<()>) -> Result<(), Stop>,
        mut visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop>
    where
        K: Fn(&R) -> E,
    {
        let Self { writes, left, is_exhausted, direction, key_of } = self;
        let is_before = |own: E, stored: E| if direction == Direction::Forward { own < stored } else { own > stored };
        let (mut own, mut ended) = (own.peekable(), None);
        let has_changed = writes.has_changed::<R>();
        scan_stored(&mut |stored| {
            let mut step = || {
                spend(left, is_exhausted, 1).map_err(Err)?;
                if !has_changed {
                    return visit(stored).is_continue().then_some(()).ok_or(Ok(()));
                }
                let key = key_of(stored);
                while let Some((_, row)) = own.next_if(|&(own, _)| is_before(own, key)) {
                    spend(left, is_exhausted, 1).map_err(Err)?;
                    row.map_or(ControlFlow::Continue(()), &mut visit).is_continue().then_some(()).ok_or(Ok(()))?;
                }
                match writes.get::<R>(&stored.key()) {
                    Some(_) => Ok(()),
                    None => visit(stored).is_continue().then_some(()).ok_or(Ok(())),
                }
            };
            match step() {
                Ok(()) => ControlFlow::Continue(()),
                Err(end) => {
                    ended = Some(end);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(end) = ended {
            return end;
        }
        for (_, row) in own {
            spend(left, is_exhausted, 1)?;
            if row.is_some_and(|row| visit(row).is_break()) {
                break;
            }
        }
        Ok(())
    }
}

/// Looks for a row that shares a unique key with a changed one.
struct UniqueCheck<'c, 'a, B, R> {
    run: &'c mut DryRun<'a, B>,
    before: Option<&'c R>,
    after: &'c R,
    checked: Result<(), Stop>,
}

impl<B: StoredRows, R: Record> IndexVisitor<R> for UniqueCheck<'_, '_, B, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        let key = I::key(self.after);
        if !I::UNIQUE || self.checked.is_err() || self.before.is_some_and(|before| I::key(before).is_key(&key)) {
            return;
        }
        let mut is_taken = false;
        let own = self.after.key();
        let visited = self.run.visit_index::<I>(key..=key, Direction::Forward, |row| {
            is_taken |= !row.key().is_key(&own);
            ControlFlow::Continue(())
        });
        self.checked = match visited {
            Ok(()) if is_taken => Err(Stop::duplicate_key(self.after, Some(I::POSITION))),
            visited => visited,
        };
    }
}

impl<B: StoredRows> Transaction for DryRun<'_, B> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.spend(1)?;
        self.record(|set| set.read::<R>(key));
        if self.writes.get::<R>(key).is_some() {
            return Ok(self.writes.get::<R>(key).flatten());
        }
        self.below.stored(key)
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        self.record(|set| set.write::<R>(key));
        let Some(before) = self.row::<R>(key)? else { return Ok(None) };
        let mut after = before;
        let out = change(&mut after);
        let is_same = after.key().is_key(key);
        assert!(is_same, "an update changed the primary key of table `{}`; delete and insert instead", R::TABLE);
        self.change(key, Some(&before), Some(&after))?;
        Ok(Some(out))
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let key = row.key();
        self.record(|set| set.insert::<R>(&key));
        if self.row::<R>(&key)?.is_some() {
            return Err(Stop::duplicate_key(row, None));
        }
        self.change(&key, None, Some(row))
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        self.record(|set| set.write::<R>(key));
        let Some(before) = self.row::<R>(key)? else { return Ok(false) };
        self.change(key, Some(&before), None)?;
        Ok(true)
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.spend(1)?;
        self.record(|set| set.range_of::<R>(&bounds, Mode::Read));
        self.visit_range(bounds, direction, visit)
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.spend(1)?;
        if I::PLACEMENT.is_none_or(|position| bounds.placement_at(position).is_none()) {
            // The partitions of an index range are unknown.
            self.record(|set| set.whole::<I::Record>(Mode::Read));
        }
        let mut set = self.set.take();
        let visited = self.visit_index::<I>(bounds, direction, |row| {
            if let Some(set) = &mut set {
                set.read::<I::Record>(&row.key());
            }
            visit(row)
        });
        self.set = set;
        visited
    }

    fn owns<R: Record>(&mut self, key: &R::Key) -> bool {
        self.below.owns_row::<R>(key)
    }

    fn now(&mut self) -> Timestamp {
        self.below.time()
    }

    fn random(&mut self) -> u64 {
        self.below.next_random()
    }
}
