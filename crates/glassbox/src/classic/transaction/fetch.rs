//! The fetch stage: what each access reads.
//!
//! Whatever is wrong with a page or a row here is passed over: if it is not a trace of a change that goes on, the
//! operate stage meets it again and reports it.

use super::{AGAIN, FetchStage};
use crate::classic::engine::{IndexStore, TableStores};
use crate::classic::ids::Rid;
use crate::classic::page::pages::Pages;
use crate::classic::stack::{Session, Stack};
use crate::classic::tree::{Cursor, Find, Step, Tree};
use crate::classic::two_stage::Pinning;
use crate::procedure::Stop;
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record};

impl<'t, S: Stack> FetchStage<'t, '_, S> {
    /// Counts an access of the fetch stage. Fails after too many, and after a failure.
    fn begin(&mut self) -> Result<(), Stop> {
        match self.0.fetches_left.checked_sub(1) {
            Some(left) if self.0.ended.is_none() => {
                self.0.fetches_left = left;
                Ok(())
            }
            _ => Err(AGAIN),
        }
    }

    /// Fetches what finding a key in an index reads; the record, if there is one.
    fn key(&mut self, index: &IndexStore<S>, key: &[u8]) -> Option<Rid> {
        let engine = self.0.engine;
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        match Tree::new(&pages, &engine.space, &index.tree).find(key, |_| true) {
            Ok(Find::Found(rid)) => Some(rid),
            _ => None,
        }
    }

    fn encoded(&mut self, index: &IndexStore<S>, key: impl EncodedKey) -> Option<Rid> {
        key.for_bytes(index.key_width(), |key| self.key(index, key))
    }

    /// The record of a primary key.
    #[inline(never)]
    pub(in crate::classic) fn find<R: Record>(&mut self, key: &R::Key) -> Result<Option<Rid>, Stop> {
        self.begin()?;
        let table = self.0.engine.table::<R>();
        Ok(self.encoded(&table.primary, key.encode::<R::Encoded>()))
    }

    /// The row of a record.
    #[inline(never)]
    pub(in crate::classic) fn read<R: Record>(mut self, table: &TableStores<S>, rid: Rid) -> Result<&'t mut R, Stop> {
        self.begin()?;
        let engine = self.0.engine;
        let Session { pins, row, .. } = &mut *self.0.session;
        let pages = Pinning::new(&engine.pages, pins, &engine.pin_budget);
        match table.heap.read_row(&pages, rid, |read: R| row.keep(read)) {
            Ok(Some(Ok(row))) => Ok(row),
            // It was deleted after its entry was read: what would follow is not known.
            _ => Err(AGAIN),
        }
    }

    /// Fetches what changing a row reads, and gives the output of `change` on a copy.
    #[inline(never)]
    pub(in crate::classic) fn update<R: Record, O>(
        &mut self,
        table: &TableStores<S>,
        rid: Rid,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        let before = *FetchStage(&mut *self.0).read::<R>(table, rid)?;
        let mut after = before;
        let out = change(&mut after);
        self.entries(table, &before, Some(&after));
        Ok(out)
    }

    /// Fetches what inserting a row reads.
    #[inline(never)]
    pub(in crate::classic) fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.begin()?;
        let (engine, table) = (self.0.engine, self.0.engine.table::<R>());
        if let Some(page) = table.heap.next_page() {
            let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
            drop(pages.fix_shared(page));
        }
        self.encoded(&table.primary, row.key().encode::<R::Encoded>());
        self.entries(table, row, None);
        Ok(())
    }

    /// Fetches what deleting a row reads.
    #[inline(never)]
    pub(in crate::classic) fn delete<R: Record>(&mut self, table: &TableStores<S>, rid: Rid) -> Result<(), Stop> {
        let row = *FetchStage(&mut *self.0).read::<R>(table, rid)?;
        self.entries(table, &row, None);
        Ok(())
    }

    /// The next record of a walk.
    #[inline(never)]
    pub(in crate::classic) fn step(&mut self, index: &IndexStore<S>, cursor: &mut Cursor) -> Result<Option<Rid>, Stop> {
        self.begin()?;
        let engine = self.0.engine;
        let pages = Pinning::new(&engine.pages, &mut self.0.session.pins, &engine.pin_budget);
        match cursor.step(&Tree::new(&pages, &engine.space, &index.tree), |_| true) {
            Ok(Step::Got(rid)) => Ok(Some(rid)),
            _ => Ok(None),
        }
    }

    /// Fetches the leaves of a row's secondary indexes; if it changes to `after`, only those where its key changes.
    pub(in crate::classic) fn entries<R: Record>(&mut self, table: &TableStores<S>, before: &R, after: Option<&R>) {
        R::each_index(&mut FetchAll { stage: FetchStage(&mut *self.0), table, before, after });
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
