//! Reconnaissance: dry runs that find the keys of calls, for clients (OLLP, *Calvin*, section 3.2.1).
//!
//! A client asks all replicas of a partition and takes the first answer. A replica that lacks inputs answers when it
//! has them: the keys in its rows are out of date, so the call would be submitted in vain, and in the end lock whole
//! partitions.

use std::collections::VecDeque;

use glassbox::research::shard::{Call, DeclaredKeys, PartitionSet, Ran, Shard, Task, TouchedKeys};

use crate::protocol::address::Address;
use crate::protocol::outbox::{Outbox, Work};

/// Keys that a reconnaissance may find; a call with more locks its partitions whole.
const MAX_FOUND: usize = 4_096;
/// Requests that wait at a replica that lacks inputs; the oldest of more is answered from the rows as they are.
const MAX_WAITING: usize = 1_024;

/// A client's request for the keys of a call.
#[derive(Debug)]
pub(super) struct KeysRequest {
    pub(super) client: Address,
    pub(super) id: u64,
    pub(super) call: Call,
    pub(super) participants: PartitionSet,
}

impl KeysRequest {
    /// Dry run without isolation: the keys of this partition that the call touches now; `None`: they depend on rows of
    /// other partitions, or are too many.
    ///
    /// # Errors
    /// Why the rows are not what they were, if they are not.
    pub(super) fn reconnoitre(&self, shard: &mut Shard, out: &mut Outbox) -> Result<Option<DeclaredKeys>, String> {
        let (mut kept, mut touched) = (Default::default(), TouchedKeys::default());
        let task = Task { participants: self.participants, given: &[] };
        let ran = shard.run(&self.call, task, Some(&mut kept), Some(&mut touched));
        out.did(Work::Fragment { watched: true });
        match ran {
            Ran::Done(_) => shard.undo(kept),
            Ran::Aborted(_) => {}
            Ran::Broken(broken) => return Err(broken.to_string()),
            _ => return Ok(None),
        }
        Ok((touched.requests.len() <= MAX_FOUND).then(|| DeclaredKeys::found(touched.requests)))
    }
}

/// Requests that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct KeysRequests(VecDeque<KeysRequest>);

impl KeysRequests {
    pub(super) fn push(&mut self, request: KeysRequest) {
        self.0.push_back(request);
    }

    /// The next request that is to be answered now. `is_behind`: the replica's rows are out of date.
    pub(super) fn next(&mut self, is_behind: bool) -> Option<KeysRequest> {
        let may_wait = if is_behind { MAX_WAITING } else { 0 };
        if self.0.len() > may_wait { self.0.pop_front() } else { None }
    }
}
