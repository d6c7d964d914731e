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
        undecided <= 1 || (1.0 - self.aborts).powi(undecided.try_into().unwrap_or(i32::MAX)) >= VALID
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deepest(aborts_in_100: u32) -> usize {
        let mut limit = DepthLimit::default();
        for number in 0..10_000 {
            limit.decided(number * aborts_in_100 % 100 + aborts_in_100 < 100);
        }
        (0..1_000).rev().find(|undecided| limit.allows(*undecided)).expect("one is always allowed")
    }

    #[test]
    fn the_limit_follows_the_aborts() {
        assert_eq!(deepest(0), 999);
        assert!((11..=16).contains(&deepest(5)), "{}", deepest(5));
        assert!((5..=7).contains(&deepest(10)), "{}", deepest(10));
        assert_eq!([deepest(25), deepest(40), deepest(100)], [2, 1, 1]);
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
