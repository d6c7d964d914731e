//! Many keys of one table, one after the other.
//!
//! Problem: nearly all the time of a transaction in memory is misses of the cache. A lookup has four, one after the
//! other: the leaf, the entry in it, the slot on the record's page, the record. But those of different keys do not
//! depend on each other, and the processor follows many at once. So the keys of a batch take each step together: all
//! ask for the leaf and the entry that are guessed ([`Guess`]); all are found and locked, in their order, and ask for
//! the slot and the place where the record should be; all are read. The prefetched addresses follow from
//! numbers: nothing is read that is not latched.
//!
//! The locks are those that the keys would get one by one, in the same order; only that those of a batch are all taken
//! before the first of its rows is given.

use smallvec::SmallVec;

use super::ids::Rid;
use super::lock::Mode;
use super::stack::Stack;
use super::table::TableStores;
use super::transaction::StackTransaction;
use super::tree::Guess;
use crate::procedure::Stop;
use crate::record::{EncodedKey, Key, Record};

/// Keys that are looked for together: as many as a processor has misses under way.
const MOST: usize = 16;

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
        mode: Mode,
        mut with: impl FnMut(&mut Self, &TableStores<S>, &R::Key, C, Option<Rid>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let table = self.table::<R>()?;
        let engine = self.engine;
        // One access, however many the keys.
        let tree = self.or_fail(engine.look_up(&table.primary))?;
        let mut keys = keys.into_iter();
        loop {
            let mut batch: SmallVec<[Sought<R, C>; MOST]> = SmallVec::new();
            for (key, beside) in keys.by_ref().take(MOST) {
                let encoded: R::Encoded = key.encode();
                let guess = encoded.as_u64().map_or(Guess::NONE, |number| tree.guess(number));
                tree.prefetch(guess);
                batch.push(Sought { key, encoded, beside, guess, rid: None });
            }
            let is_last = batch.len() < MOST;
            for sought in &mut batch {
                sought.rid = self.find_at::<R>(table, tree, &sought.encoded, sought.guess, mode)?;
            }
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
