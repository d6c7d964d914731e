//! Throttling: a controller that refuses a share of the local calls at a node that lags.
//!
//! The paper's system aborts an increasing share of the slow node's local transactions, and settles at 70 %; it gives
//! no rule. Here the refused share follows the lag, the age of the oldest distributed fragment that waits to start:
//! it grows by at most a step an interval while the lag is above its target, and falls while it is below. The same
//! controller refuses calls at the node itself (the twin) or before they are ordered (deterministic execution): an
//! input that is not in the log has no deterministic meaning.

use std::collections::VecDeque;

use super::settings::ThrottleRule;

/// The highest refused share.
const MAX_REFUSED: f64 = 0.95;

/// The controller of one node.
#[derive(Debug, Clone)]
pub(super) struct Throttle {
    rule: ThrottleRule,
    refused: f64,
}

impl Throttle {
    pub fn new(rule: ThrottleRule) -> Self {
        Self { rule, refused: 0.0 }
    }

    /// One interval has passed, and the node lags so far.
    pub fn observe(&mut self, lag_ns: u64) {
        let ThrottleRule { target_ns, step, .. } = self.rule;
        let error = (lag_ns as f64 - target_ns as f64) / target_ns as f64;
        self.refused = (self.refused + step * error.clamp(-1.0, 1.0)).clamp(0.0, MAX_REFUSED);
    }

    /// The share of local calls that is refused.
    pub fn refused(&self) -> f64 {
        self.refused
    }
}

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
    fn the_refused_share_follows_the_lag() {
        let mut throttle = Throttle::new(ThrottleRule::default());
        let target = ThrottleRule::default().target_ns;
        (0..5).for_each(|_| throttle.observe(10 * target));
        assert!((throttle.refused() - 0.5).abs() < 1e-9);
        throttle.observe(target);
        assert!((throttle.refused() - 0.5).abs() < 1e-9, "on target");
        throttle.observe(target / 2);
        assert!((throttle.refused() - 0.45).abs() < 1e-9);
        (0..20).for_each(|_| throttle.observe(10 * target));
        assert_eq!(throttle.refused(), MAX_REFUSED);
    }

    #[test]
    fn the_lag_is_the_age_of_the_oldest_fragment_that_waits() {
        let mut fragments = WaitingFragments::default();
        (1..=3).for_each(|serial| fragments.add(serial * 10, 0, serial));
        assert_eq!(fragments.lag(100, |_, serial| serial > 1), 80);
        assert_eq!(fragments.lag(100, |_, _| false), 0);
    }
}
