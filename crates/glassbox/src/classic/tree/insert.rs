//! Inserting a key, and taking back a removal.

use super::change::NodeChange;
use super::keys::Keys;
use super::node::EntryBuffer;
use super::split;
use super::tree::{Leaf, Neighbour, Tree, anywhere};
use crate::classic::change::{Change, Journal, Undo};
use crate::classic::ids::Rid;
use crate::classic::pages::Pages;
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

impl<P: Pages, S: Space, K: Keys> Tree<'_, P, S, K> {
    /// Inserts a key. `admit` is told the record of the next key, or that of the key itself if it is there, while the
    /// leaf is exclusively latched; it may be asked several times, the last time counts. `undo` says how the change is
    /// taken back.
    ///
    /// # Errors
    /// When a page cannot be read or is no node of the tree, or there is no page for a split, or the log does not take
    /// the change.
    #[inline]
    pub(crate) fn insert<J: Journal>(
        &self,
        journal: &mut J,
        key: &[u8],
        rid: Rid,
        undo: Undo,
        mut admit: impl FnMut(Neighbour) -> bool,
    ) -> Result<Inserted, Error> {
        let probe = self.keys().probe(key);
        loop {
            let Leaf { header, mut page, .. } = self.leaf_exclusive(probe)?;
            let leaf = header.on(&page);
            let at = self.keys().smaller(leaf.entries(), probe);
            if at < leaf.count && self.keys().is_at(leaf.entries(), at, probe) {
                let (other, here) = (leaf.rid(at), Neighbour::Here(leaf.rid(at)));
                return Ok(if admit(here) { Inserted::Exists(other) } else { Inserted::Refused(here) });
            }
            let (next, admitted) = self.ask_next(&leaf, at, &mut |next| admit(Neighbour::Beyond(next)))?;
            if !admitted {
                return Ok(Inserted::Refused(Neighbour::Beyond(next)));
            }
            let splits = split::is_in_the_way(&leaf, at);
            if leaf.count < self.capacity(0) && !splits {
                let entry = EntryBuffer::leaf(key, rid);
                let insert = NodeChange::Insert { store: self.definition.store(), at: at as u16, entry: entry.bytes() };
                journal.change(&mut page, Change::Node(insert), undo)?;
                return Ok(Inserted::Done);
            }
            drop(page);
            self.make_room(journal, key)?;
        }
    }

    /// Takes the removal of a key back.
    ///
    /// # Errors
    /// As for [`Tree::insert`], and when the key is there.
    pub(crate) fn undo_remove<J: Journal>(&self, journal: &mut J, key: &[u8], rid: Rid) -> Result<(), Error> {
        match self.insert(journal, key, rid, Undo::Nothing, anywhere)? {
            Inserted::Done => Ok(()),
            Inserted::Exists(_) | Inserted::Refused(_) => {
                Err(self.damaged(self.definition.root(), "leads to a key whose removal is to be taken back"))
            }
        }
    }
}
