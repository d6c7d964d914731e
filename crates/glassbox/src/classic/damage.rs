//! What is wrong with rows and indexes that do not agree, as errors.

use super::engine::Engine;
use super::ids::Rid;
use super::stack::Stack;
use super::table::IndexStore;
use crate::error::Error;
use crate::record::BadRow;

impl<S: Stack> Engine<S> {
    #[cold]
    pub(super) fn bad_row(&self, rid: Rid, bad: BadRow) -> Error {
        super::page::damaged(rid.page, self.page_bytes(), format!("record {rid}: {bad}"))
    }

    #[cold]
    pub(super) fn missing_record(&self, table: &str, rid: Rid) -> Error {
        let problem = format!("an index of table `{table}` leads to record {rid}, which is not there");
        super::page::damaged(rid.page, self.page_bytes(), problem)
    }

    #[cold]
    pub(super) fn missing_entry(&self, index: &IndexStore<S>) -> Error {
        let problem = format!("index `{}` lacks the entry of a row", index.name);
        super::page::damaged(index.tree.root(), self.page_bytes(), problem)
    }
}
