//! Reconnaissance: dry runs that find the keys of calls, for clients (OLLP, *Calvin*, section 3.2.1).

use std::collections::VecDeque;

use glassbox::research::shard::{Call, DeclaredKeys, PartitionSet, Ran, Task, TouchedKeys};

use super::executor::Executor;
use crate::protocol::address::Address;
use crate::protocol::message::Message;
use crate::protocol::outbox::{Outbox, Work};

/// Keys that a reconnaissance may find; a call with more locks its partitions whole.
const MAX_FOUND: usize = 4_096;
/// Requests that wait at a replica that lacks inputs; the oldest of more is answered from the rows as they are.
const MAX_WAITING: usize = 1_024;

/// A client's request for the keys of a call.
#[derive(Debug)]
pub(super) struct KeysRequest {
    client: Address,
    id: u64,
    call: Call,
    participants: PartitionSet,
}

/// Requests that wait, the oldest first.
pub(super) type KeysRequests = VecDeque<KeysRequest>;

impl Executor {
    /// A client asks for the keys of a call. It asks all replicas and takes the first answer. One that lacks inputs
    /// answers when it has them: the keys in its rows are out of date, so the call would be submitted in vain, and in
    /// the end lock whole partitions.
    pub(super) fn asked_for_keys(
        &mut self,
        (client, id): (Address, u64),
        (call, participants): (Call, PartitionSet),
        out: &mut Outbox,
    ) {
        self.keys_requests.push_back(KeysRequest { client, id, call, participants });
        self.answer_keys_requests(out);
    }

    /// Answers what need not wait.
    pub(super) fn answer_keys_requests(&mut self, out: &mut Outbox) {
        let may_wait = if self.lacks_inputs() { MAX_WAITING } else { 0 };
        while self.keys_requests.len() > may_wait
            && let Some(KeysRequest { client, id, call, participants }) = self.keys_requests.pop_front()
        {
            let keys = self.reconnoitre(&call, participants, out).map(Box::new);
            out.send(client, Message::Reconnoitred { id, partition: self.index(), keys });
        }
    }

    /// Dry run without isolation: the keys of this partition that a call touches now; `None`: they depend on rows of
    /// other partitions.
    fn reconnoitre(&mut self, call: &Call, participants: PartitionSet, out: &mut Outbox) -> Option<DeclaredKeys> {
        let (mut kept, mut touched) = (Default::default(), TouchedKeys::default());
        let task = Task { participants, given: &[] };
        let ran = self.shard.run(call, task, Some(&mut kept), Some(&mut touched));
        out.did(Work::Fragment { watched: true });
        match ran {
            Ran::Done(_) => self.shard.undo(kept),
            Ran::Aborted(_) => {}
            Ran::Broken(broken) => {
                self.broken = Some(format!("partition {}: {broken}", self.index()));
                return None;
            }
            _ => return None,
        }
        (touched.requests.len() <= MAX_FOUND).then(|| DeclaredKeys::found(touched.requests))
    }
}
