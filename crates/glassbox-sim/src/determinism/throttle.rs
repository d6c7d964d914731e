//! Throttling: a share of the local calls at a node that lags is refused.
//!
//! The paper's system aborts an increasing share of the slow node's local transactions, and settles at 70 %; it gives
//! no rule. Here production's controller ([`Throttle`](glassbox_cluster::Throttle)) follows the lag: the age of the
//! oldest distributed fragment that waits to start. It refuses calls at the node itself (the twin) or before they are
//! ordered (deterministic execution): an input that is not in the log has no deterministic meaning.

use std::collections::VecDeque;

/// Distributed fragments of a node that may not have started, the oldest first.
#[derive(Debug, Default)]
pub(super) struct WaitingFragments(VecDeque<(u64, usize, u64)>);

impl WaitingFragments {
    /// A fragment came now: of the transaction in this slot, with this number.
    pub fn add(&mut self, now: u64, slot: usize, serial: u64) {
        self.0.push_back((now, slot, serial));
    }

    /// The age of the oldest one; `waits` says whether a fragment has not started yet.
    pub fn lag(&mut self, now: u64, waits: impl Fn(usize, u64) -> bool) -> u64 {
        while self.0.front().is_some_and(|&(_, slot, serial)| !waits(slot, serial)) {
            self.0.pop_front();
        }
        self.0.front().map_or(0, |(came, ..)| now - came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_the_age_of_the_oldest_fragment_that_waits() {
        let mut fragments = WaitingFragments::default();
        (1..=3).for_each(|serial| fragments.add(serial * 10, 0, serial));
        assert_eq!(fragments.lag(100, |_, serial| serial > 1), 80);
        assert_eq!(fragments.lag(100, |_, _| false), 0);
    }
}
