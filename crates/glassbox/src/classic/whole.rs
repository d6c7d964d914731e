//! What concerns all tables at once: the space that they take, checks, checkpoints, the end.

use std::collections::HashSet;

use super::engine::Engine;
use super::ids::{PageId, Rid};
use super::pages::Pages;
use super::recovery::{self, CheckpointLsns};
use super::sessions::Sessions;
use super::stack::{Stack, Standard};
use super::table::{IndexStore, TableStores};
use super::tree::{Find, Neighbour};
use super::wal::forms::Logs;
use crate::error::Error;
use crate::executed::{Counters, TableUsage};
use crate::log::Log;
use crate::record::layout::encode;
use crate::record::mix;

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

    /// Counts of transactions, and the space of each table. Reads all trees and heap files.
    pub(crate) fn usage(&self) -> (Counters, Vec<TableUsage>) {
        let counters = self.counters().unwrap_or_default();
        // What cannot be read is said by whoever needs it; here there is only nothing to count.
        let tables = self.tables.iter().flatten().filter_map(|table| self.usage_of(table).ok()).collect();
        (counters, tables)
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

    /// What is wrong: with the structure of trees and heap files, with indexes that do not agree with their table, with
    /// pages that two use or nobody. No transaction runs meanwhile.
    pub(crate) fn verify(&self) -> Vec<String> {
        let checked = self.sessions.quietly(|_| {
            let (mut wrong, mut used) = (Vec::new(), HashSet::new());
            for table in self.tables.iter().flatten() {
                if let Err(error) = self.verify_table(table, &mut used, &mut wrong) {
                    wrong.push(format!("table `{}`: {error}", table.schema.name));
                }
            }
            wrong
        });
        checked.unwrap_or_else(|error| vec![error.to_string()])
    }

    fn verify_table(
        &self,
        table: &TableStores<S>,
        used: &mut HashSet<PageId>,
        wrong: &mut Vec<String>,
    ) -> Result<(), Error> {
        let name = &table.schema.name;
        let mut note = |page: PageId, wrong: &mut Vec<String>| {
            if !used.insert(page) {
                wrong.push(format!("table `{name}`: page {page} is used twice"));
            }
        };
        table.heap.verify(&self.pages, |page| note(page, wrong))?;
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
            tree.pages()?.into_iter().for_each(|page| note(page, wrong));
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

/// Of bytes, and what was before them.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).fold(mix(before ^ bytes.len() as u64), |sum, chunk| mix(sum ^ word(chunk)))
}

impl Engine<Standard> {
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

    /// Refuses a checkpoint of what does not count: half a transaction that could not be taken back, or, unless it is
    /// the load that asks, half a bulk load.
    pub(crate) fn check_whole(&self, loading: bool) -> Result<(), Error> {
        if loading && !self.health.is_stopped() { Ok(()) } else { self.check() }
    }

    /// Returns when all that was appended is durable.
    pub(crate) fn force_log(&self) -> Result<(), Error> {
        Ok(self.log().force()?)
    }
}
