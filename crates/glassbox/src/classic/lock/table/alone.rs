//! What an owner that is alone with a name needs, and where its requests stand in its own list.

use super::{GRANTED, NONE, Partition, State};
use crate::classic::lock::mode::Mode;
use crate::classic::lock::name::Key;
use crate::classic::lock::owner::By;

/// The result of a request for a lock that should be free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::classic::lock) enum Alone {
    /// It was free: this request was granted.
    Granted(u32),
    /// The owner who asks held it, and that suffices.
    Held,
    /// Neither, as far as is known. Nothing has happened.
    Unknown,
}

impl Partition {
    /// Grants a request if it is the only one for its name, or finds that what its owner holds suffices.
    #[inline(always)]
    pub(in crate::classic::lock) fn request_alone(&mut self, key: Key, hash: u64, by: By, mode: Mode) -> Alone {
        let head = self.find(key, hash);
        if head == NONE {
            return Alone::Granted(self.new_head(key, hash, by, mode));
        }
        // If several have asked, the first may be gone.
        let first = &self.nodes[head as usize].request;
        let held = first.state == State::Granted && first.owner == by.owner && first.mode.covers(mode);
        if held { Alone::Held } else { Alone::Unknown }
    }

    /// The place in its list of what an owner holds of a name.
    pub(in crate::classic::lock) fn place(&self, key: Key, hash: u64, owner: u32) -> Option<usize> {
        let head = self.find(key, hash);
        let mut at = if head == NONE { NONE } else { self.nodes[head as usize].head.lists[GRANTED].first };
        while at != NONE {
            let request = &self.nodes[at as usize].request;
            if request.owner == owner {
                return Some(request.place as usize);
            }
            at = request.next;
        }
        None
    }

    /// Says where a request stands in its owner's list now.
    pub(in crate::classic::lock) fn set_place(&mut self, request: u32, place: usize) {
        self.nodes[request as usize].request.place = place as u32;
    }
}
