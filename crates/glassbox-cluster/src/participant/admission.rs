//! Admission of calls at a partition under two-phase locking: on a slow machine some calls on this partition alone are
//! refused before they begin, so that distributed transactions do not wait for it.
//!
//! VLDB 2014, section 4: the nondeterministic system "throttles" a slow node by its local transactions. The rule is the
//! one that a sequencer uses ([`Throttle`]). The lag is the age of a distributed transaction when its first fragment
//! begins here, by the clock of its client: earlier attempts of it count.

use crate::deterministic::throttle::Throttle;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    throttle: Throttle,
    /// The age of the last first fragment, and when it began here.
    lag_us: u64,
    noted_us: u64,
}

impl Admission {
    /// Notes a first fragment of a transaction that was called at this time.
    pub(crate) fn note_fragment(&mut self, called_us: u64, now_us: u64) {
        (self.lag_us, self.noted_us) = (now_us.saturating_sub(called_us), now_us);
    }

    /// Whether a call on this partition alone is let through.
    pub(crate) fn admits(&mut self, max_lag_us: u32, now_us: u64) -> bool {
        let is_recent = now_us.saturating_sub(self.noted_us) <= Throttle::INTERVAL_US;
        self.throttle.observe(if is_recent { self.lag_us } else { 0 }, u64::from(max_lag_us), now_us);
        self.throttle.admits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(admission: &mut Admission, from_ms: u64, fragments_late_us: Option<u64>) -> usize {
        let mut refuses = |ms: u64| {
            let now_us = ms * 1_000;
            if let Some(late_us) = fragments_late_us {
                admission.note_fragment(now_us - late_us, now_us);
            }
            !admission.admits(5_000, now_us)
        };
        (from_ms..from_ms + 1_000).filter(|ms| refuses(*ms)).count()
    }

    #[test]
    fn calls_are_refused_while_fragments_are_late() {
        let mut admission = Admission::default();
        assert_eq!(refused(&mut admission, 1_000, Some(4_000)), 0);
        let late = refused(&mut admission, 2_000, Some(50_000));
        assert!((500..=950).contains(&late), "{late}");
        // In time again, or without any.
        refused(&mut admission, 3_000, Some(1_000));
        assert_eq!(refused(&mut admission, 4_000, Some(1_000)), 0);
        refused(&mut admission, 5_000, Some(50_000));
        refused(&mut admission, 6_000, None);
        assert_eq!(refused(&mut admission, 7_000, None), 0);
    }
}
