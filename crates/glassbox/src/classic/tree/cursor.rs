//! A walk over a range of keys, up or down.
//!
//! Between steps nothing is latched: the cursor remembers a leaf, the LSN that it had, and a position in it; as long as
//! the LSN is the same, so is the leaf. (One that was unlinked or moved to the root was stamped then, so it is never
//! taken for itself.) Otherwise it finds its place again by the last key that it gave.
//!
//! Every step asks before it goes: `admit` is told, under the latch, the record of each key that is given, and that of
//! the first key above the range, because its lock protects the gap at the range's end. Upwards that one comes last,
//! downwards first.

mod backward;
mod forward;

use arrayvec::ArrayVec;

use super::keys::Keys;
use super::node::{MAX_KEY_BYTES, Node, append};
use super::tree::{InLeaf, Neighbour, Tree};
use crate::classic::ids::{PageId, Rid};
use crate::classic::page;
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::error::Error;
use crate::log::Lsn;
use crate::record::Direction;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// The next of the range.
    Got(T),
    /// There is no more, and the end of the range was admitted.
    End,
    /// The caller did not admit this; the same step can be tried again.
    Refused(Neighbour),
}

/// A key on the stack.
type KeyBuffer = ArrayVec<u8, MAX_KEY_BYTES>;

#[inline(always)]
fn key_buffer(key: &[u8]) -> KeyBuffer {
    let mut buffer = KeyBuffer::new();
    append(&mut buffer, key);
    buffer
}

/// A place in a leaf, good as long as the leaf has this LSN.
#[derive(Clone, Copy)]
struct CursorPlace {
    leaf: PageId,
    lsn: Lsn,
    /// Upwards the next entry, downwards the one behind the next.
    at: usize,
    /// Where the range ends in this leaf: upwards the first entry above it, downwards the last one in it.
    end: usize,
}

/// How far a walk has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CursorProgress {
    Begun,
    /// Downwards: what is above the range has been admitted.
    Above,
    /// `last` is the last key given.
    Given,
    Ended,
}

/// A walk over the keys from `low` to `high`, both included.
pub(crate) struct Cursor {
    direction: Direction,
    low: KeyBuffer,
    high: KeyBuffer,
    last: KeyBuffer,
    progress: CursorProgress,
    place: Option<CursorPlace>,
}

impl Cursor {
    /// Before the first step.
    ///
    /// # Panics
    /// When a key is wider than [`MAX_KEY_BYTES`].
    pub(crate) fn new(direction: Direction, low: &[u8], high: &[u8]) -> Self {
        Self {
            direction,
            low: key_buffer(low),
            high: key_buffer(high),
            last: KeyBuffer::new(),
            progress: CursorProgress::Begun,
            place: None,
        }
    }

    /// The key given last; empty before the first.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.last
    }

    /// The next key's record; the key is [`Cursor::key`].
    ///
    /// # Errors
    /// When a page cannot be read or is no node of the tree. The cursor is where it was.
    #[inline]
    pub(crate) fn step<P: Pages, S: Space, K: Keys>(
        &mut self,
        tree: &Tree<'_, P, S, K>,
        admit: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Step<Rid>, Error> {
        let mut rid = [Rid { page: PageId::NONE, slot: 0 }];
        Ok(match self.steps(tree, &mut rid, admit)? {
            Step::Got(_) => Step::Got(rid[0]),
            Step::End => Step::End,
            Step::Refused(what) => Step::Refused(what),
        })
    }

    /// The records of the next keys, as many as one leaf gives and `out` has room for; how many.
    ///
    /// # Errors
    /// As for [`Cursor::step`].
    ///
    /// # Panics
    /// When `out` has no room.
    #[inline]
    pub(crate) fn steps<P: Pages, S: Space, K: Keys>(
        &mut self,
        tree: &Tree<'_, P, S, K>,
        out: &mut [Rid],
        mut admit: impl FnMut(InLeaf<Neighbour>) -> bool,
    ) -> Result<Step<usize>, Error> {
        assert!(!out.is_empty(), "room for a record");
        match self.direction {
            _ if self.progress == CursorProgress::Ended => Ok(Step::End),
            Direction::Forward => self.up(tree, out, &mut admit),
            Direction::Backward => self.down(tree, out, &mut admit),
        }
    }

    /// The remembered leaf, if it is as it was.
    #[inline(always)]
    fn resume<'a, P: Pages, S: Space, K: Keys>(
        &self,
        tree: &Tree<'a, P, S, K>,
    ) -> Result<Option<(CursorPlace, P::Shared<'a>)>, Error> {
        let Some(place) = self.place else { return Ok(None) };
        let page = tree.pages.fix_shared(place.leaf)?;
        Ok((page::lsn(&page) == place.lsn).then_some((place, page)))
    }

    /// The entry of a sibling that comes next must lie beyond the last one given: links that lead in a circle would be
    /// followed for ever.
    fn check_progress<P: Pages, S: Space, K: Keys>(
        &self,
        tree: &Tree<'_, P, S, K>,
        id: PageId,
        sibling: &Node<'_>,
        at: usize,
    ) -> Result<(), Error> {
        if sibling.count == 0 || self.progress != CursorProgress::Given {
            return Ok(());
        }
        let order = tree.keys().compare(sibling.key(at), &self.last);
        let beyond = match self.direction {
            Direction::Forward => order.is_gt(),
            Direction::Backward => order.is_lt(),
        };
        if beyond { Ok(()) } else { Err(tree.damaged(id, "has keys out of order with those of its sibling")) }
    }

    /// Remembers that entries up to here were given.
    #[inline(always)]
    fn remember(&mut self, place: CursorPlace, last: Option<&[u8]>) {
        self.place = Some(place);
        if let Some(key) = last {
            self.last.clear();
            append(&mut self.last, key);
            self.progress = CursorProgress::Given;
        }
    }
}

/// The key at `at`, if `given` entries were.
#[inline(always)]
fn last_key<'p>(node: &Node<'p>, at: usize, given: usize) -> Option<&'p [u8]> {
    (given > 0).then(|| node.key(at))
}
