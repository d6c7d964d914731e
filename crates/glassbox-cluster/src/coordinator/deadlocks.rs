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

use crate::protocol::message::{Message, Wait, Waiter, WaiterId};
use crate::protocol::outbox::Outbox;
use crate::scheme::waits_for::WaitsFor;

/// Attempts that begin without a pause.
const AT_ONCE: u32 = 6;
/// The longest first pause, and how often it doubles.
const PAUSE_US: u64 = 1_000;
const MAX_DOUBLINGS: u32 = 5;

/// What a coordinator knows of deadlocks, and its restarted transactions that pause.
#[derive(Debug)]
pub(crate) struct Deadlocks<T> {
    graph: WaitsFor<Waiter, u8>,
    /// The scheme's epoch to which the graph belongs.
    scheme_since: u64,
    /// With the time at which each begins again, in microseconds.
    paused: Vec<(u64, T)>,
}

impl<T> Default for Deadlocks<T> {
    fn default() -> Self {
        Self { graph: WaitsFor::default(), scheme_since: 0, paused: Vec::new() }
    }
}

impl<T> Deadlocks<T> {
    /// Forgets what partitions reported under another scheme, or before they were replaced.
    pub(crate) fn forget(&mut self, scheme_since: u64, replaced: PartitionSet) {
        if self.scheme_since != scheme_since {
            (self.graph, self.scheme_since) = (WaitsFor::default(), scheme_since);
        }
        replaced.iter().for_each(|partition| self.graph.remove_partition(partition as u8));
    }

    /// A partition reports that a transaction begins to wait, or does not wait any more.
    pub(crate) fn note_wait(&mut self, partition: u8, wait: &Wait, out: &mut Outbox) {
        self.graph.set(wait.waiter, partition, &wait.holders);
        // One wait can close several cycles.
        while let Some(cycle) = self.graph.deadlock(wait.waiter) {
            let distributed = |waiter: &Waiter| match waiter.id {
                WaiterId::Distributed(txn) => Some((*waiter, txn)),
                WaiterId::Local { .. } => None,
            };
            // Its partition has broken a cycle of local ones.
            let Some((victim, txn)) = cycle.iter().filter_map(distributed).max() else { return };
            self.graph.remove(victim);
            out.send(txn.coordinator, Message::Deadlock(txn));
        }
    }

    /// The number of transactions that pause.
    pub(super) fn paused(&self) -> usize {
        self.paused.len()
    }

    /// Keeps a restarted transaction for a while; `None`: it does, else the transaction is to begin at once. `seed`
    /// decides how long.
    pub(super) fn pause(&mut self, transaction: T, attempts: u32, seed: u64, now_us: u64) -> Option<T> {
        let Some(earlier) = attempts.checked_sub(AT_ONCE) else { return Some(transaction) };
        let longest_us = PAUSE_US << earlier.min(MAX_DOUBLINGS);
        // Fibonacci hashing.
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.paused.push((now_us + random % longest_us, transaction));
        None
    }

    /// The transactions whose pause is over, with its end.
    pub(super) fn rested(&mut self, now_us: u64) -> Vec<(u64, T)> {
        self.paused.extract_if(.., |(until_us, _)| *until_us <= now_us).collect()
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;

    use super::*;
    use crate::protocol::address::{Address, TxnId};
    use crate::protocol::outbox::Action;

    fn waiter(now_us: i64, client: u32) -> Waiter {
        let txn = TxnId { coordinator: Address::Client(client), sequence: 1 };
        Waiter { now: Timestamp::from_micros(now_us), seed: 0, id: WaiterId::Distributed(txn) }
    }

    #[test]
    fn the_youngest_of_each_cycle_is_restarted() {
        let (mut deadlocks, mut out) = (Deadlocks::<()>::default(), Outbox::default());
        let [old, middle, young] = [waiter(1, 3), waiter(2, 2), waiter(3, 1)];
        let local = Waiter {
            now: Timestamp::from_micros(9),
            seed: 0,
            id: WaiterId::Local { client: Address::Client(7), id: 1 },
        };
        let wait = |waiter, holders: &[Waiter]| Wait { waiter, holders: holders.to_vec() };
        deadlocks.note_wait(0, &wait(young, &[local]), &mut out);
        deadlocks.note_wait(0, &wait(local, &[old]), &mut out);
        deadlocks.note_wait(1, &wait(middle, &[old]), &mut out);
        assert!(out.actions.is_empty());
        // Two cycles at once; of one the youngest is a local transaction, which its partition cannot restart for this.
        deadlocks.note_wait(2, &wait(old, &[young, middle]), &mut out);
        let victims: Vec<_> = out.actions.drain(..).collect();
        let restarted = |client| {
            let txn = TxnId { coordinator: Address::Client(client), sequence: 1 };
            Action::Send(Address::Client(client), Message::Deadlock(txn))
        };
        assert_eq!(victims, [restarted(1), restarted(2)]);
        // Replaced partitions report again.
        deadlocks.forget(0, PartitionSet::all(3));
        assert!(deadlocks.graph.is_empty());
    }

    #[test]
    fn pauses_are_as_long_as_their_seed_says_and_longer_after_more_attempts() {
        let mut deadlocks = Deadlocks::default();
        assert_eq!(deadlocks.pause("first", AT_ONCE - 1, 7, 100), Some("first"));
        (0..100).for_each(|seed| assert_eq!(deadlocks.pause("later", AT_ONCE + 9, seed, 100), None));
        assert_eq!((deadlocks.paused(), deadlocks.rested(99).len()), (100, 0));
        let soon = deadlocks.rested(100 + (PAUSE_US << MAX_DOUBLINGS) / 2).len();
        assert!((30..70).contains(&soon), "{soon} of 100 within half of the time");
        assert_eq!(deadlocks.rested(u64::MAX).len(), 100 - soon);
    }
}
