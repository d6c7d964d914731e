//! A tree, and how it is descended.
//!
//! Readers couple shared latches from the root down: a child is latched before its parent is let go, so nothing can
//! move between the two. Writers do the same and latch only the leaf exclusively.

use super::definition::Definition;
use super::keys::Keys;
use super::node::{Header, Node};
use crate::classic::ids::{PageId, Rid};
use crate::classic::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;

/// Empty leaves in a row. Each was left by another failure to unlink it.
const MOST_EMPTY_LEAVES: usize = 1000;

/// The record behind a place among the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// That of the next key.
    Record(Rid),
    /// There is no further key.
    End,
}

/// The result of a search for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// The key, with its record.
    Here(Rid),
    /// Not the key; what comes behind it.
    Beyond(Next),
}

/// A latched leaf.
pub(super) struct Leaf<G> {
    pub(super) id: PageId,
    pub(super) header: Header,
    pub(super) page: G,
}

/// A tree on its pages.
pub(crate) struct Tree<'a, P, S, K> {
    pub(super) pages: &'a P,
    pub(super) space: &'a S,
    pub(super) definition: &'a Definition<K>,
}

impl<P, S, K> Clone for Tree<'_, P, S, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, S, K> Copy for Tree<'_, P, S, K> {}

/// For a caller that is alone, or holds the locks already: admits any insertion or removal.
pub(crate) fn anywhere<T>(_: T) -> bool {
    true
}

impl<'a, P: Pages, S: Space, K: Keys> Tree<'a, P, S, K> {
    /// The tree of this definition on these pages.
    #[inline(always)]
    pub(crate) fn new(pages: &'a P, space: &'a S, definition: &'a Definition<K>) -> Self {
        Self { pages, space, definition }
    }

    /// What it is.
    pub(crate) fn definition(&self) -> &'a Definition<K> {
        self.definition
    }

    #[inline(always)]
    pub(super) fn keys(&self) -> &'a K {
        &self.definition.keys
    }

    /// The most entries a node of this level may have.
    #[inline(always)]
    pub(super) fn capacity(&self, level: u8) -> usize {
        if level == 0 { self.definition.leaf_capacity } else { self.definition.inner_capacity }
    }

    /// Reads a fixed page as a node of this tree.
    #[inline(always)]
    pub(super) fn node<'p>(&self, id: PageId, page: &'p [u8]) -> Result<Node<'p>, Error> {
        match Node::read_of(page, self.definition.store, self.keys().width()) {
            Ok(node) => Ok(node),
            Err(problem) => Err(self.damaged(id, problem)),
        }
    }

    /// An error about a page.
    #[cold]
    pub(super) fn damaged(&self, id: PageId, problem: &str) -> Error {
        Error::Damaged {
            file: "pages".into(),
            offset: u64::from(id.0) * self.definition.page_bytes as u64,
            problem: format!("page {id} of the tree {} {problem}", self.definition.store),
        }
    }

    /// Which entry of an inner node leads to the key: the last whose separator is not greater, or the first.
    #[inline(always)]
    pub(super) fn child_at(&self, node: &Node<'_>, probe: K::Probe<'_>) -> usize {
        self.keys().not_greater(node.entries(), probe).saturating_sub(1)
    }

    /// The child at this entry; the node must be an inner one that has it.
    #[inline(always)]
    pub(super) fn child(&self, id: PageId, node: &Node<'_>, at: usize) -> Result<PageId, Error> {
        if at >= node.count {
            return Err(self.damaged(id, "is an inner node without children"));
        }
        Ok(node.child(at))
    }

    /// A child, read; it must be one level below its parent, so that a descent ends.
    #[inline(always)]
    pub(super) fn child_node<'p>(&self, id: PageId, page: &'p [u8], parent_level: u8) -> Result<Node<'p>, Error> {
        let node = self.node(id, page)?;
        if node.level + 1 != parent_level {
            return Err(self.damaged(id, "has another level than its parent says"));
        }
        Ok(node)
    }

    /// The leaf to which `choose` leads, which gives an entry of each inner node; shared latches.
    #[inline(always)]
    pub(super) fn leaf(&self, mut choose: impl FnMut(&Node<'_>) -> usize) -> Result<Leaf<P::Shared<'a>>, Error> {
        let mut id = self.definition.root;
        let mut page = self.pages.fix_shared(id)?;
        let mut header = self.node(id, &page)?.header();
        while header.level > 0 {
            let node = header.on(&page);
            let child = self.child(id, &node, choose(&node))?;
            let child_page = self.pages.fix_shared(child)?;
            header = self.child_node(child, &child_page, header.level)?.header();
            (id, page) = (child, child_page);
        }
        Ok(Leaf { id, header, page })
    }

    /// The key of an entry as a number, if keys are numbers.
    #[inline(always)]
    pub(super) fn number_at(&self, node: &Node<'_>, at: usize) -> u64 {
        self.keys().number(self.keys().probe(node.key(at))).unwrap_or(0)
    }

    /// The leaf where the key belongs, exclusively latched; all above it shared and let go. And the greatest key that
    /// belongs there, if keys are numbers.
    #[inline(always)]
    pub(super) fn leaf_exclusive(&self, probe: K::Probe<'_>) -> Result<(Leaf<P::Exclusive<'a>>, u64), Error> {
        loop {
            let mut last = u64::MAX;
            let mut id = self.definition.root;
            let mut page = self.pages.fix_shared(id)?;
            let mut header = self.node(id, &page)?.header();
            if header.level == 0 {
                drop(page);
                let page = self.pages.fix_exclusive(id)?;
                let header = self.node(id, &page)?.header();
                if header.level == 0 {
                    return Ok((Leaf { id, header, page }, last));
                }
                // It grew meanwhile.
                continue;
            }
            loop {
                let node = header.on(&page);
                let at = self.child_at(&node, probe);
                let child = self.child(id, &node, at)?;
                if at + 1 < node.count {
                    last = self.number_at(&node, at + 1).saturating_sub(1);
                }
                if header.level == 1 {
                    let page = self.pages.fix_exclusive(child)?;
                    let header = self.child_node(child, &page, 1)?.header();
                    return Ok((Leaf { id: child, header, page }, last));
                }
                let child_page = self.pages.fix_shared(child)?;
                header = self.child_node(child, &child_page, header.level)?.header();
                (id, page) = (child, child_page);
            }
        }
    }

    /// Asks about the record behind position `at` of a latched leaf. All leaves that the gap before that record reaches
    /// into are latched while `ask` answers, so that the gap is not filled meanwhile.
    #[inline(always)]
    pub(super) fn ask_next(
        &self,
        leaf: &Node<'_>,
        at: usize,
        ask: &mut impl FnMut(Next) -> bool,
    ) -> Result<(Next, bool), Error> {
        if at < leaf.count {
            let next = Next::Record(leaf.rid(at));
            return Ok((next, ask(next)));
        }
        self.ask_right(leaf.links().right, ask)
    }

    /// Links that lead in a circle would be followed for ever.
    pub(super) fn check_passed(&self, id: PageId, empty_leaves: usize) -> Result<(), Error> {
        if empty_leaves > MOST_EMPTY_LEAVES {
            return Err(self.damaged(id, "stands behind more empty leaves than there can be"));
        }
        Ok(())
    }

    #[inline(never)]
    fn ask_right(&self, mut right: PageId, ask: &mut dyn FnMut(Next) -> bool) -> Result<(Next, bool), Error> {
        // Leaves without entries, which are rare: one is on its way out of the tree, or on its way in.
        let mut empty = Vec::new();
        while right != PageId::NONE {
            self.check_passed(right, empty.len())?;
            let page = self.pages.fix_shared(right)?;
            let node = self.child_node(right, &page, 1)?;
            if node.count > 0 {
                let next = Next::Record(node.rid(0));
                return Ok((next, ask(next)));
            }
            right = node.links().right;
            empty.push(page);
        }
        Ok((Next::End, ask(Next::End)))
    }
}
