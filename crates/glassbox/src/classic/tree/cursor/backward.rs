//! Walking down.
//!
//! Leaves are latched from left to right, so the left sibling is only tried. When others have it, the cursor lets go
//! and finds its place from the root: the leaf with the greatest key below the last one given. Where that leaf has
//! none, the smallest key that could be in it takes the place of the last one given, and the descent begins again; so
//! it comes to the left without ever waiting for a left sibling.

use super::{Cursor, CursorPlace, CursorProgress, KeyBuffer, Step, key_buffer, last_key};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page;
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::classic::tree::keys::Keys;
use crate::classic::tree::node::Node;
use crate::classic::tree::tree::{InLeaf, Leaf, Neighbour, Tree};
use crate::error::Error;

impl Cursor {
    #[inline]
    pub(super) fn down<P: Pages, S: Space, K: Keys>(
        &mut self,
        tree: &Tree<'_, P, S, K>,
        out: &mut [Rid],
        admit: &mut impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Step<usize>, Error> {
        let resumed = match self.progress {
            CursorProgress::Begun => match self.begin_down(tree, admit)? {
                Ok(found) => Some(found),
                Err(refused) => return Ok(Step::Refused(refused)),
            },
            _ => self.resume(tree)?,
        };
        let (mut place, mut page) = match resumed {
            Some(found) => found,
            None => match self.find_down(tree)? {
                Some(found) => found,
                None => return Ok(self.end_down()),
            },
        };
        let mut passed = 0;
        loop {
            let node = tree.node(place.leaf, &page)?;
            let begin = place.at;
            let mut refused = None;
            while place.at > place.end && begin - place.at < out.len() {
                let rid = node.rid(place.at - 1);
                if !admit(InLeaf { leaf: place.leaf, found: Neighbour::Here(rid) }) {
                    refused = Some(Neighbour::Here(rid));
                    break;
                }
                out[begin - place.at] = rid;
                place.at -= 1;
            }
            let given = begin - place.at;
            self.remember(place, last_key(&node, place.at, given));
            if let (0, Some(refused)) = (given, refused) {
                return Ok(Step::Refused(refused));
            }
            if given > 0 {
                return Ok(Step::Got(given));
            }
            let left = node.links().left;
            if place.at > 0 || left == PageId::NONE {
                return Ok(self.end_down());
            }
            match tree.pages.try_fix_shared(left)? {
                Some(left_page) => {
                    tree.check_passed(left, passed)?;
                    passed += 1;
                    let left_node = tree.child_node(left, &left_page, 1)?;
                    self.check_progress(tree, left, &left_node, left_node.count.wrapping_sub(1))?;
                    let entries = left_node.entries();
                    let end = tree.keys().smaller(entries, tree.keys().probe(&self.low));
                    place = CursorPlace { leaf: left, lsn: page::lsn(&left_page), at: entries.count(), end };
                    page = left_page;
                }
                None => {
                    drop(page);
                    match self.find_down(tree)? {
                        Some(found) => (place, page) = found,
                        None => return Ok(self.end_down()),
                    }
                }
            }
        }
    }

    fn end_down(&mut self) -> Step<usize> {
        self.progress = CursorProgress::Ended;
        Step::End
    }

    /// The leaf where the range ends, once what is above the range has been admitted.
    fn begin_down<'a, P: Pages, S: Space, K: Keys>(
        &mut self,
        tree: &Tree<'a, P, S, K>,
        admit: &mut impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Result<(CursorPlace, P::Shared<'a>), Neighbour>, Error> {
        let keys = tree.keys();
        let probe = keys.probe(&self.high);
        let Leaf { id: leaf, header, page } = tree.leaf(|node| tree.child_at(node, probe))?;
        let node = header.on(&page);
        let at = keys.not_greater(node.entries(), probe);
        let ask = &mut |next| admit(InLeaf { leaf, found: Neighbour::Beyond(next) });
        let (next, admitted) = tree.ask_next(&node, at, ask)?;
        if !admitted {
            return Ok(Err(Neighbour::Beyond(next)));
        }
        self.progress = CursorProgress::Above;
        let end = keys.smaller(node.entries(), keys.probe(&self.low));
        Ok(Ok((CursorPlace { leaf, lsn: page::lsn(&page), at, end }, page)))
    }

    /// The leaf with the greatest key below the last one given, found from the root; `None` when there is no such key.
    fn find_down<'a, P: Pages, S: Space, K: Keys>(
        &self,
        tree: &Tree<'a, P, S, K>,
    ) -> Result<Option<(CursorPlace, P::Shared<'a>)>, Error> {
        let keys = tree.keys();
        let given = self.progress == CursorProgress::Given;
        let mut below = given;
        let mut bound = if given { self.last.clone() } else { self.high.clone() };
        loop {
            // The smallest key that the leaf could have, unless it is the first leaf.
            let mut least: Option<KeyBuffer> = None;
            let probe = keys.probe(&bound);
            let count = |node: &Node<'_>| match below {
                true => keys.smaller(node.entries(), probe),
                false => keys.not_greater(node.entries(), probe),
            };
            let Leaf { id: leaf, header, page } = tree.leaf(|node| {
                let at = count(node).saturating_sub(1);
                if at > 0 {
                    least = Some(key_buffer(node.key(at)));
                }
                at
            })?;
            let node = header.on(&page);
            let at = count(&node);
            if at > 0 {
                let end = keys.smaller(node.entries(), keys.probe(&self.low));
                return Ok(Some((CursorPlace { leaf, lsn: page::lsn(&page), at, end: end.min(at) }, page)));
            }
            match least {
                Some(least) => (bound, below) = (least, true),
                None => return Ok(None),
            }
        }
    }
}
