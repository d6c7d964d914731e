//! Splitting nodes.
//!
//! Where to cut decides how full nodes are. In the middle is right for random keys: both halves can grow. But keys that
//! grow, one behind the other, never come back to the left half, and nodes would stay half full; such insertions leave
//! the left node full. They are told from others by [`Sequence`]: the right edge of the tree needs no evidence,
//! elsewhere some insertions in a row must each have come right behind the one before. So several growing sequences,
//! side by side in one tree, each fill their nodes. And a sequence need not wait until its leaf is full: what stands
//! behind it would be moved by each insertion, so it gets a leaf of its own before. Both are then as full as they were,
//! and only as many nodes are more as there are sequences.

use super::change::NodeChange;
use super::entry_buffer::EntryBuffer;
use super::keys::Keys;
use super::node::{self, Links, MOST_KEY_BYTES, Node, Sequence};
use super::tree::Tree;
use crate::classic::change::{Change, Journal, Undo};
use crate::classic::ids::PageId;
use crate::classic::page::PageKind;
use crate::classic::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;

/// So many insertions in a row, each right behind the one before, are no accident.
const GROWING: u16 = 4;

/// Bytes behind an insertion that are not worth a node of their own.
const FEW_BYTES: usize = 1 << 10;
/// So many insertions in a row are no accident where keys are many.
const SETTLING: u16 = 2;

/// Whether a leaf that is not full is split nevertheless: what comes for a growing sequence would always move what is
/// behind it.
#[inline(always)]
pub(super) fn is_in_the_way(leaf: &Node<'_>, at: usize) -> bool {
    at > 0 && (leaf.count - at) * leaf.stride() > FEW_BYTES && {
        let sequence = leaf.sequence();
        sequence.run >= SETTLING && at == usize::from(sequence.last.wrapping_add(1))
    }
}

/// Where a full node is split for an insertion at `at`, and what the new node to its right knows of the sequence.
fn cut(node: &Node<'_>, at: usize, at_edge: bool) -> (usize, Sequence) {
    let sequence = node.sequence();
    let grows =
        (sequence.run >= GROWING || is_in_the_way(node, at)) && at == usize::from(sequence.last.wrapping_add(1));
    if at == node.count && (grows || at_edge) {
        // An inner node needs a child, and what comes belongs behind the last.
        let from = if node.level == 0 { at } else { at - 1 };
        return (from, Sequence { last: (at - from).wrapping_sub(1) as u16, run: sequence.run });
    }
    (if grows && at > 0 && at < node.count { at } else { node.count / 2 }, Sequence::NONE)
}

/// A node latched exclusively.
pub(super) struct Held<G> {
    pub(super) id: PageId,
    pub(super) page: G,
}

/// What a split is to do.
struct Split<'s> {
    /// The first entry that moves to the new node.
    from: usize,
    /// What the new node begins with.
    sequence: Sequence,
    /// The smallest key that belongs to the new node.
    separator: &'s [u8],
    /// Where in the parent the separator belongs.
    at: usize,
}

impl<'a, P: Pages, S: Space, K: Keys> Tree<'a, P, S, K> {
    /// Splits the leaf where the key belongs, if it is full. A full inner node on the way is split first, so a parent
    /// always has room for a separator, and no more than two levels are latched.
    #[cold]
    pub(super) fn make_room<J: Journal>(&self, journal: &mut J, key: &[u8]) -> Result<(), Error> {
        let probe = self.keys().probe(key);
        let id = self.definition.root();
        let mut parent = Held { id, page: self.pages.fix_exclusive(id)? };
        let root = self.node(id, &parent.page)?;
        if root.count >= self.capacity(root.level) {
            self.grow(journal, &mut parent)?;
        }
        let mut at_edge = true;
        loop {
            let node = self.node(parent.id, &parent.page)?;
            if node.level == 0 {
                return Ok(());
            }
            let (level, at) = (node.level, self.child_at(&node, probe));
            at_edge &= at + 1 == node.count;
            let id = self.child(parent.id, &node, at)?;
            let mut child = Held { id, page: self.pages.fix_exclusive(id)? };
            let node = self.child_node(id, &child.page, level)?;
            let settles = node.level == 0 && is_in_the_way(&node, self.keys().smaller(node.entries(), probe));
            if settles || node.count >= self.capacity(node.level) {
                let place = match node.level {
                    0 => self.keys().smaller(node.entries(), probe),
                    _ => self.child_at(&node, probe) + 1,
                };
                let (from, sequence) = cut(&node, place, at_edge);
                let separator = EntryBuffer::copy(if from < node.count { node.key(from) } else { key });
                let separator = separator.bytes();
                let split = Split { from, sequence, separator, at: at + 1 };
                let right = self.split(journal, &mut parent, &mut child, &split)?;
                if self.keys().compare(separator, key).is_le() {
                    child = right;
                } else {
                    at_edge = false;
                }
            }
            parent = child;
        }
    }

    /// Moves what is in the root to a new node, its only child. The root becomes one level higher.
    fn grow<J: Journal>(&self, journal: &mut J, root: &mut Held<P::Exclusive<'a>>) -> Result<(), Error> {
        let node = self.node(root.id, &root.page)?;
        let old = node.body().to_vec();
        let Some(level) = node.level.checked_add(1).filter(|level| *level < node::RETIRED) else {
            return Err(self.damaged(root.id, "is a root too high to grow"));
        };
        let width = self.keys().width();
        let nested = journal.begin_nested();
        let id = self.space.allocate(journal)?;
        let mut child = self.pages.fix_new(id)?;
        let format = Change::Format { kind: PageKind::Node, store: self.definition.store(), body: &old };
        journal.change(&mut child, format, Undo::Page)?;
        let entry = EntryBuffer::inner(&[0; MOST_KEY_BYTES][..width], id);
        let new = node::body(level, width, Links::NONE, Sequence::NONE, entry.bytes());
        let rebuild = NodeChange::Rebuild { old: &old, new: &new };
        journal.change(&mut root.page, Change::Node(rebuild), Undo::Page)?;
        journal.end_nested(nested)
    }

    /// Moves the end of `left` to a new node, which is given back latched. The parent has room.
    fn split<J: Journal>(
        &self,
        journal: &mut J,
        parent: &mut Held<P::Exclusive<'a>>,
        left: &mut Held<P::Exclusive<'a>>,
        split: &Split<'_>,
    ) -> Result<Held<P::Exclusive<'a>>, Error> {
        let store = self.definition.store();
        let node = self.node(left.id, &left.page)?;
        let (level, links) = (node.level, node.links());
        let moved = node.bytes(split.from, node.count).to_vec();
        // All pages are latched before the first is changed, so that only the log can fail in between.
        let mut behind: Option<Held<P::Exclusive<'a>>> = match links.right {
            PageId::NONE => None,
            right => Some(Held { id: right, page: self.pages.fix_exclusive(right)? }),
        };
        if let Some(behind) = &behind {
            self.child_node(behind.id, &behind.page, 1)?;
        }
        let nested = journal.begin_nested();
        let id = self.space.allocate(journal)?;
        let mut right = Held { id, page: self.pages.fix_new(id)? };
        let right_links = match level {
            0 => Links { left: left.id, right: links.right },
            _ => Links::NONE,
        };
        let body = node::body(level, self.keys().width(), right_links, split.sequence, &moved);
        journal.change(&mut right.page, Change::Format { kind: PageKind::Node, store, body: &body }, Undo::Page)?;
        if !moved.is_empty() {
            let cut = NodeChange::Cut { from: split.from as u16, entries: &moved };
            journal.change(&mut left.page, Change::Node(cut), Undo::Page)?;
        }
        if level == 0 {
            let new = Links { right: id, ..links };
            journal.change(&mut left.page, Change::Node(NodeChange::Link { old: links, new }), Undo::Page)?;
        }
        if let Some(behind) = &mut behind {
            self.link(journal, behind, |old| Links { left: id, ..old })?;
        }
        let entry = EntryBuffer::inner(split.separator, id);
        let insert = NodeChange::Insert { store, at: split.at as u16, entry: entry.bytes() };
        journal.change(&mut parent.page, Change::Node(insert), Undo::Page)?;
        journal.end_nested(nested)?;
        Ok(right)
    }
}
