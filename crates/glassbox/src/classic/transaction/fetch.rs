//! The fetch stage: what each access reads.
//!
//! No page is fixed while another one is read from disk: others may wait for it. A read of the tree that meets a
//! missing page stops; the page is brought in, and the read begins again. (Only if that was in vain many times, because
//! the pool is too small, it reads as it goes.) Where several keys are known, from a batch or
//! a declaration, all go as far as they can; the pages that they miss are read together, so that all go down the tree
//! level by level.
//!
//! Whatever is wrong with a page or a row here is passed over: if it is not a trace of a change that goes on, the
//! operate stage meets it again and reports it.

use smallvec::SmallVec;

use super::{AGAIN, FetchStage};
use crate::classic::engine::{Engine, IndexStore, TableStores};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::miss;
use crate::classic::page::pages::Pages;
use crate::classic::stack::Stack;
use crate::classic::tree::{Cursor, Find, Step, Tree};
use crate::classic::two_stage::{BATCH, Pinning};
use crate::config::FetchMethod;
use crate::error::Error;
use crate::procedure::Stop;
use crate::record::{Encoded, EncodedKey, Index, IndexVisitor, Key, Record};

/// Attempts of a read that meets missing pages, more than a tree has levels; the last one reads them as it meets them.
const ROUNDS: usize = 16;

/// Pages that keys were found to need, and their tables as [`miss::table`] names them.
pub(in crate::classic) type MissingPages = SmallVec<[(PageId, StoreId); 32]>;

impl<'t, 'e, S: Stack> FetchStage<'t, 'e, S> {
    /// Counts an access of the fetch stage. Fails after too many, and after a failure.
    pub(super) fn begin(&mut self) -> Result<(), Stop> {
        match self.0.fetches_left.checked_sub(1) {
            Some(left) if self.0.ended.is_none() => {
                self.0.fetches_left = left;
                Ok(())
            }
            _ => Err(AGAIN),
        }
    }

    /// Reads pages; those that are missing are brought in while no page is fixed, and then it is tried again.
    fn pinning<T>(
        &mut self,
        mut read: impl FnMut(&'e Engine<S>, &Pinning<'_, S::Pages>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let engine = self.0.engine;
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        for _ in 0..ROUNDS {
            match read(engine, &pages) {
                Err(Error::NotInMemory { page }) => pages.bring(&[PageId(page)])?,
                other => return other,
            }
        }
        let _reading = miss::reading();
        read(engine, &pages)
    }

    /// Pins pages as far as the budget allows, and reads those of them that have left memory. Whatever is wrong with
    /// one, the operate stage meets it again.
    pub(super) fn pin(&mut self, pages: &[PageId]) {
        let engine = self.0.engine;
        let pinning = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        let missing: Vec<PageId> = pages.iter().copied().filter(|page| !pinning.try_pin(*page)).collect();
        for batch in missing.chunks(BATCH) {
            if engine.fetch == FetchMethod::Batches && !self.0.session.pins.is_refused() {
                let _ = engine.pin_budget.bring(&engine.pages, batch);
            }
            for page in batch {
                if self.0.session.pins.is_refused() {
                    return;
                }
                let _ = self.pinning(|_, pages| pages.touch(*page));
            }
        }
    }

    /// Fetches what finding a key in an index reads; the record, if there is one.
    fn key(&mut self, index: &IndexStore<S>, key: &[u8]) -> Option<Rid> {
        let found = self.pinning(|engine, pages| Tree::new(pages, &engine.space, &index.tree).find(key, |_| true));
        if let Ok(Find::Found(rid)) = found { Some(rid) } else { None }
    }

    fn encoded(&mut self, index: &IndexStore<S>, key: impl EncodedKey) -> Option<Rid> {
        key.for_bytes(index.key_width(), |key| self.key(index, key))
    }

    /// Fetches what finding a key reads, and with `and_row` its row's page, as far as pages are in memory: the record,
    /// if there is one. `None`, and the page, if one is missing.
    pub(super) fn try_key(
        &mut self,
        index: &IndexStore<S>,
        key: impl EncodedKey,
        and_row: bool,
        missing: &mut MissingPages,
    ) -> Option<Option<Rid>> {
        let engine = self.0.engine;
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        let tree = Tree::new(&pages, &engine.space, &index.tree);
        let number = key.as_u64();
        key.for_bytes(index.key_width(), |key| {
            let probe = tree.probe(key, number);
            if let Some(Find::Found(rid)) = tree.find_guessed(probe, number, |_| true)
                && (!and_row || pages.try_pin(rid.page))
            {
                return Some(Some(rid));
            }
            let row_page = |rid: Rid| if and_row { pages.touch(rid.page) } else { Ok(()) };
            let found = match tree.find_probe(probe, number, |_| true) {
                Ok(Find::Found(rid)) => row_page(rid).map(|()| Some(rid)),
                Ok(_) => Ok(None),
                Err(error) => Err(error),
            };
            note_missing(found, missing)
        })
    }

    /// Fetches the leaves of both ends of a range, as far as pages are in memory; else notes a page as missing.
    pub(super) fn try_ends<E: EncodedKey>(
        &mut self,
        index: &IndexStore<S>,
        range: &Encoded<E>,
        missing: &mut MissingPages,
    ) -> bool {
        let engine = self.0.engine;
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        let tree = Tree::new(&pages, &engine.space, &index.tree);
        let width = index.key_width();
        let found = range.low.for_bytes(width, |low| {
            range.high.for_bytes(width, |high| tree.visit_ends(tree.probe(low, None), tree.probe(high, None)))
        });
        note_missing(found.map(|()| None), missing).is_some()
    }

    /// Fetches the page into which a row will probably go, if it is in memory; else notes it as missing.
    pub(super) fn try_insertion(&mut self, table: &TableStores<S>, missing: &mut MissingPages) -> bool {
        let engine = self.0.engine;
        let Some(page) = table.heap.next_page() else { return true };
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        note_missing(pages.touch(page).map(|()| None), missing).is_some()
    }

    /// Brings in what was missing; false if nothing was, or it cannot be read.
    pub(super) fn bring(&mut self, missing: &mut MissingPages) -> bool {
        missing.sort_unstable();
        missing.dedup();
        let engine = self.0.engine;
        let Some(&(_, table)) = missing.first() else { return false };
        miss::set_table(table);
        let pages: SmallVec<[PageId; 32]> = missing.drain(..).map(|(page, _)| page).collect();
        engine.pin_budget.bring(&engine.pages, &pages).is_ok()
    }

    /// The records of primary keys, and their pages: for each key, in its order.
    #[inline(never)]
    pub(in crate::classic) fn find_each<'k, R: Record>(
        &mut self,
        keys: impl Iterator<Item = (&'k R::Encoded, &'k mut Option<Rid>)>,
    ) -> Result<(), Stop> {
        let table = self.0.table_of::<R>();
        let mut left: SmallVec<[_; 16]> = keys.collect();
        let mut missing = MissingPages::new();
        for _ in &left {
            self.begin()?;
        }
        let rounds = if self.0.engine.fetch == FetchMethod::Batches { ROUNDS } else { 0 };
        for _ in 0..rounds {
            left.retain(|(key, rid)| match self.try_key(&table.primary, **key, true, &mut missing) {
                Some(found) => {
                    **rid = found;
                    false
                }
                None => true,
            });
            if !self.bring(&mut missing) {
                break;
            }
        }
        left.into_iter().for_each(|(key, rid)| *rid = self.encoded(&table.primary, *key));
        Ok(())
    }

    /// The record of a primary key.
    #[inline(never)]
    pub(in crate::classic) fn find<R: Record>(&mut self, key: &R::Key) -> Result<Option<Rid>, Stop> {
        self.begin()?;
        let table = self.0.table_of::<R>();
        Ok(self.encoded(&table.primary, key.encode::<R::Encoded>()))
    }

    /// The row of a record.
    #[inline(never)]
    pub(in crate::classic) fn read<R: Record>(mut self, table: &TableStores<S>, rid: Rid) -> Result<&'t mut R, Stop> {
        self.begin()?;
        let mut copy = None;
        let found = self.pinning(|_, pages| table.heap.read_row(pages, rid, |read: R| copy = Some(read)));
        match found.map(|found| found.map(|row| row.map(|()| copy))) {
            Ok(Some(Ok(Some(row)))) => Ok(self.0.session.row.keep(row)),
            // It was deleted after its entry was read: what would follow is not known.
            _ => Err(AGAIN),
        }
    }

    /// Fetches the pages that inserting a row reads besides that of its primary key.
    pub(super) fn fetch_insertion<R: Record>(&mut self, table: &TableStores<S>, row: &R) {
        if let Some(page) = table.heap.next_page() {
            let _ = self.pinning(|_, pages| pages.touch(page));
        }
        self.entries(table, row, None);
    }

    /// The next record of a walk.
    #[inline(never)]
    pub(in crate::classic) fn step(&mut self, index: &IndexStore<S>, cursor: &mut Cursor) -> Result<Option<Rid>, Stop> {
        self.begin()?;
        let stepped =
            self.pinning(|engine, pages| cursor.step(&Tree::new(pages, &engine.space, &index.tree), |_| true));
        match stepped {
            Ok(Step::Got(rid)) => Ok(Some(rid)),
            _ => Ok(None),
        }
    }

    /// Fetches the leaves of a row's secondary indexes; if it changes to `after`, only those where its key changes.
    pub(in crate::classic) fn entries<R: Record>(&mut self, table: &TableStores<S>, before: &R, after: Option<&R>) {
        R::each_index(&mut FetchAll { stage: FetchStage(&mut *self.0), table, before, after });
    }
}

/// Passes on a record, if one was found; `None`, and the page, if one is missing. Other errors are passed over.
fn note_missing(found: Result<Option<Rid>, Error>, missing: &mut MissingPages) -> Option<Option<Rid>> {
    match found {
        Ok(found) => Some(found),
        Err(Error::NotInMemory { page }) => {
            missing.push((PageId(page), miss::table()));
            None
        }
        Err(_) => Some(None),
    }
}

/// Fetches the leaves of the entries of a row.
struct FetchAll<'a, 'e, S: Stack, R> {
    stage: FetchStage<'a, 'e, S>,
    table: &'a TableStores<S>,
    before: &'a R,
    after: Option<&'a R>,
}

impl<S: Stack, R: Record> IndexVisitor<R> for FetchAll<'_, '_, S, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        let index = &self.table.indexes[I::POSITION];
        let before: I::Encoded = I::key(self.before).encode();
        let after: Option<I::Encoded> = self.after.map(|after| I::key(after).encode());
        if after.as_ref() == Some(&before) {
            return;
        }
        self.stage.encoded(index, before);
        if let Some(after) = after {
            self.stage.encoded(index, after);
        }
    }
}
