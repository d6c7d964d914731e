//! Throttling: a part of the calls is refused that a slow partition would execute late.
//!
//! Problem: partitions that take part in distributed transactions wait for each other, so one slow machine slows down
//! all (VLDB 2014, section 4). The paper's nondeterministic system refuses local calls there until the distributed ones
//! are in time. A deterministic replica may refuse nothing that is ordered; but what is not ordered yet has no place in
//! the log, so the sequencer refuses by the same rule.
//!
//! The rule: each 50 ms, the refused share grows by a tenth of the relative excess of the lag over its bound, at most
//! by a tenth of all calls; it falls likewise, after a time without calls by as many steps.

use glassbox::research::shard::Failure;

use crate::protocol::message::{Message, Outcome};

/// Intervals by which the share falls at once, after a time without calls.
const MAX_INTERVALS: u64 = 20;
/// The most by which the share changes in an interval.
const STEP: f64 = 0.1;
/// The largest share: some calls are always let through, so that the partition is seen to be in time again.
const MAX_SHARE: f64 = 0.95;

/// The calls on one partition that are refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throttle {
    share: f64,
    adjusted_us: u64,
    /// The part of a call that the share has refused and no call was refused for.
    due: f64,
}

impl Throttle {
    /// How often the share is adjusted, and how long a refused call should wait, in microseconds.
    pub const INTERVAL_US: u64 = 50_000;

    /// The answer to a client's call that is refused because this partition is late.
    pub(crate) fn refusal(partition: u8, id: u64) -> Message {
        let failure = Failure::Overloaded { partition, retry_after_us: Self::INTERVAL_US as u32 };
        Message::Answer { id, outcome: Outcome::Failed(Box::new(failure)) }
    }

    /// Notes the lag of the partition, and its bound, in microseconds; neither time goes back.
    pub fn observe(&mut self, lag_us: u64, max_lag_us: u64, now_us: u64) {
        let intervals = now_us.saturating_sub(self.adjusted_us) / Self::INTERVAL_US;
        if intervals == 0 {
            return;
        }
        self.adjusted_us = now_us;
        let excess = (lag_us as f64 - max_lag_us as f64) / max_lag_us.max(1) as f64;
        let change = (STEP * excess).clamp(-STEP, STEP);
        // After a time without calls, one lag says nothing about that time; but nothing was late then.
        let change = if change < 0.0 { change * intervals.min(MAX_INTERVALS) as f64 } else { change };
        self.share = (self.share + change).clamp(0.0, MAX_SHARE);
    }

    /// The share of calls that is refused, from 0 to 0.95.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Whether the next call is let through: of every few in a row, the share is refused.
    pub fn admits(&mut self) -> bool {
        self.due += self.share;
        if self.due < 1.0 {
            return true;
        }
        self.due -= 1.0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_finds_what_a_slow_partition_can_do() {
        // It does 1,000 calls a second and is offered 2,500, of which 100 cannot be refused.
        let (mut throttle, mut queue, mut refused, mut last) = (Throttle::default(), 0.0_f64, 0, Vec::new());
        for ms in 1..10_000_u64 {
            let lag_us = (queue * 1_000.0) as u64;
            for call in 0..if ms % 2 == 0 { 2 } else { 3 } {
                throttle.observe(lag_us, 5_000, ms * 1_000);
                let is_distributed = ms % 10 == 0 && call == 0;
                if is_distributed || throttle.admits() {
                    queue += 1.0;
                } else {
                    refused += 1;
                }
            }
            queue = (queue - 1.0).max(0.0);
            last.push(lag_us);
        }
        let mean = last[5_000..].iter().sum::<u64>() as f64 / (last.len() - 5_000) as f64;
        let share = f64::from(refused) / 24_000.0;
        assert!((0.55..0.66).contains(&share), "{share} refused: 1,500 of 2,400 a second are too many");
        assert!((1_000.0..30_000.0).contains(&mean), "a lag of {mean} us");
    }

    #[test]
    fn a_partition_in_time_refuses_nothing() {
        let mut throttle = Throttle::default();
        for ms in 0..1_000 {
            throttle.observe(4_999, 5_000, ms * 1_000);
            assert!(throttle.admits());
        }
        // Late for a while, and in time again.
        (1_000..1_600).for_each(|ms| throttle.observe(50_000, 5_000, ms * 1_000));
        assert!(throttle.share() > 0.9 && throttle.share() <= MAX_SHARE);
        assert!((0..20).filter(|_| throttle.admits()).count() <= 2);
        (1_600..3_000).for_each(|ms| throttle.observe(0, 5_000, ms * 1_000));
        assert_eq!(throttle.share(), 0.0);
        // After a long time without calls the share grows by one step, and falls by many.
        throttle.observe(50_000, 5_000, 100_000_000);
        assert!((throttle.share() - STEP).abs() < 1e-9);
        (1..9).for_each(|at| throttle.observe(50_000, 5_000, 100_000_000 + at * Throttle::INTERVAL_US));
        assert!(throttle.share() > 0.8);
        throttle.observe(0, 5_000, 200_000_000);
        assert_eq!(throttle.share(), 0.0);
    }
}
