//! Serial: one transaction at a time, in the order of the log.
//!
//! No locks and no keys are needed. A distributed transaction holds up its partitions until its remote rows have
//! arrived. Calvin's code has it as a scheduler of its own, to show what locks gain.

use std::collections::VecDeque;

use glassbox::research::shard::DeclaredKeys;

use super::{LogPlace, Scheduler};

#[derive(Debug, Default)]
pub(crate) struct Serial {
    /// Transactions that have not ended.
    queue: VecDeque<LogPlace>,
    /// Whether the first one was given.
    is_first_given: bool,
}

impl Scheduler for Serial {
    fn request(&mut self, place: LogPlace, _: &DeclaredKeys) {
        self.queue.push_back(place);
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        if self.is_first_given {
            return None;
        }
        let first = self.queue.front().copied();
        self.is_first_given = first.is_some();
        first
    }

    fn release(&mut self, place: LogPlace) {
        let ended = self.queue.pop_front();
        assert_eq!(ended, Some(place), "only the first transaction runs");
        self.is_first_given = false;
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_ready_when_the_one_before_has_ended() {
        let mut serial = Serial::default();
        assert_eq!(serial.next_ready(), None);
        (1..=3).for_each(|place| serial.request(place, &DeclaredKeys::none()));
        for place in 1..=3 {
            assert_eq!((serial.next_ready(), serial.next_ready()), (Some(place), None));
            serial.release(place);
        }
        assert!(serial.is_idle());
    }
}
