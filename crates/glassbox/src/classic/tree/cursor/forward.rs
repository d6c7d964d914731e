//! Walking up.

use super::{Cursor, CursorPlace, CursorProgress, Step, last_key};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page;
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::classic::tree::keys::Keys;
use crate::classic::tree::tree::{InLeaf, Leaf, Neighbour, Next, Tree};
use crate::error::Error;

impl Cursor {
    #[inline]
    pub(super) fn up<P: Pages, S: Space, K: Keys>(
        &mut self,
        tree: &Tree<'_, P, S, K>,
        out: &mut [Rid],
        admit: &mut impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Step<usize>, Error> {
        let (mut place, mut page) = match self.resume(tree)? {
            Some(found) => found,
            None => self.find_up(tree)?,
        };
        // Leaves to the left that the gap before the next entry reaches into: they stay latched until it is admitted.
        let mut passed = Vec::new();
        loop {
            let node = tree.node(place.leaf, &page)?;
            let begin = place.at;
            let mut refused = None;
            while place.at < place.end && place.at - begin < out.len() {
                let rid = node.rid(place.at);
                if !admit(InLeaf { leaf: place.leaf, found: Neighbour::Here(rid) }) {
                    refused = Some(Neighbour::Here(rid));
                    break;
                }
                out[place.at - begin] = rid;
                place.at += 1;
            }
            let given = place.at - begin;
            if given > 0 || passed.is_empty() {
                self.remember(place, last_key(&node, place.at.wrapping_sub(1), given));
            }
            if let (0, Some(refused)) = (given, refused) {
                return Ok(Step::Refused(refused));
            }
            if refused.is_some() || given == out.len() {
                return Ok(Step::Got(given));
            }
            let right = node.links().right;
            if place.at < node.count || right == PageId::NONE {
                let next = if place.at < node.count { Next::Record(node.rid(place.at)) } else { Next::End };
                return Ok(self.end_up(given, InLeaf { leaf: place.leaf, found: Neighbour::Beyond(next) }, admit));
            }
            if given > 0 {
                return Ok(Step::Got(given));
            }
            tree.check_passed(right, passed.len())?;
            let right_page = tree.pages.fix_shared(right)?;
            let right_node = tree.child_node(right, &right_page, 1)?;
            self.check_progress(tree, right, &right_node, 0)?;
            let end = tree.keys().not_greater(right_node.entries(), tree.keys().probe(&self.high));
            place = CursorPlace { leaf: right, lsn: page::lsn(&right_page), at: 0, end };
            passed.push(std::mem::replace(&mut page, right_page));
        }
    }

    /// The range ends before this.
    fn end_up(
        &mut self,
        given: usize,
        what: InLeaf<Neighbour>,
        admit: &mut impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Step<usize> {
        let admitted = admit(what);
        if admitted {
            self.progress = CursorProgress::Ended;
        }
        match (given, admitted) {
            (0, true) => Step::End,
            (0, false) => Step::Refused(what.found),
            _ => Step::Got(given),
        }
    }

    /// The leaf where the walk goes on, found from the root.
    fn find_up<'a, P: Pages, S: Space, K: Keys>(
        &self,
        tree: &Tree<'a, P, S, K>,
    ) -> Result<(CursorPlace, P::Shared<'a>), Error> {
        let keys = tree.keys();
        let given = self.progress == CursorProgress::Given;
        let probe = keys.probe(if given { &self.last } else { &self.low });
        let Leaf { id: leaf, header, page } = tree.leaf(|node| tree.child_at(node, probe))?;
        let entries = header.on(&page).entries();
        let at = if given { keys.not_greater(entries, probe) } else { keys.smaller(entries, probe) };
        let end = keys.not_greater(entries, keys.probe(&self.high));
        Ok((CursorPlace { leaf, lsn: page::lsn(&page), at, end }, page))
    }
}
