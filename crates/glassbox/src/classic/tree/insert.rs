//! Inserting a key, and taking back a removal.

use super::change::NodeChange;
use super::entry_buffer::EntryBuffer;
use super::fingers::{Finger, Fingers};
use super::keys::Keys;
use super::node::Header;
use super::split;
use super::tree::{Leaf, Neighbour, Tree, anywhere};
use crate::classic::change::{Change, Journal, Undo};
use crate::classic::ids::{Rid, StoreId};
use crate::classic::page;
use crate::classic::pages::{ExclusivePage, Pages};
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
}

/// Where a key belongs in a leaf.
struct Spot {
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
    pub(crate) fn insert<J: Journal>(
        &self,
        journal: &mut J,
        key: &[u8],
        rid: Rid,
        undo: Undo,
        admit: impl FnMut(Neighbour) -> bool,
    ) -> Result<Inserted, Error> {
        let mut near = Near { key, rid, undo, fingers: None, following: &[], followed: 0 };
        self.insert_near(journal, &mut near, true, admit)
    }

    /// As [`Tree::insert`], with guesses where the key belongs. Not `asks`: everything is admitted without a question.
    ///
    /// # Errors
    /// As for [`Tree::insert`].
    #[inline]
    pub(crate) fn insert_near<J: Journal>(
        &self,
        journal: &mut J,
        near: &mut Near<'_>,
        asks: bool,
        mut admit: impl FnMut(Neighbour) -> bool,
    ) -> Result<Inserted, Error> {
        let probe = self.keys().probe(near.key);
        let number = self.keys().number(probe).filter(|_| near.fingers.is_some());
        let finger = number.map(|number| (number, Fingers::place(self.definition.store(), number)));
        if let Some((page, header, spot)) = finger.and_then(|finger| self.at_finger(near, finger)) {
            let page = Leaf { id: page.id(), header, page };
            if let Some(inserted) = self.insert_at(journal, near, page, spot, asks.then_some(&mut admit))? {
                return Ok(inserted);
            }
            self.make_room(journal, near.key)?;
        }
        loop {
            let (leaf, last) = self.leaf_exclusive(probe)?;
            let node = leaf.header.on(&leaf.page);
            let at = self.keys().smaller(node.entries(), probe);
            if at < node.count && self.keys().is_at(node.entries(), at, probe) {
                let (other, here) = (node.rid(at), Neighbour::Here(node.rid(at)));
                return Ok(if admit(here) { Inserted::Exists(other) } else { Inserted::Refused(here) });
            }
            let spot = Spot { at, finger, last };
            if let Some(inserted) = self.insert_at(journal, near, leaf, spot, asks.then_some(&mut admit))? {
                return Ok(inserted);
            }
            self.make_room(journal, near.key)?;
        }
    }

    /// The leaf of the finger for a key, exclusively latched, if the key belongs there for certain.
    #[inline(always)]
    fn at_finger(
        &self,
        near: &mut Near<'_>,
        (number, place): (u64, usize),
    ) -> Option<(P::Exclusive<'a>, Header, Spot)> {
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
        let header = Header::of_leaf(&page, store, self.keys().width())?;
        let spot = Spot { at: finger.at, finger: Some((number, place)), last: finger.last };
        Some((page, header, spot))
    }

    /// Inserts the key, which is not there, at its place in a leaf; `None` if the leaf must be split first.
    #[inline(always)]
    fn insert_at<J: Journal>(
        &self,
        journal: &mut J,
        near: &mut Near<'_>,
        leaf: Leaf<P::Exclusive<'_>>,
        Spot { at, finger, last }: Spot,
        admit: Option<&mut impl FnMut(Neighbour) -> bool>,
    ) -> Result<Option<Inserted>, Error> {
        let Leaf { id, mut header, mut page } = leaf;
        let node = header.on(&page);
        if let Some(admit) = admit {
            let (next, admitted) = self.ask_next(&node, at, &mut |next| admit(Neighbour::Beyond(next)))?;
            if !admitted {
                return Ok(Some(Inserted::Refused(Neighbour::Beyond(next))));
            }
        }
        // The root is split only when it is full: it must grow for that.
        let settles = id != self.definition.root() && split::is_in_the_way(&node, at);
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
                if !belongs || node.count >= self.capacity(0) || split::is_in_the_way(&node, at) {
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
    fn put_entry<J: Journal>(
        &self,
        journal: &mut J,
        (page, header): (&mut P::Exclusive<'_>, Header),
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
    pub(crate) fn undo_remove<J: Journal>(&self, journal: &mut J, key: &[u8], rid: Rid) -> Result<(), Error> {
        match self.insert(journal, key, rid, Undo::Nothing, anywhere)? {
            Inserted::Done => Ok(()),
            Inserted::Exists(_) | Inserted::Refused(_) => {
                Err(self.damaged(self.definition.root(), "leads to a key whose removal is to be undone"))
            }
        }
    }
}
