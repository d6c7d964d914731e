//! Many keys or rows of one table, one after the other.
//!
//! Reads and updates. Nearly all the time of a transaction in memory is misses of the cache. A lookup has four, one
//! after the other: the leaf, the entry in it, the slot on the record's page, the record. But those of different keys
//! do not depend on each other, and the processor follows many at once. So the keys of a batch take each step together:
//! all ask for the leaf and the entry that are guessed ([`Guess`]); all are found and locked, in their order, and ask
//! for the slot and the place where the record should be; all are read. The prefetched addresses follow from numbers:
//! nothing is read that is not latched.
//!
//! The locks are those that the keys would get one by one, in the same order; only that those of a batch are all taken
//! before the first of its rows is given.
//!
//! Inserts. The same as inserting each row alone, but what their entries have in common is done once: where keys follow
//! each other, as the lines of an order, they go into one leaf, which is found and latched once, and the gap that they
//! go into is asked about once. So all rows of a batch are put into the heap file before the first of their entries is
//! made; no other transaction can find them meanwhile. If one turns out to have a duplicate key, it and those after it
//! are deleted.

use smallvec::SmallVec;

use super::super::engine::{TableStores, TreeOf};
use super::super::ids::Rid;
use super::super::lock::LockMode;
use super::super::stack::Stack;
use super::super::tree::Guess;
use super::super::wal::transaction::AccessSavepoint;
use super::{FetchStage, FindModes, StackTransaction};
use crate::procedure::{Stop, Transaction};
use crate::record::{EncodedKey, Key, Record};

/// Keys of a batch, or rows of one that are inserted together: as many as a processor has cache misses under way.
const BATCH: usize = 16;

/// A key, what stands beside it, and where it should be; then where its row is.
struct Sought<R: Record, C> {
    key: R::Key,
    encoded: R::Encoded,
    beside: C,
    guess: Guess,
    rid: Option<Rid>,
}

impl<S: Stack> StackTransaction<'_, S> {
    /// Does something with each key, what stands beside it, and where its row is, which is locked in `mode`. It may not
    /// insert or delete rows.
    #[inline(always)]
    pub(super) fn each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mode: LockMode,
        mut with: impl FnMut(&mut Self, &TableStores<S>, &R::Key, C, Option<Rid>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        let engine = self.engine;
        // One access, however many the keys.
        let tree = self.or_fail(engine.look_up(&table.primary))?;
        let mut keys = keys.into_iter();
        loop {
            let mut batch: SmallVec<[Sought<R, C>; BATCH]> = SmallVec::new();
            for (key, beside) in keys.by_ref().take(BATCH) {
                let encoded: R::Encoded = key.encode();
                let guess = encoded.as_u64().map_or(Guess::NONE, |number| tree.guess(number));
                tree.prefetch(guess);
                batch.push(Sought { key, encoded, beside, guess, rid: None });
            }
            let is_last = batch.len() < BATCH;
            self.find_batch(table, tree, &mut batch, mode)?;
            // Apart: a latch or a lock lets nothing be asked for before what was asked for last is there.
            for rid in batch.iter().filter_map(|sought| sought.rid) {
                table.heap.prefetch(&engine.pages, rid);
            }
            for Sought { key, beside, rid, .. } in batch {
                with(self, table, &key, beside, rid)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl<S: Stack> StackTransaction<'_, S> {
    /// The records of the keys of a batch.
    #[inline(always)]
    fn find_batch<R: Record, C>(
        &mut self,
        table: &TableStores<S>,
        tree: TreeOf<'_, S>,
        batch: &mut [Sought<R, C>],
        mode: LockMode,
    ) -> Result<(), Stop> {
        for at in 0..batch.len() {
            if !(S::TWO_STAGE && self.is_fetching()) {
                let sought = &mut batch[at];
                match self.find_at::<R>(table, tree, &sought.encoded, sought.guess, FindModes::of(mode)) {
                    Err(_) if S::TWO_STAGE && self.is_fetching() => {}
                    found => {
                        sought.rid = found?;
                        continue;
                    }
                }
            }
            let left = batch[at..].iter_mut().map(|sought| (&sought.encoded, &mut sought.rid));
            return FetchStage(self).find_each::<R>(left);
        }
        Ok(())
    }
}

impl<S: Stack> StackTransaction<'_, S> {
    /// Inserts rows in their order.
    #[inline(always)]
    pub(super) fn insert_rows<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        let mut rows = rows.into_iter();
        if S::TWO_STAGE && self.is_fetching() || R::INDEXES > 0 || R::Encoded::ZERO.as_u64().is_none() {
            return rows.try_for_each(|row| self.insert(&row));
        }
        let table = self.table::<R>()?;
        loop {
            let access = self.session.journal.begin_access(true);
            let mut batch: SmallVec<[(u64, Rid); BATCH]> = SmallVec::new();
            // All of them first: should `rows` panic, and the procedure go on, no row is there without an entry.
            let drawn: SmallVec<[R; BATCH]> = rows.by_ref().take(BATCH).collect();
            if drawn.is_empty() {
                return Ok(());
            }
            if S::TWO_STAGE {
                self.accesses += drawn.len() as u64;
            }
            self.session.stored.resize(drawn.len() * R::ROW_WIDTH, 0);
            for (row, stored) in drawn.iter().zip(self.session.stored.chunks_exact_mut(R::ROW_WIDTH)) {
                row.store(stored);
            }
            let mut keys = drawn.iter().filter_map(|row| row.key().encode::<R::Encoded>().as_u64());
            let put = self.put_all_stored(table, |rid| batch.extend(keys.next().zip(Some(rid))));
            let entered = match put.and_then(|()| self.enter_each(table, &batch)) {
                Err(_) if S::TWO_STAGE && self.is_fetching() => {
                    drawn.iter().try_for_each(|row| self.insert(row))?;
                    return rows.try_for_each(|row| self.insert(&row));
                }
                entered => entered?,
            };
            if entered == 0 {
                return Err(self.undo_access(&drawn[0], None, access, (table, &batch)));
            }
            if entered < batch.len() {
                return Err(self.delete_puts(&drawn[entered], table, &batch[entered..], None));
            }
            self.session.journal.end_access(access);
            if batch.len() < BATCH {
                return Ok(());
            }
        }
    }

    /// Adds entries to the tree of the primary key; how many, up to the first whose key is there already.
    #[inline]
    fn enter_each(&mut self, table: &TableStores<S>, batch: &[(u64, Rid)]) -> Result<usize, Stop> {
        let tree = self.or_fail(self.engine.look_up(&table.primary))?;
        let mut entered = 0;
        while let Some(((number, rid), following)) = batch[entered..].split_first() {
            let key = number.to_be_bytes();
            let key = &key[key.len() - table.primary.key_width()..];
            match self.enter_with(table, &table.primary, tree, (key, *rid), following)? {
                Some(followed) => entered += 1 + followed,
                None => break,
            }
        }
        Ok(entered)
    }

    /// Deletes rows that have no entries, the first of which, `row`, was refused by the primary key. `access`: the one
    /// to end as undone, if these rows are all of it.
    #[cold]
    pub(super) fn delete_puts<R: Record>(
        &mut self,
        row: &R,
        table: &TableStores<S>,
        puts: &[(u64, Rid)],
        access: Option<AccessSavepoint>,
    ) -> Stop {
        let journal = &mut self.session.journal;
        for (_, rid) in puts {
            if let Err(error) = table.heap.delete(&self.engine.pages, journal, *rid) {
                return self.fail(error);
            }
        }
        if let Some(access) = access {
            journal.undone(access);
        }
        Stop::duplicate_key(row, None)
    }
}
