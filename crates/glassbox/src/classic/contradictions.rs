//! What an engine says when its stores contradict each other: damage that no checksum has found.

use super::engine::Engine;
use super::ids::Rid;
use super::page::damaged;
use super::stack::Stack;
use super::table::IndexStore;
use crate::error::Error;
use crate::record::BadRow;

impl<S: Stack> Engine<S> {
    /// The result of reading or changing a row, when it is not the row.
    #[cold]
    pub(super) fn no_row(&self, table: &str, rid: Rid, failed: Result<Option<Result<(), BadRow>>, Error>) -> Error {
        match failed {
            Err(error) => error,
            Ok(Some(Err(bad))) => damaged(rid.page, self.page_bytes(), format!("record {rid}: {bad}")),
            Ok(_) => self.missing_record(table, rid),
        }
    }

    #[cold]
    pub(super) fn missing_record(&self, table: &str, rid: Rid) -> Error {
        let problem = format!("an index of table `{table}` leads to record {rid}, which is not there");
        damaged(rid.page, self.page_bytes(), problem)
    }

    #[cold]
    pub(super) fn missing_entry(&self, index: &IndexStore<S>) -> Error {
        let problem = format!("index `{}` lacks the entry of a row", index.name);
        damaged(index.tree.root(), self.page_bytes(), problem)
    }
}
