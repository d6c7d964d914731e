//! Removing a key, taking back an insertion, and unlinking leaves that have become empty.
//!
//! Nodes are not merged before they are empty: in a database that grows, what was removed comes back (Gray and Reuter
//! 1993, §15.3). An empty leaf is unlinked in a nested action of its own after the removal. It may stay when its left
//! sibling is latched by others again and again; lookups and scans pass over it.

use super::change::NodeChange;
use super::insert::LatchedNode;
use super::keys::Keys;
use super::node::EntryBuffer;
use super::node::{self, Links, Sequence};
use super::tree::{InLeaf, Leaf, Next, Tree, anywhere};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;

/// How often unlinking an empty leaf is begun again because its left sibling is latched.
const TRIES: usize = 16;

/// What a removal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The key is gone; this was its record.
    Done(Rid),
    /// The key was not there.
    Missing,
    /// The caller did not admit it, the next key's record being this; nothing was changed.
    Refused(Next),
}

/// Nodes from above to below.
type LatchedPath<G> = Vec<LatchedNode<G>>;

/// Whether a leaf is unlinked.
enum Unlinked {
    Done,
    /// The left sibling was latched.
    Busy,
}

impl<'a, P: Pages, S: Space, K: Keys> Tree<'a, P, S, K> {
    /// Removes a key. `admit` is told the record of the next key while the leaf is exclusively latched. `undo` says how
    /// the change is undone.
    ///
    /// # Errors
    /// When a page cannot be read or is no node of the tree, or the log does not take the change.
    #[inline]
    pub(crate) fn remove<J: PageLog>(
        &self,
        journal: &mut J,
        key: &[u8],
        undo: Undo,
        mut admit: impl FnMut(InLeaf<Next>) -> bool,
    ) -> Result<Removed, Error> {
        let probe = self.keys().probe(key);
        let (Leaf { id, header, mut page }, _) = self.leaf_exclusive(probe)?;
        let leaf = header.on(&page);
        let at = self.keys().smaller(leaf.entries(), probe);
        if at == leaf.count || !self.keys().is_at(leaf.entries(), at, probe) {
            return Ok(Removed::Missing);
        }
        let (next, admitted) = self.ask_next(&leaf, at + 1, &mut |found| admit(InLeaf { leaf: id, found }))?;
        if !admitted {
            return Ok(Removed::Refused(next));
        }
        let (rid, emptied) = (leaf.rid(at), leaf.count == 1);
        let entry = EntryBuffer::copy(leaf.entry(at));
        let remove = NodeChange::Remove { store: self.definition.store(), at: at as u16, entry: entry.bytes() };
        journal.change(&mut page, Change::Node(remove), undo)?;
        drop(page);
        if emptied && id != self.definition.root() {
            self.drop_empty(journal, key)?;
        }
        Ok(Removed::Done(rid))
    }

    /// Takes the insertion of a key back.
    ///
    /// # Errors
    /// As for [`Tree::remove`], and when the key is not there.
    pub(crate) fn undo_insert<J: PageLog>(&self, journal: &mut J, key: &[u8]) -> Result<(), Error> {
        match self.remove(journal, key, Undo::Nothing, anywhere)? {
            Removed::Done(_) => Ok(()),
            Removed::Missing | Removed::Refused(_) => {
                Err(self.damaged(self.definition.root(), "does not lead to a key whose insertion is to be undone"))
            }
        }
    }

    /// Unlinks the leaf where `key` belongs if it is still empty, with the nodes above it that have no other child.
    #[cold]
    fn drop_empty<J: PageLog>(&self, journal: &mut J, key: &[u8]) -> Result<(), Error> {
        for _ in 0..TRIES {
            match self.try_unlink(journal, key)? {
                Unlinked::Done => return Ok(()),
                Unlinked::Busy => std::thread::yield_now(),
            }
        }
        Ok(())
    }

    /// The way to the leaf where `key` belongs, exclusively latched, from the lowest node on that keeps a child when
    /// the leaf goes, or from the root; with the entry that leads from the first node to the second.
    fn doomed(&self, key: &[u8]) -> Result<(LatchedPath<P::Exclusive<'a>>, usize), Error> {
        let probe = self.keys().probe(key);
        let mut id = self.definition.root();
        let mut path = vec![LatchedNode { id, page: self.pages.fix_exclusive(id)? }];
        let mut at_first = 0;
        loop {
            let held = path.last().expect("the root at least");
            let node = self.node(id, &held.page)?;
            if node.level == 0 {
                return Ok((path, at_first));
            }
            let (level, at, several) = (node.level, self.child_at(&node, probe), node.count > 1);
            id = self.child(held.id, &node, at)?;
            if several {
                path.drain(..path.len() - 1);
                at_first = at;
            }
            let page = self.pages.fix_exclusive(id)?;
            self.child_node(id, &page, level)?;
            path.push(LatchedNode { id, page });
        }
    }

    fn try_unlink<J: PageLog>(&self, journal: &mut J, key: &[u8]) -> Result<Unlinked, Error> {
        let (mut path, at) = self.doomed(key)?;
        let leaf = path.last().expect("the root at least");
        let node = self.node(leaf.id, &leaf.page)?;
        if node.count > 0 || path.len() == 1 {
            return Ok(Unlinked::Done);
        }
        let links = node.links();
        let mut left = match links.left {
            PageId::NONE => None,
            left => match self.pages.try_fix_exclusive(left)? {
                Some(page) => Some(LatchedNode { id: left, page }),
                None => return Ok(Unlinked::Busy),
            },
        };
        let mut right = match links.right {
            PageId::NONE => None,
            right => Some(LatchedNode { id: right, page: self.pages.fix_exclusive(right)? }),
        };
        for sibling in left.iter().chain(&right) {
            self.child_node(sibling.id, &sibling.page, 1)?;
        }
        let freed: Vec<PageId> = path[1..].iter().map(|held| held.id).collect();
        let freeing = self.space.fix_for_freeing(&freed)?;
        let nested = journal.begin_nested();
        if let Some(left) = &mut left {
            self.link(journal, left, |old| Links { right: links.right, ..old })?;
        }
        if let Some(right) = &mut right {
            self.link(journal, right, |old| Links { left: links.left, ..old })?;
        }
        for doomed in &mut path[1..] {
            self.retire(journal, doomed)?;
        }
        self.remove_child(journal, &mut path[0], at)?;
        self.space.end_nested_freeing(journal, nested, freeing)?;
        // Another thread may have allocated them, and wait for their latches, before this waits for another.
        drop((left, right));
        path.truncate(1);
        let mut top = path.pop().expect("the first stays");
        if top.id == self.definition.root() {
            self.shrink(journal, &mut top)?;
        }
        Ok(Unlinked::Done)
    }

    pub(super) fn link<J: PageLog>(
        &self,
        journal: &mut J,
        leaf: &mut LatchedNode<P::Exclusive<'a>>,
        change: impl Fn(Links) -> Links,
    ) -> Result<(), Error> {
        let old = self.child_node(leaf.id, &leaf.page, 1)?.links();
        journal.change(&mut leaf.page, Change::Node(NodeChange::Link { old, new: change(old) }), Undo::Page)
    }

    fn retire<J: PageLog>(&self, journal: &mut J, held: &mut LatchedNode<P::Exclusive<'a>>) -> Result<(), Error> {
        let level = self.node(held.id, &held.page)?.level;
        journal.change(&mut held.page, Change::Node(NodeChange::Retire { level }), Undo::Page)
    }

    /// Removes an entry of an inner node. The only one is only ever removed from the root, which is an empty leaf then.
    fn remove_child<J: PageLog>(
        &self,
        journal: &mut J,
        held: &mut LatchedNode<P::Exclusive<'a>>,
        at: usize,
    ) -> Result<(), Error> {
        let node = self.node(held.id, &held.page)?;
        if node.count > 1 {
            let entry = EntryBuffer::copy(node.entry(at));
            let remove = NodeChange::Remove { store: self.definition.store(), at: at as u16, entry: entry.bytes() };
            return journal.change(&mut held.page, Change::Node(remove), Undo::Page);
        }
        let old = node.body().to_vec();
        let new = node::body(0, self.keys().width(), Links::NONE, Sequence::NONE, &[]);
        journal.change(&mut held.page, Change::Node(NodeChange::Rebuild { old: &old, new: &new }), Undo::Page)
    }

    /// While the root has only one child, it becomes what the child is.
    fn shrink<J: PageLog>(&self, journal: &mut J, root: &mut LatchedNode<P::Exclusive<'a>>) -> Result<(), Error> {
        loop {
            let node = self.node(root.id, &root.page)?;
            if node.level == 0 || node.count != 1 {
                return Ok(());
            }
            let (level, id) = (node.level, node.child(0));
            let mut child: LatchedNode<P::Exclusive<'a>> = LatchedNode { id, page: self.pages.fix_exclusive(id)? };
            let new = self.child_node(id, &child.page, level)?.body().to_vec();
            let old = self.node(root.id, &root.page)?.body().to_vec();
            let freeing = self.space.fix_for_freeing(&[id])?;
            let nested = journal.begin_nested();
            journal.change(&mut root.page, Change::Node(NodeChange::Rebuild { old: &old, new: &new }), Undo::Page)?;
            self.retire(journal, &mut child)?;
            self.space.end_nested_freeing(journal, nested, freeing)?;
        }
    }
}
