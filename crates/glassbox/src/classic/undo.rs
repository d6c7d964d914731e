//! Taking back entries of trees, wherever they are by now.

use super::change::{Change, Journal};
use super::engine::Engine;
use super::ids::{PageId, StoreId};
use super::page;
use super::stack::Stack;
use super::tree::NodeChange;
use super::wal::rollback::Undoer;
use crate::error::Error;

/// Undoes what transactions of an engine have changed.
pub(super) struct TreeUndo<'e, S: Stack>(pub(super) &'e Engine<S>);

impl<S: Stack> Undoer for TreeUndo<'_, S> {
    fn undo(
        &mut self,
        journal: &mut impl Journal,
        store: StoreId,
        page: PageId,
        change: Change<'_>,
    ) -> Result<(), Error> {
        let damaged = |problem| Err(page::damaged(page, self.0.page_bytes(), problem));
        let Some(tree) = self.0.tree_of(store) else {
            return damaged(format!("a change is to be undone in store {store}, which is no tree of this volume"));
        };
        let entry = match change {
            Change::Node(NodeChange::Insert { entry, .. } | NodeChange::Remove { entry, .. }) => entry,
            other => return damaged(format!("a change of a tree is to be undone that is no entry's: {other:?}")),
        };
        match (NodeChange::leaf_entry(entry), change) {
            (Some((key, _)), _) if key.len() != tree.definition().key_width() => {
                damaged(format!("a key of {} bytes is to be undone in a tree of others", key.len()))
            }
            (Some((key, _)), Change::Node(NodeChange::Insert { .. })) => tree.undo_insert(journal, key),
            (Some((key, rid)), _) => tree.undo_remove(journal, key, rid),
            (None, _) => damaged("an entry is to be undone that is none".to_owned()),
        }
    }
}
