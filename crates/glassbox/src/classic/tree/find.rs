//! Looking for a key: where it should be by what was found before, or from the root.

use super::hints::Guess;
use super::keys::Keys;
use super::node::{self, Node};
use super::tree::{Leaf, Neighbour, Tree};
use crate::classic::ids::{PageId, Rid};
use crate::classic::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;
use crate::prefetch::prefetch_read;

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
    pub(crate) fn find(&self, key: &[u8], mut ask: impl FnMut(Neighbour) -> bool) -> Result<Find, Error> {
        let probe = self.keys().probe(key);
        let guess = self.keys().number(probe).map_or(Guess::NONE, |number| self.guess(number));
        match self.find_at(guess, probe, |rid| ask(Neighbour::Here(rid))) {
            Some(found) => Ok(found),
            None => self.find_from_root(probe, ask),
        }
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
    pub(crate) fn find_at(&self, guess: Guess, probe: K::Probe<'_>, ask: impl FnOnce(Rid) -> bool) -> Option<Find> {
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
        Some(if ask(rid) { Find::Found(rid) } else { Find::Refused(Neighbour::Here(rid)) })
    }

    /// Looks for a key as [`Tree::find`] does, and remembers where it was.
    ///
    /// # Errors
    /// As there.
    #[inline(never)]
    pub(crate) fn find_from_root(
        &self,
        probe: K::Probe<'_>,
        mut ask: impl FnMut(Neighbour) -> bool,
    ) -> Result<Find, Error> {
        let Leaf { id, header, page } = self.leaf(|node| self.child_at(node, probe))?;
        let leaf = header.on(&page);
        let at = self.keys().smaller(leaf.entries(), probe);
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
