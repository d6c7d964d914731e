//! Reconnaissance: dry runs that find the keys of calls, for clients (OLLP, *Calvin*, section 3.2.1).
//!
//! A client asks all replicas of a partition and takes the first answer. A replica that lags answers when it has the
//! inputs: the keys in its rows are out of date, so the call would be submitted in vain, and in the end lock whole
//! tables.
//!
//! A run that needs rows of other partitions ends with the missing reads. The client has these partitions read them,
//! and sends the rows with the next round, as a coordinator does. So a partition keeps nothing between rounds, and the
//! keys that others read there are found there too.

use std::collections::VecDeque;

use glassbox::research::shard::{DeclaredKeys, Kept, Ran, Shard, Task, TouchedKeys};

use crate::protocol::address::Address;
use crate::protocol::message::{FragmentWork, ReconnaissanceEnd, ReconnaissanceRequest, ReconnaissanceResult};
use crate::protocol::outbox::{Outbox, Work};

/// Keys that a round of a reconnaissance may find; a call with more locks their tables and indexes whole.
const MAX_FOUND: usize = 4_096;
/// Requests that wait at a replica that lacks inputs; the oldest of more is answered from the rows as they are.
const MAX_WAITING: usize = 1_024;

/// A client's request for the keys of a call.
#[derive(Debug)]
pub(super) struct KeysRequest {
    pub(super) client: Address,
    pub(super) request: Box<ReconnaissanceRequest>,
}

impl KeysRequest {
    /// Reads, or dry run, without isolation: the keys of this partition that they touch now.
    ///
    /// # Errors
    /// Why the rows are not what they were, if they are not.
    pub(super) fn reconnoitre(&self, shard: &mut Shard, out: &mut Outbox) -> Result<ReconnaissanceResult, String> {
        let ReconnaissanceRequest { id, round, ref call, participants, ref work } = *self.request;
        let mut touched = TouchedKeys::default();
        out.did(Work::Fragment { watched: true });
        let end = match work {
            FragmentWork::Find(reads) => {
                let mut find = |read| shard.find(read, Some(&mut touched)).ok().flatten();
                let rows: Option<Vec<_>> = reads.iter().map(&mut find).collect();
                rows.map_or(ReconnaissanceEnd::Unknown, ReconnaissanceEnd::Found)
            }
            FragmentWork::Run(given) => {
                let (mut kept, task) = (Kept::default(), Task { participants, given });
                match shard.run(call, task, Some(&mut kept), Some(&mut touched)) {
                    Ran::Done(_) => {
                        shard.undo(kept);
                        ReconnaissanceEnd::Done
                    }
                    // So would the run under its locks, or it is refused the next key.
                    Ran::Aborted(_) | Ran::Failed(_) => ReconnaissanceEnd::Done,
                    Ran::Wants(reads) => ReconnaissanceEnd::Wants(reads),
                    Ran::Elsewhere(partitions) => ReconnaissanceEnd::Elsewhere(partitions),
                    Ran::Broken(broken) => return Err(broken.to_string()),
                    Ran::Refused => unreachable!("the watch refuses nothing"),
                }
            }
        };
        let is_many = touched.requests.len() > MAX_FOUND;
        let found = DeclaredKeys::found(touched.requests);
        let keys = if is_many { found.coarse() } else { found };
        Ok(ReconnaissanceResult { id, round, partition: shard.index() as u8, keys, end })
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
