//! Inserting a key, and taking back a removal.
//!
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
use super::fingers::{Finger, Fingers};
use super::keys::Keys;
use super::node::EntryBuffer;
use super::node::{self, Links, MAX_KEY_BYTES, Node, NodeHeader, Sequence};
use super::tree::{InLeaf, Leaf, Neighbour, Tree, anywhere};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, PageKind};
use crate::classic::space::Space;
use crate::error::Error;

/// What an insertion came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// The key is there now.
    Done,
    /// The key was there already, with this record; nothing was changed.
    Exists(Rid),
    /// The caller did not admit it, this being there; nothing was changed.
    Refused(Neighbour),
}

/// The entry to insert, and hints from earlier insertions.
pub(crate) struct Near<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) rid: Rid,
    /// How the change is undone.
    pub(crate) undo: Undo,
    pub(crate) fingers: Option<&'a mut Fingers>,
    /// What may be inserted with it, while its leaf is latched, as long as each key comes right behind the one before:
    /// keys as numbers. Nothing where there are no fingers.
    pub(crate) following: &'a [(u64, Rid)],
    /// How many of these were inserted.
    pub(crate) followed: usize,
    /// The leaves that the last splits for this insertion have made, which have entries of the leaf that was full.
    pub(crate) new_leaves: [PageId; 4],
}

/// New leaves: one of a split, and one if the root was a leaf; else none.
type NewLeaves = [PageId; 2];

/// No new leaf.
const NO_LEAVES: NewLeaves = [PageId::NONE; 2];

impl<'a> Near<'a> {
    /// An entry, and those that may follow it.
    #[inline(always)]
    pub(crate) fn new(
        (key, rid): (&'a [u8], Rid),
        undo: Undo,
        fingers: Option<&'a mut Fingers>,
        following: &'a [(u64, Rid)],
    ) -> Self {
        Self { key, rid, undo, fingers, following, followed: 0, new_leaves: [PageId::NONE; 4] }
    }

    /// A split has made leaves. Another one follows if others have filled the leaf again meanwhile.
    fn add_leaves(&mut self, [first, second]: NewLeaves) {
        let [one, other, ..] = self.new_leaves;
        self.new_leaves = [first, second, one, other];
    }
}

/// Where a key belongs in a leaf.
struct InsertSpot {
    at: usize,
    /// The key as a number, and the finger for it, if it is to be remembered.
    finger: Option<(u64, usize)>,
    /// The greatest key that belongs to the leaf, as a number.
    last: u64,
}

impl<'a, P: Pages, S: Space, K: Keys> Tree<'a, P, S, K> {
    /// Inserts a key. `admit` is told the record of the next key, or that of the key itself if it is there, while the
    /// leaf is exclusively latched; it may be asked several times, the last time counts. `undo` says how the change is
    /// undone.
    ///
    /// # Errors
    /// When a page cannot be read or is no node of the tree, or there is no page for a split, or the log does not take
    /// the change.
    #[inline]
    pub(crate) fn insert<J: PageLog>(
        &self,
        journal: &mut J,
        key: &[u8],
        rid: Rid,
        undo: Undo,
        admit: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Inserted, Error> {
        let mut near = Near::new((key, rid), undo, None, &[]);
        self.insert_near(journal, &mut near, true, admit)
    }

    /// As [`Tree::insert`], with guesses where the key belongs. Not `asks`: everything is admitted without a question.
    ///
    /// # Errors
    /// As for [`Tree::insert`].
    #[inline]
    pub(crate) fn insert_near<J: PageLog>(
        &self,
        journal: &mut J,
        near: &mut Near<'_>,
        asks: bool,
        mut admit: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Inserted, Error> {
        let probe = self.keys().probe(near.key);
        let number = self.keys().number(probe).filter(|_| near.fingers.is_some());
        let finger = number.map(|number| (number, Fingers::place(self.definition.store(), number)));
        if let Some((page, header, spot)) = finger.and_then(|finger| self.at_finger(near, finger)) {
            let page = Leaf { id: page.id(), header, page };
            if let Some(inserted) = self.insert_at(journal, near, page, spot, asks.then_some(&mut admit))? {
                return Ok(inserted);
            }
            near.add_leaves(self.make_room(journal, near.key)?);
        }
        loop {
            let (leaf, last) = self.leaf_exclusive(probe)?;
            let node = leaf.header.on(&leaf.page);
            let at = self.keys().smaller(node.entries(), probe);
            if at < node.count && self.keys().is_at(node.entries(), at, probe) {
                let (other, here) = (node.rid(at), Neighbour::Here(node.rid(at)));
                let is_admitted = admit(InLeaf { leaf: leaf.id, found: here });
                return Ok(if is_admitted { Inserted::Exists(other) } else { Inserted::Refused(here) });
            }
            let spot = InsertSpot { at, finger, last };
            if let Some(inserted) = self.insert_at(journal, near, leaf, spot, asks.then_some(&mut admit))? {
                return Ok(inserted);
            }
            near.add_leaves(self.make_room(journal, near.key)?);
        }
    }

    /// The leaf of the finger for a key, exclusively latched, if the key belongs there for certain.
    #[inline(always)]
    fn at_finger(
        &self,
        near: &mut Near<'_>,
        (number, place): (u64, usize),
    ) -> Option<(P::Exclusive<'a>, NodeHeader, InsertSpot)> {
        let store = self.definition.store();
        let finger = near.fingers.as_mut()?.at(place);
        if !finger.fits(store, number) {
            return None;
        }
        // Whatever is wrong with it by now is not what was asked for.
        let page = self.pages.fix_exclusive(finger.leaf).ok()?;
        if page::lsn(&page) != finger.lsn {
            finger.store = StoreId::VOLUME;
            return None;
        }
        let header = NodeHeader::of_leaf(&page, store, self.keys().width())?;
        let spot = InsertSpot { at: finger.at, finger: Some((number, place)), last: finger.last };
        Some((page, header, spot))
    }

    /// Inserts the key, which is not there, at its place in a leaf; `None` if the leaf must be split first.
    #[inline(always)]
    fn insert_at<J: PageLog>(
        &self,
        journal: &mut J,
        near: &mut Near<'_>,
        leaf: Leaf<P::Exclusive<'_>>,
        InsertSpot { at, finger, last }: InsertSpot,
        admit: Option<&mut impl FnMut(InLeaf<Neighbour>) -> bool>,
    ) -> Result<Option<Inserted>, Error> {
        let Leaf { id, mut header, mut page } = leaf;
        let node = header.on(&page);
        if let Some(admit) = admit {
            let ask = &mut |next| admit(InLeaf { leaf: id, found: Neighbour::Beyond(next) });
            let (next, admitted) = self.ask_next(&node, at, ask)?;
            if !admitted {
                return Ok(Some(Inserted::Refused(Neighbour::Beyond(next))));
            }
        }
        // The root is split only when it is full: it must grow for that.
        let settles = id != self.definition.root() && is_in_the_way(&node, at);
        if node.count >= self.capacity(0) || settles {
            return Ok(None);
        }
        let store = self.definition.store();
        let last = if at < node.count { self.number_at(&node, at).saturating_sub(1) } else { last };
        self.put_entry(journal, (&mut page, header), at, (near.key, near.rid), near.undo)?;
        if let Some((mut key, place)) = finger {
            let mut at = at + 1;
            // The answer about the next key holds for these too, because the leaf is still latched.
            for &(number, rid) in near.following {
                header = header.grown();
                let (node, belongs) = (header.on(&page), key < number && number <= last);
                if !belongs || node.count >= self.capacity(0) || is_in_the_way(&node, at) {
                    break;
                }
                let bytes = number.to_be_bytes();
                let bytes = &bytes[bytes.len() - self.keys().width()..];
                self.put_entry(journal, (&mut page, header), at, (bytes, rid), near.undo)?;
                (key, at) = (number, at + 1);
                near.followed += 1;
            }
            if let Some(fingers) = near.fingers.as_deref_mut() {
                *fingers.at(place) = Finger { leaf: id, store, lsn: page::lsn(&page), key, last, at };
            }
        }
        Ok(Some(Inserted::Done))
    }

    /// Puts an entry into a leaf that has room for it, and has been read.
    #[inline(always)]
    fn put_entry<J: PageLog>(
        &self,
        journal: &mut J,
        (page, header): (&mut P::Exclusive<'_>, NodeHeader),
        at: usize,
        (key, rid): (&[u8], Rid),
        undo: Undo,
    ) -> Result<(), Error> {
        let mut entry = EntryBuffer::empty();
        entry.set_leaf(key, rid);
        let (store, entry) = (self.definition.store(), entry.bytes());
        let insert = Change::Node(NodeChange::Insert { store, at: at as u16, entry });
        journal.change_by(page, insert, undo, |page| {
            header.insert(page, at, entry);
            Ok(())
        })
    }

    /// Takes the removal of a key back.
    ///
    /// # Errors
    /// As for [`Tree::insert`], and when the key is there.
    pub(crate) fn undo_remove<J: PageLog>(&self, journal: &mut J, key: &[u8], rid: Rid) -> Result<(), Error> {
        match self.insert(journal, key, rid, Undo::Nothing, anywhere)? {
            Inserted::Done => Ok(()),
            Inserted::Exists(_) | Inserted::Refused(_) => {
                Err(self.damaged(self.definition.root(), "leads to a key whose removal is to be undone"))
            }
        }
    }
}

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
pub(super) struct LatchedNode<G> {
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
    /// always has room for a separator, and no more than two levels are latched. The leaves that it has made.
    #[cold]
    fn make_room<J: PageLog>(&self, journal: &mut J, key: &[u8]) -> Result<NewLeaves, Error> {
        let probe = self.keys().probe(key);
        let id = self.definition.root();
        let mut parent = LatchedNode { id, page: self.pages.fix_exclusive(id)? };
        let root = self.node(id, &parent.page)?;
        let mut made = NO_LEAVES;
        if root.count >= self.capacity(root.level) {
            let is_leaf = root.level == 0;
            let child = self.grow(journal, &mut parent)?;
            if is_leaf {
                made[0] = child;
            }
        }
        let mut at_edge = true;
        loop {
            let node = self.node(parent.id, &parent.page)?;
            if node.level == 0 {
                return Ok(made);
            }
            let (level, at) = (node.level, self.child_at(&node, probe));
            at_edge &= at + 1 == node.count;
            let id = self.child(parent.id, &node, at)?;
            let mut child = LatchedNode { id, page: self.pages.fix_exclusive(id)? };
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
                if level == 1 {
                    made[1] = right.id;
                }
                if self.keys().compare(separator, key).is_le() {
                    child = right;
                } else {
                    at_edge = false;
                }
            }
            parent = child;
        }
    }

    /// Moves what is in the root to a new node, its only child, which is given back. The root becomes one level higher.
    fn grow<J: PageLog>(&self, journal: &mut J, root: &mut LatchedNode<P::Exclusive<'a>>) -> Result<PageId, Error> {
        let node = self.node(root.id, &root.page)?;
        let old = node.body().to_vec();
        let Some(level) = node.level.checked_add(1).filter(|level| *level <= node::MAX_LEVEL) else {
            return Err(self.damaged(root.id, "is a root too high to grow"));
        };
        let width = self.keys().width();
        let nested = journal.begin_nested();
        let id = self.space.allocate(journal)?;
        let mut child = self.pages.fix_new(id)?;
        let format = Change::Format { kind: PageKind::Node, store: self.definition.store(), body: &old };
        journal.change(&mut child, format, Undo::Page)?;
        let entry = EntryBuffer::inner(&[0; MAX_KEY_BYTES][..width], id);
        let new = node::body(level, width, Links::NONE, Sequence::NONE, entry.bytes());
        let rebuild = NodeChange::Rebuild { old: &old, new: &new };
        journal.change(&mut root.page, Change::Node(rebuild), Undo::Page)?;
        journal.end_nested(nested)?;
        Ok(id)
    }

    /// Moves the end of `left` to a new node, which is given back latched. The parent has room.
    fn split<J: PageLog>(
        &self,
        journal: &mut J,
        parent: &mut LatchedNode<P::Exclusive<'a>>,
        left: &mut LatchedNode<P::Exclusive<'a>>,
        split: &Split<'_>,
    ) -> Result<LatchedNode<P::Exclusive<'a>>, Error> {
        let store = self.definition.store();
        let node = self.node(left.id, &left.page)?;
        let (level, links) = (node.level, node.links());
        let moved = node.bytes(split.from, node.count).to_vec();
        // All pages are latched before the first is changed, so that only the log can fail in between.
        let mut behind: Option<LatchedNode<P::Exclusive<'a>>> = match links.right {
            PageId::NONE => None,
            right => Some(LatchedNode { id: right, page: self.pages.fix_exclusive(right)? }),
        };
        if let Some(behind) = &behind {
            self.child_node(behind.id, &behind.page, 1)?;
        }
        let nested = journal.begin_nested();
        let id = self.space.allocate(journal)?;
        let mut right = LatchedNode { id, page: self.pages.fix_new(id)? };
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
