//! Scheduling of parties that share processors.
//!
//! The paper's parties have a machine each. On one machine there may be more parties than cores, and all clients may be
//! one thread. A party that has work and finds no core queues for one.

use std::collections::VecDeque;

use glassbox_cluster::Address;

/// The processors of a world.
#[derive(Debug)]
pub(super) struct Processors {
    /// `None`: each party has its own.
    free: Option<u32>,
    /// All clients are one thread.
    client_at_work: bool,
    waiting: VecDeque<Address>,
}

fn is_client(who: Address) -> bool {
    matches!(who, Address::Client(_))
}

impl Processors {
    pub(super) fn new(count: Option<u32>) -> Self {
        Self { free: count, client_at_work: false, waiting: VecDeque::new() }
    }

    /// Takes a processor for a party; `false`: it queues for one, see [`Processors::give_back`].
    pub(super) fn take(&mut self, who: Address) -> bool {
        let Some(free) = &mut self.free else { return true };
        if *free == 0 || is_client(who) && self.client_at_work {
            if !self.waiting.contains(&who) {
                self.waiting.push_back(who);
            }
            return false;
        }
        *free -= 1;
        self.client_at_work |= is_client(who);
        true
    }

    /// Releases a party's processor; the queued parties, in order, but after a client the other clients first, whose
    /// thread continues.
    pub(super) fn give_back(&mut self, who: Address) -> VecDeque<Address> {
        let Some(free) = &mut self.free else { return VecDeque::new() };
        *free += 1;
        let mut waiting = std::mem::take(&mut self.waiting);
        if is_client(who) {
            self.client_at_work = false;
            waiting.make_contiguous().sort_by_key(|other| !is_client(*other));
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITION: Address = Address::Replica { partition: 0, replica: 0 };

    #[test]
    fn parties_without_a_core_queue_for_one() {
        let (one, two) = (Address::Client(1), Address::Client(2));
        let mut cores = Processors::new(Some(2));
        assert!(cores.take(one) && !cores.take(two), "clients are one thread");
        assert!(cores.take(PARTITION) && !cores.take(Address::Coordinator(0)) && !cores.take(Address::Client(3)));
        assert_eq!(cores.give_back(one), [two, Address::Client(3), Address::Coordinator(0)]);
        assert!(cores.take(two) && !cores.take(Address::Coordinator(0)));
        let mut plenty = Processors::new(None);
        assert!(plenty.take(one) && plenty.take(two) && plenty.give_back(one).is_empty());
    }
}
