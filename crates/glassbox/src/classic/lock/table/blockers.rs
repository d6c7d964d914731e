//! Who stands in the way of whom in a queue.

use super::{GRANTED, Head, NONE, Partition, Request, State, WAITING};
use crate::classic::lock::mode::Mode;

/// Who stands in the way of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    /// The number of the owner.
    pub(crate) owner: u32,
    /// What it holds; nothing if it is only ahead in the queue.
    pub(crate) held: Option<Mode>,
    /// What it waits for, if it does.
    pub(crate) wanted: Option<Mode>,
}

impl Partition {
    /// Who stands in the way of a request that waits: for a conversion, those who hold what it cannot go with; for a
    /// new request, those, and all who wait ahead of it. It goes on only when none of them does any more.
    pub(in crate::classic::lock) fn blockers(&self, request: u32, mut each: impl FnMut(Blocker)) {
        let Request { head, wanted, state, .. } = self.nodes[request as usize].request;
        let Head { key, lists, .. } = self.nodes[head as usize].head;
        let conflicts = self.conflicts(key, wanted);
        let mut at = lists[GRANTED].first;
        while at != NONE {
            let other = &self.nodes[at as usize].request;
            let converting = other.state == State::Converting;
            if at != request && (conflicts & other.mode.bit() != 0 || state == State::Waiting && converting) {
                let wanted = converting.then_some(other.wanted);
                each(Blocker { owner: other.owner, held: Some(other.mode), wanted });
            }
            at = other.next;
        }
        if state != State::Waiting {
            return;
        }
        let mut at = lists[WAITING].first;
        while at != request {
            let other = &self.nodes[at as usize].request;
            each(Blocker { owner: other.owner, held: None, wanted: Some(other.wanted) });
            at = other.next;
        }
    }
}
