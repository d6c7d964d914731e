//! What concerns all tables at once: the space that they take, checks, checkpoints, the end.

use super::buffer::{PoolStats, Simulated};
use super::engine::Engine;
use super::ids::{Rid, StoreId};
use super::lock::{LockCounters, Wait};
use super::pages::Pages;
use super::recovery::{self, CheckpointLsns};
use super::sessions::Sessions;
use super::stack::{Stack, Standard};
use super::table::{IndexStore, TableStores};
use super::tree::{Find, Neighbour};
use super::wal::forms::Logs;
use crate::error::Error;
use crate::executed::TableUsage;
use crate::health::{Until, await_transactions};
use crate::log::Log;
use crate::record::digest;
use crate::record::layout::encode;

impl<S: Stack> Engine<S> {
    /// A number that all rows of all tables give, wherever they are: equal for equal contents.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had.
    pub(crate) fn digest(&self) -> Result<u64, Error> {
        self.sessions.quietly(|_| {
            let mut sum = 0_u64;
            for table in self.tables.iter().flatten() {
                let name = digest(0, table.schema.name.as_bytes());
                table.heap.scan(&self.pages, |_, row| {
                    sum = sum.wrapping_add(digest(name, row));
                    Ok(())
                })?;
            }
            Ok(sum)
        })?
    }

    /// The space of each table. Reads all trees and heap files.
    pub(crate) fn usage(&self) -> Vec<TableUsage> {
        // An unreadable table is reported by its users; here it counts as empty.
        self.tables.iter().flatten().filter_map(|table| self.usage_of(table).ok()).collect()
    }

    /// The space of a table. Reads its trees and its heap file.
    ///
    /// # Errors
    /// When a page is damaged or cannot be read, or there is no such table.
    pub(crate) fn usage_of_table(&self, table: &str) -> Result<TableUsage, Error> {
        let known = self.tables.iter().flatten().find(|known| known.schema.name == table);
        self.usage_of(known.ok_or_else(|| Error::Catalog(format!("there is no table `{table}`")))?)
    }

    fn usage_of(&self, table: &TableStores<S>) -> Result<TableUsage, Error> {
        let page_bytes = self.page_bytes() as u64;
        let mut heap_pages = 0;
        table.heap.verify(&self.pages, |_| heap_pages += 1)?;
        let mut index_bytes = Vec::new();
        for index in table.trees() {
            index_bytes.push((index.name.clone(), self.tree(index).pages()?.len() as u64 * page_bytes));
        }
        let rows = self.tree(&table.primary).len()?;
        Ok(TableUsage { table: table.schema.name.to_string(), rows, row_bytes: heap_pages * page_bytes, index_bytes })
    }

    /// Faults: in the structure of trees and heap files, in indexes that do not agree with their table, in
    /// pages of two owners or of none. No transaction runs meanwhile.
    pub(crate) fn verify(&self) -> Vec<String> {
        let checked = self.sessions.quietly(|_| {
            let mut wrong = Vec::new();
            for table in self.tables.iter().flatten() {
                if let Err(error) = self.verify_table(table, &mut wrong) {
                    wrong.push(format!("table `{}`: {error}", table.schema.name));
                }
            }
            // The pages of a broken structure are unknown.
            if wrong.is_empty()
                && let Err(error) = self.verify_space(&mut wrong)
            {
                wrong.push(error.to_string());
            }
            wrong
        });
        checked.unwrap_or_else(|error| vec![error.to_string()])
    }

    fn verify_table(&self, table: &TableStores<S>, wrong: &mut Vec<String>) -> Result<(), Error> {
        table.heap.verify(&self.pages, |_| {})?;
        let mut rows = 0;
        table.heap.scan(&self.pages, |_, _| {
            rows += 1;
            Ok(())
        })?;
        for index in table.trees() {
            let tree = self.tree(index);
            let problems = tree.check()?;
            wrong.extend(problems.iter().map(|problem| format!("index `{}`: {problem}", index.name)));
            if !problems.is_empty() {
                continue;
            }
            let entries = tree.len()?;
            if entries != rows {
                wrong.push(format!("index `{}` has {entries} entries for {rows} rows", index.name));
            }
            self.verify_entries(table, index, wrong)?;
        }
        Ok(())
    }

    /// That every row is found by its key.
    fn verify_entries(
        &self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        wrong: &mut Vec<String>,
    ) -> Result<(), Error> {
        let tree = self.tree(index);
        let (mut key, mut lost): (Vec<u8>, Vec<Rid>) = (Vec::new(), Vec::new());
        table.heap.scan(&self.pages, |rid, row| {
            key.clear();
            encode(&table.schema, &index.columns, row, &mut key);
            if tree.find(&key, |_: Neighbour| true)? != Find::Found(rid) {
                lost.push(rid);
            }
            Ok(())
        })?;
        wrong.extend(lost.into_iter().map(|rid| format!("index `{}` does not find record {rid}", index.name)));
        Ok(())
    }
}

impl Engine<Standard> {
    /// What the buffer pool did since it was made.
    pub(crate) fn pool_stats(&self) -> PoolStats {
        self.pages.stats()
    }

    /// Bytes of a page, and pages that fit in memory.
    pub(crate) fn pool_size(&self) -> (usize, usize) {
        (self.pages.page_bytes(), self.pages.frames())
    }

    /// What the pool should have done so far by the replacement policy alone, as a simulator tells that is given the
    /// recorded fixes; `None` unless they are recorded.
    pub(crate) fn simulated(&self) -> Option<Simulated> {
        self.pages.simulated()
    }

    /// What waited for locks.
    pub(crate) fn lock_counters(&self) -> LockCounters {
        self.locks.counters()
    }

    /// The last waits for locks that are over, oldest first.
    pub(crate) fn lock_waits(&self) -> Vec<Wait> {
        self.locks.waits()
    }

    /// What people call the store of this number: table or index.
    pub(crate) fn store_in_words(&self, store: StoreId) -> String {
        for table in self.tables.iter().flatten() {
            if table.heap.store() == store {
                return format!("table `{}`", table.schema.name);
            }
            if let Some(index) = table.trees().find(|index| index.store() == store) {
                return format!("index `{}`", index.name);
            }
        }
        format!("store {store}")
    }

    /// Whether pages can be written; why not otherwise.
    pub(crate) fn check_writing(&self) -> Result<(), Error> {
        self.pages.check_writing()
    }

    /// The log.
    pub(crate) fn log(&self) -> &Log {
        &self.logs.0
    }

    /// Writes all pages that are dirty now, then makes a fuzzy checkpoint. Transactions go on meanwhile.
    pub(crate) fn checkpoint(&self) -> Result<CheckpointLsns, Error> {
        self.pages.clean_up_to(self.log().appended())?;
        let mut device = self.logs.device()?;
        recovery::checkpoint(&self.logs, &mut device, &self.transactions, || self.pages.dirty_pages())
    }

    /// Waits for the transactions of all sessions.
    ///
    /// # Errors
    /// As for [`await_transactions`].
    pub(crate) fn await_transactions(&self, until: Until) -> Result<(), Error> {
        let place = |(at, counters)| (counters, move || self.sessions.is_free(at));
        await_transactions("session", self.counters.iter().map(|counters| &**counters).enumerate().map(place), until)
    }

    /// Ends the background writer, and writes no page from here on: the files may be those of another opening then.
    pub(crate) fn end_pages(&self) {
        if let Some(writer) = &self.writer {
            writer.stop();
        }
        self.pages.stop("the database was closed");
    }

    /// Refuses a checkpoint of what does not count: half a transaction that could not be undone, or half a bulk load,
    /// unless the checkpoint is that of the load, or of a close, which has the engine `alone`.
    pub(crate) fn check_whole(&self, alone: bool) -> Result<(), Error> {
        if alone && !self.health.is_stopped() { Ok(()) } else { self.check() }
    }

    /// Returns when all that was appended is durable.
    pub(crate) fn force_log(&self) -> Result<(), Error> {
        Ok(self.log().force()?)
    }
}
