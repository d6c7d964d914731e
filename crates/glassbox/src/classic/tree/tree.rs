//! A tree, and how it is descended.
//!
//! Readers couple shared latches from the root down: a child is latched before its parent is let go, so nothing can
//! move between the two. Writers do the same and latch only the leaf exclusively.
//!
//! Looking for a key: where it should be by what was found before, or from the root.
//!
//! The whole structure of a tree, checked page by page. The tree must not change meanwhile.

use std::collections::BTreeSet;

use super::definition::Definition;
use super::hints::Guess;
use super::keys::Keys;
use super::node::{self, Links, Node, NodeHeader};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;
use crate::prefetch::prefetch_read;

/// Empty leaves in a row. Each was left by another failure to unlink it.
const MAX_EMPTY_LEAVES: usize = 1000;

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

/// A question to the caller, which is asked while the leaf is latched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InLeaf<T> {
    /// The leaf where the key belongs.
    pub(crate) leaf: PageId,
    /// The key's record, or that of the next key, which may be in another leaf.
    pub(crate) found: T,
}

/// A latched leaf.
pub(super) struct Leaf<G> {
    pub(super) id: PageId,
    pub(super) header: NodeHeader,
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
        if empty_leaves > MAX_EMPTY_LEAVES {
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

/// What a lookup came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Find {
    /// The key's record.
    Found(Rid),
    /// The key is not there.
    Missing,
    /// The caller did not admit this; nothing is known.
    Refused(Neighbour),
}

impl<'a, P: Pages, S: Space, K: Keys> Tree<'a, P, S, K> {
    /// Looks for a key. `ask` is told, under the latch of its leaf, its record, or that of the next key when it is not
    /// there, and says whether the search may end so: whether it got the lock without waiting.
    ///
    /// # Errors
    /// When a page cannot be read, or is no node of the tree.
    ///
    /// # Panics
    /// When the key does not have the tree's width; so do all that take a key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], ask: impl FnMut(InLeaf<Neighbour>) -> bool) -> Result<Find, Error> {
        let probe = self.keys().probe(key);
        self.find_probe(probe, self.keys().number(probe), ask)
    }

    /// As [`Tree::find`], for a key that was made ready, with the number that it is.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub(crate) fn find_probe(
        &self,
        probe: K::Probe<'_>,
        number: Option<u64>,
        mut ask: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Find, Error> {
        match self.find_guessed(probe, number, &mut ask) {
            Some(found) => Ok(found),
            None => self.find_from_root(probe, ask),
        }
    }

    /// As [`Tree::find_at`], where the key should be.
    #[inline(always)]
    pub(crate) fn find_guessed(
        &self,
        probe: K::Probe<'_>,
        number: Option<u64>,
        ask: impl FnOnce(InLeaf<Neighbour>) -> bool,
    ) -> Option<Find> {
        self.find_at(number.map_or(Guess::NONE, |number| self.guess(number)), probe, ask)
    }

    /// Visits the leaves where the ends of a range belong: mostly one.
    ///
    /// # Errors
    /// As for [`Tree::find`].
    pub(crate) fn visit_ends(&self, low: K::Probe<'_>, high: K::Probe<'_>) -> Result<(), Error> {
        let leaf = self.leaf(|node| self.child_at(node, low))?;
        let is_here = {
            let node = leaf.header.on(&leaf.page);
            self.keys().smaller(node.entries(), high) < node.count
        };
        drop(leaf);
        if is_here { Ok(()) } else { self.leaf(|node| self.child_at(node, high)).map(drop) }
    }

    /// A key, with the number that it is if it has at most 8 bytes, made ready for being looked for.
    #[inline(always)]
    pub(crate) fn probe<'k>(&self, key: &'k [u8], number: Option<u64>) -> K::Probe<'k> {
        self.keys().probe_number(key, number)
    }

    /// Where a key should be, which is given as a number as [`Keys::number`] gives it.
    #[inline(always)]
    pub(crate) fn guess(&self, number: u64) -> Guess {
        self.definition.hints.guess(number)
    }

    /// Asks for what [`Tree::find_at`] will look at.
    #[inline(always)]
    pub(crate) fn prefetch(&self, guess: Guess) {
        if let Some(page) = self.pages.address(guess.leaf) {
            prefetch_read(page);
            let entry = usize::from(guess.at) * node::entry_bytes(0, self.keys().width());
            prefetch_read(page.wrapping_add(node::FIRST + entry));
        }
    }

    /// Looks for the key in what was a leaf of this tree; `None` if it is none, or the key is not there: then
    /// [`Tree::find_from_root`] is to be asked. `ask` is told its record.
    #[inline(always)]
    pub(crate) fn find_at(
        &self,
        guess: Guess,
        probe: K::Probe<'_>,
        ask: impl FnOnce(InLeaf<Neighbour>) -> bool,
    ) -> Option<Find> {
        if guess.leaf == PageId::NONE {
            return None;
        }
        // Whatever is wrong with it by now is not what was asked for.
        let page = self.pages.fix_shared(guess.leaf).ok()?;
        let leaf = Node::leaf_of(&page, self.definition.store, self.keys().width())?;
        let (entries, at) = (leaf.entries(), usize::from(guess.at));
        let at = if at < leaf.count && self.keys().is_at(entries, at, probe) {
            at
        } else {
            self.keys().find(entries, probe)?
        };
        let rid = leaf.rid(at);
        let here = Neighbour::Here(rid);
        let is_admitted = ask(InLeaf { leaf: guess.leaf, found: here });
        Some(if is_admitted { Find::Found(rid) } else { Find::Refused(here) })
    }

    /// Looks for a key as [`Tree::find`] does, and remembers where it was.
    ///
    /// # Errors
    /// As there.
    #[inline(never)]
    pub(crate) fn find_from_root(
        &self,
        probe: K::Probe<'_>,
        mut ask: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Find, Error> {
        let Leaf { id, header, page } = self.leaf(|node| self.child_at(node, probe))?;
        let leaf = header.on(&page);
        let at = self.keys().smaller(leaf.entries(), probe);
        let mut ask = |found| ask(InLeaf { leaf: id, found });
        if at < leaf.count && self.keys().is_at(leaf.entries(), at, probe) {
            if let Some(number) = self.keys().number(probe) {
                let ends = (self.number_at(&leaf, 0), self.number_at(&leaf, leaf.count - 1));
                self.definition.hints.found(number, ends, Guess { leaf: id, at: at as u16 });
            }
            let rid = leaf.rid(at);
            let here = Neighbour::Here(rid);
            return Ok(if ask(here) { Find::Found(rid) } else { Find::Refused(here) });
        }
        let (next, admitted) = self.ask_next(&leaf, at, &mut |next| ask(Neighbour::Beyond(next)))?;
        Ok(if admitted { Find::Missing } else { Find::Refused(Neighbour::Beyond(next)) })
    }
}

/// Something wrong in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) page: PageId,
    /// What.
    pub(crate) text: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "page {} {}", self.page, self.text)
    }
}

/// What a walk over all nodes has met.
#[derive(Default)]
struct Walk {
    problems: Vec<Problem>,
    /// In the order of the walk: a node before its children.
    pages: Vec<PageId>,
    seen: BTreeSet<PageId>,
    /// From left to right, with the siblings that they name.
    leaves: Vec<(PageId, Links)>,
    entries: u64,
}

/// The keys that belong to a node: from the first, below the second.
type KeyRange = (Option<Vec<u8>>, Option<Vec<u8>>);

impl<P: Pages, S: Space, K: Keys> Tree<'_, P, S, K> {
    /// The faults of the tree: order of keys, separators, levels, widths, links between leaves, pages that are in
    /// it twice.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub(crate) fn check(&self) -> Result<Vec<Problem>, Error> {
        let mut walk = self.walk()?;
        for (at, (page, links)) in walk.leaves.iter().enumerate() {
            let left = at.checked_sub(1).map_or(PageId::NONE, |left| walk.leaves[left].0);
            let right = walk.leaves.get(at + 1).map_or(PageId::NONE, |right| right.0);
            if *links != (Links { left, right }) {
                let text = format!(
                    "names the siblings {} and {}, but between {left} and {right} it stands",
                    links.left, links.right
                );
                walk.problems.push(Problem { page: *page, text });
            }
        }
        Ok(walk.problems)
    }

    /// The pages of the tree.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub(crate) fn pages(&self) -> Result<Vec<PageId>, Error> {
        Ok(self.walk()?.pages)
    }

    /// How many keys there are.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub(crate) fn len(&self) -> Result<u64, Error> {
        Ok(self.walk()?.entries)
    }

    fn walk(&self) -> Result<Walk, Error> {
        let mut walk = Walk::default();
        // A stack of what is to be visited, the leftmost on top: page, level if known, range.
        let mut stack: Vec<(PageId, Option<u8>, KeyRange)> = vec![(self.definition.root(), None, (None, None))];
        while let Some((id, level, range)) = stack.pop() {
            if !walk.seen.insert(id) {
                walk.problems.push(Problem { page: id, text: "is in the tree twice".into() });
                continue;
            }
            walk.pages.push(id);
            let page = self.pages.fix_shared(id)?;
            let node = match Node::read_of(&page, self.definition.store(), self.keys().width()) {
                Ok(node) => node,
                Err(problem) => {
                    walk.problems.push(Problem { page: id, text: problem.into() });
                    continue;
                }
            };
            let mut problem = |text: &str| walk.problems.push(Problem { page: id, text: text.into() });
            if level.is_some_and(|level| level != node.level) {
                problem("has another level than its parent says");
                continue;
            }
            self.check_keys(&node, &range, &mut problem);
            if node.level == 0 {
                walk.leaves.push((id, node.links()));
                walk.entries += node.count as u64;
                continue;
            }
            if node.links() != Links::NONE {
                problem("is an inner node with siblings");
            }
            if node.count == 0 {
                problem("is an inner node without children");
            }
            for at in (0..node.count).rev() {
                let low = if at == 0 { range.0.clone() } else { Some(node.key(at).to_vec()) };
                let high = if at + 1 == node.count { range.1.clone() } else { Some(node.key(at + 1).to_vec()) };
                stack.push((node.child(at), Some(node.level - 1), (low, high)));
            }
        }
        Ok(walk)
    }

    fn check_keys(&self, node: &Node<'_>, range: &KeyRange, problem: &mut impl FnMut(&str)) {
        if node.count > self.capacity(node.level) {
            problem("has more entries than it may");
        }
        // The first separator means nothing.
        let first = usize::from(node.level > 0);
        let compare = |left: &[u8], right: &[u8]| self.keys().compare(left, right);
        if (first + 1..node.count).any(|at| compare(node.key(at - 1), node.key(at)).is_ge()) {
            problem("has keys out of order");
        }
        let mut keys = (first..node.count).map(|at| node.key(at));
        if range.0.as_ref().is_some_and(|low| keys.clone().any(|key| compare(key, low).is_lt())) {
            problem("has a key below its separator");
        }
        if range.1.as_ref().is_some_and(|high| keys.any(|key| compare(key, high).is_ge())) {
            problem("has a key that belongs to its right neighbour");
        }
    }
}
