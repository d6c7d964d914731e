//! The whole structure of a tree, checked page by page. The tree must not change meanwhile.

use std::collections::BTreeSet;

use super::keys::Keys;
use super::node::{Links, Node};
use super::tree::Tree;
use crate::classic::ids::PageId;
use crate::classic::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;

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
type Range = (Option<Vec<u8>>, Option<Vec<u8>>);

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
        let mut stack: Vec<(PageId, Option<u8>, Range)> = vec![(self.definition.root(), None, (None, None))];
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

    fn check_keys(&self, node: &Node<'_>, range: &Range, problem: &mut impl FnMut(&str)) {
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
