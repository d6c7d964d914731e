//! Who may work now, where parties share processors.
//!
//! The paper's parties have a machine each. On one machine there may be more of them than cores, and all clients may be
//! one thread. Whoever has something to do and finds no core waits in line for one.

use std::collections::VecDeque;

use glassbox_cluster::Address;

/// The processors of a world.
#[derive(Debug)]
pub(super) struct Processors {
    /// `None`: everybody has one.
    free: Option<u32>,
    /// All clients are one thread.
    client_at_work: bool,
    waiting: VecDeque<Address>,
}

impl Processors {
    pub(super) fn new(count: Option<u32>) -> Self {
        Self { free: count, client_at_work: false, waiting: VecDeque::new() }
    }

    /// Takes a processor for somebody; `false`: it has to wait, and is told of by [`Processors::give_back`].
    pub(super) fn take(&mut self, who: Address) -> bool {
        let Some(free) = &mut self.free else { return true };
        let is_client = matches!(who, Address::Client(_));
        if *free == 0 || is_client && self.client_at_work {
            if !self.waiting.contains(&who) {
                self.waiting.push_back(who);
            }
            return false;
        }
        *free -= 1;
        self.client_at_work |= is_client;
        true
    }

    /// Gives somebody's processor back; those who wait, in their order.
    pub(super) fn give_back(&mut self, who: Address) -> VecDeque<Address> {
        let Some(free) = &mut self.free else { return VecDeque::new() };
        *free += 1;
        self.client_at_work &= !matches!(who, Address::Client(_));
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITION: Address = Address::Replica { partition: 0, replica: 0 };

    #[test]
    fn those_who_find_no_core_wait_in_line() {
        let (one, two) = (Address::Client(1), Address::Client(2));
        let mut cores = Processors::new(Some(2));
        assert!(cores.take(one) && !cores.take(two), "clients are one thread");
        assert!(cores.take(PARTITION) && !cores.take(Address::Coordinator(0)));
        assert_eq!(cores.give_back(one), [two, Address::Coordinator(0)]);
        assert!(cores.take(two) && !cores.take(Address::Coordinator(0)));
        let mut plenty = Processors::new(None);
        assert!(plenty.take(one) && plenty.take(two) && plenty.give_back(one).is_empty());
    }
}
