//! The stores of a table: a heap file for its rows, a tree for its primary key and one for each secondary index.

use super::directory::StoreEntry;
use super::heap::HeapFile;
use super::ids::StoreId;
use super::stack::Stack;
use super::tree::{Definition, KeyPart};
use crate::record::TableSchema;

/// Where the rows of a table are, and how they are found.
pub(crate) struct TableStores<S: Stack> {
    pub(crate) schema: TableSchema,
    pub(crate) heap: HeapFile,
    pub(crate) primary: IndexStore<S>,
    /// In the order of [`Index::POSITION`](crate::record::Index::POSITION).
    pub(crate) indexes: Vec<IndexStore<S>>,
}

/// A tree, and what it is the index of.
pub(crate) struct IndexStore<S: Stack> {
    /// What people call it: `district`, or `customer.by_name`.
    pub(crate) name: String,
    pub(crate) tree: Definition<S::Keys>,
    /// What the directory said of it when it was opened.
    pub(crate) entry: StoreEntry,
    /// Positions of its key's columns in the table.
    pub(crate) columns: Vec<usize>,
}

impl<S: Stack> IndexStore<S> {
    pub(crate) fn store(&self) -> StoreId {
        self.tree.store()
    }

    #[inline(always)]
    pub(crate) fn key_width(&self) -> usize {
        self.tree.key_width()
    }
}

impl<S: Stack> TableStores<S> {
    /// All trees, that of the primary key first.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &IndexStore<S>> {
        std::iter::once(&self.primary).chain(&self.indexes)
    }
}

/// The columns of a key, for comparing.
pub(crate) fn key_parts(schema: &TableSchema, columns: &[usize]) -> Vec<KeyPart> {
    let part = |&at: &usize| KeyPart { kind: schema.columns[at].kind, nullable: schema.columns[at].nullable };
    columns.iter().map(part).collect()
}
