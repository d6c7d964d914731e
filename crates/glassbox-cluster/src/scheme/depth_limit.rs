//! How deep a partition speculates.
//!
//! A run on the changes of undecided transactions is undone if one of them aborts. If each aborts with probability p,
//! a run after d of them is valid with probability (1 − p)^d; below a half, it is more probably wasted than not, and
//! waits. A run after only one does not wait: meanwhile the partition would be idle.
//!
//! *Low Overhead Concurrency Control*, section 5.3, suggests a limit where aborts are likely, and leaves it open.

/// The weight of the newest decision in the share of aborts.
const NEWEST: f64 = 1.0 / 64.0;
/// A run that is less probably valid than this waits.
const VALID: f64 = 0.5;

/// The limit of speculation, from the decisions so far.
#[derive(Debug, Default)]
pub(crate) struct DepthLimit {
    /// The share of aborts among the last distributed transactions that had run when they were decided.
    aborts: f64,
}

impl DepthLimit {
    pub(super) fn decided(&mut self, commit: bool) {
        self.aborts += NEWEST * (f64::from(u8::from(!commit)) - self.aborts);
    }

    /// Whether a run may depend on this number of undecided transactions.
    pub(super) fn allows(&self, undecided: usize) -> bool {
        undecided as f64 <= deepest(self.aborts)
    }
}

/// The number of undecided transactions on which a run may depend, if this share of them aborts.
pub(crate) fn deepest(aborts: f64) -> f64 {
    if aborts <= 0.0 { f64::INFINITY } else { (VALID.ln() / (1.0 - aborts).ln()).floor().max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deepest_after(aborts_in_100: u32) -> usize {
        let mut limit = DepthLimit::default();
        for number in 0..10_000 {
            limit.decided(number * aborts_in_100 % 100 + aborts_in_100 < 100);
        }
        (0..1_000).rev().find(|undecided| limit.allows(*undecided)).expect("one is always allowed")
    }

    #[test]
    fn the_limit_follows_the_aborts() {
        assert_eq!(deepest_after(0), 999);
        assert!((11..=16).contains(&deepest_after(5)), "{}", deepest_after(5));
        assert!((5..=7).contains(&deepest_after(10)), "{}", deepest_after(10));
        assert_eq!([deepest_after(25), deepest_after(40), deepest_after(100)], [2, 1, 1]);
        assert_eq!([0.0, 0.5, 1.0].map(deepest), [f64::INFINITY, 1.0, 1.0]);
    }

    #[test]
    fn a_limit_is_forgotten_when_aborts_end() {
        let mut limit = DepthLimit::default();
        (0..1_000).for_each(|_| limit.decided(false));
        assert!(!limit.allows(2));
        (0..100).for_each(|_| limit.decided(true));
        assert!(limit.allows(2), "{limit:?}");
    }
}
