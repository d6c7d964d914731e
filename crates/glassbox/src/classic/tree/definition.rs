//! What a tree is, apart from its pages, and how an empty one is made.

use super::hints::Hints;
use super::keys::Keys;
use super::node::{self, Links, MAX_KEY_BYTES, Sequence};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::PageKind;
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;

/// What a tree is, apart from its pages. Never changes, but for guesses.
#[derive(Clone, Debug)]
pub(crate) struct Definition<K> {
    pub(super) store: StoreId,
    pub(super) root: PageId,
    pub(super) keys: K,
    pub(super) page_bytes: usize,
    pub(super) leaf_capacity: usize,
    pub(super) inner_capacity: usize,
    pub(super) hints: Hints,
}

impl<K: Keys> Definition<K> {
    /// The tree of `store` whose root is the page `root`, on pages of `page_bytes`.
    ///
    /// # Panics
    /// When keys have no bytes or more than [`MAX_KEY_BYTES`].
    pub(crate) fn new(store: StoreId, root: PageId, keys: K, page_bytes: usize) -> Self {
        let width = keys.width();
        assert!((1..=MAX_KEY_BYTES).contains(&width), "a key has 1 to {MAX_KEY_BYTES} bytes");
        let capacity = |level| node::capacity(page_bytes, level, width);
        Self {
            store,
            root,
            keys,
            page_bytes,
            leaf_capacity: capacity(0),
            inner_capacity: capacity(1),
            hints: Hints::default(),
        }
    }

    /// The same with at most so many entries in a node, so that a test has many levels soon.
    #[cfg(test)]
    pub(crate) fn with_capacity(self, entries: usize) -> Self {
        assert!(entries >= 4);
        let (leaf_capacity, inner_capacity) = (self.leaf_capacity.min(entries), self.inner_capacity.min(entries));
        Self { leaf_capacity, inner_capacity, ..self }
    }

    /// The tree's number.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// The page that stays the root.
    pub(crate) fn root(&self) -> PageId {
        self.root
    }

    /// Bytes of a key.
    pub(crate) fn key_width(&self) -> usize {
        self.keys.width()
    }
}

/// Makes an empty tree: allocates its root, which is given back, and formats it.
///
/// # Errors
/// When there is no page, or the log does not take it.
pub(crate) fn create<P: Pages, S: Space, J: PageLog>(
    pages: &P,
    space: &S,
    journal: &mut J,
    store: StoreId,
    key_width: usize,
) -> Result<PageId, Error> {
    let root = space.allocate(journal)?;
    let mut page = pages.fix_new(root)?;
    let body = node::body(0, key_width, Links::NONE, Sequence::NONE, &[]);
    journal.change(&mut page, Change::Format { kind: PageKind::Node, store, body: &body }, Undo::Nothing)?;
    Ok(root)
}
