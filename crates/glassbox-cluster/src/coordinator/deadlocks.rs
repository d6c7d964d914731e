//! Distributed deadlocks under two-phase locking: coordinator 0 collects who waits for whom, and has the youngest
//! transaction of each deadlock restarted by its coordinator. And pauses before restarts.
//!
//! VLDB 2014, section 3: in the published code every wait is a message to machine 0, every grant another one. The graph
//! is only as new as the messages: a transaction may be restarted for a deadlock that has just ended. Reports that were
//! lost with a member leave a deadlock to the timeouts.
//!
//! Transactions that were restarted at once could meet in the same way again and again. So from the seventh attempt on,
//! one pauses for a time that depends on its seed, on average twice as long as the time before.

use glassbox::research::shard::PartitionSet;

use crate::coordinator::commit::{Coordinator, PendingTxn};
use crate::protocol::address::{Address, TxnId};
use crate::protocol::message::{Message, Wait, Waiter, WaiterId};
use crate::protocol::outbox::Outbox;
use crate::scheme::waits_for::WaitsFor;

/// Attempts that begin without a pause.
const AT_ONCE: u32 = 6;
/// The longest first pause, and how often it doubles.
const PAUSE_US: u64 = 1_000;
const MAX_DOUBLINGS: u32 = 5;

/// What a coordinator knows of deadlocks.
#[derive(Debug, Default)]
pub(crate) struct Deadlocks {
    graph: WaitsFor<Waiter, u8>,
    /// The scheme's epoch to which the graph belongs.
    scheme_since: u64,
    /// Restarted transactions that begin again at this time, in microseconds.
    pub(crate) paused: Vec<(u64, PendingTxn)>,
}

impl Deadlocks {
    /// Forgets what partitions reported under another scheme, or before they were replaced.
    pub(crate) fn forget(&mut self, scheme_since: u64, replaced: PartitionSet) {
        if self.scheme_since != scheme_since {
            (self.graph, self.scheme_since) = (WaitsFor::default(), scheme_since);
        }
        replaced.iter().for_each(|partition| self.graph.remove_partition(partition as u8));
    }
}

impl Coordinator {
    /// A partition reports that a transaction begins to wait, or does not wait any more.
    pub(crate) fn note_wait(&mut self, from: Address, wait: &Wait, out: &mut Outbox) {
        let Some(partition) = from.partition() else { return };
        let graph = &mut self.deadlocks.graph;
        graph.set(wait.waiter, partition, &wait.holders);
        while let Some(cycle) = graph.deadlock(wait.waiter) {
            let distributed = |waiter: &Waiter| match waiter.id {
                WaiterId::Distributed(txn) => Some((*waiter, txn)),
                WaiterId::Local { .. } => None,
            };
            // Its partition has broken a cycle of local ones.
            let Some((victim, txn)) = cycle.iter().filter_map(distributed).max() else { return };
            graph.remove(victim);
            out.send(txn.coordinator, Message::Deadlock(txn));
        }
    }

    /// Coordinator 0 has found a deadlock, with one of this coordinator's transactions.
    pub(crate) fn on_deadlock(&mut self, txn: TxnId, now_us: u64, out: &mut Outbox) {
        if txn.coordinator == self.me && self.pending.contains_key(&txn.sequence) {
            self.restart(txn.sequence, PartitionSet::EMPTY, now_us, out);
        }
    }

    /// Keeps a restarted transaction for a while; `None`: it does, else the transaction is to begin at once.
    pub(crate) fn pause(&mut self, pending: PendingTxn, now_us: u64) -> Option<PendingTxn> {
        // A coordinator that orders transactions does not restart them because of each other.
        let Some(earlier) = pending.attempts.checked_sub(AT_ONCE).filter(|_| matches!(self.me, Address::Client(_)))
        else {
            return Some(pending);
        };
        let longest_us = PAUSE_US << earlier.min(MAX_DOUBLINGS);
        // Fibonacci hashing.
        let random = (pending.call.seed ^ self.next).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.deadlocks.paused.push((now_us + random % longest_us, pending));
        None
    }

    /// Begins the transactions whose pause is over.
    pub(crate) fn end_pauses(&mut self, now_us: u64, out: &mut Outbox) {
        if self.deadlocks.paused.is_empty() {
            return;
        }
        let due: Vec<_> = self.deadlocks.paused.extract_if(.., |(until_us, _)| *until_us <= now_us).collect();
        for (until_us, mut pending) in due {
            pending.begun_us = until_us;
            self.begin(pending, out);
        }
    }
}
