//! Orders by local clocks: when a partition may execute an epoch, and which epochs arrive too late.
//!
//! VLDB 2014, section 2.3: each machine gives its inputs the time of its clock, and every machine executes them in the
//! order of their times, after a delay. An input that takes longer than the delay arrives after its place has passed,
//! and replicas differ: this form is unsafe. It is here only, with its late arrivals counted. Production's form waits
//! for every sequencer ([`glassbox_cluster::Merge`]) and is the other rule of this model.

use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, PartitionSet};
use glassbox_cluster::{Address, Input, InputBatch, InputKeys, Merge};

use super::events::{FifoLinks, uniform};
use glassbox_testing::dice::Dice;

/// Sequencers that send their epochs to one partition.
#[derive(Debug, Clone, Copy)]
pub struct ClockOrder {
    /// Sequencers.
    pub sequencers: usize,
    /// The duration of an epoch.
    pub epoch_ns: u64,
    /// The most by which a clock is ahead of another.
    pub skew_ns: u64,
    /// The mean delay of the network, of which 0.7 is constant.
    pub delay_ns: u64,
    /// The share of epochs whose sequencer stalls before it sends them, and for how long.
    pub stalls: (f64, u64),
    /// The number of epochs of each sequencer.
    pub epochs: u64,
    /// Decides everything random.
    pub seed: u64,
}

/// When a partition executes an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockRule {
    /// When its clock is so many nanoseconds past the end of the epoch.
    Unsafe(u64),
    /// When every sequencer has sent a later one.
    Safe,
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockReport {
    /// Epochs that arrived after the time at which they were to be executed.
    pub late: u64,
    /// All epochs.
    pub epochs: u64,
    /// The mean time from the end of an epoch, by its sequencer's clock, until it was executed, in nanoseconds.
    pub mean_ns: f64,
}

impl ClockOrder {
    /// The paper's epochs and this project's assumptions about its network: eight sequencers, 10 ms, a mean delay of
    /// 250 µs, and stalls of 2 ms, on average one in two seconds.
    pub fn of_the_paper(skew_ns: u64, seed: u64) -> Self {
        let (epoch_ns, delay_ns, stalls) = (10_000_000, 250_000, (0.005, 2_000_000));
        Self { sequencers: 8, epoch_ns, skew_ns, delay_ns, stalls, epochs: 4_000, seed }
    }

    /// Runs it under a rule.
    ///
    /// # Panics
    /// When production's rule executes an epoch before an earlier one.
    pub fn run(&self, rule: ClockRule) -> ClockReport {
        let mut dice = Dice(self.seed);
        let mut ahead = || if self.skew_ns == 0 { 0 } else { dice.below(self.skew_ns) };
        let (here, clocks) = (ahead(), (0..self.sequencers).map(|_| ahead()).collect::<Vec<_>>());
        let mut links = FifoLinks::new(self.sequencers + 1, self.delay_ns);
        // When each epoch ends and arrives, in the order of arrival.
        let mut arrivals = Vec::new();
        for interval in 1..=self.epochs {
            for (number, clock) in clocks.iter().enumerate() {
                // A fast clock ends its epochs early.
                let end = interval * self.epoch_ns + self.skew_ns - clock;
                let sent = end + if uniform(&mut dice) < self.stalls.0 { self.stalls.1 } else { 0 };
                let arrival = links.arrival((number, self.sequencers), sent, &mut dice);
                arrivals.push((arrival, interval * self.sequencers as u64 + number as u64, end));
            }
        }
        arrivals.sort_unstable();
        match rule {
            ClockRule::Unsafe(wait) => self.after_a_wait(&arrivals, here, wait),
            ClockRule::Safe => self.merged(&arrivals),
        }
    }

    fn after_a_wait(&self, arrivals: &[(u64, u64, u64)], here: u64, wait: u64) -> ClockReport {
        let (mut late, mut waited) = (0, 0.0);
        for &(arrival, epoch, end) in arrivals {
            let due = epoch / self.sequencers as u64 * self.epoch_ns + self.skew_ns - here + wait;
            late += u64::from(arrival > due);
            waited += due.max(arrival) as f64 - end as f64;
        }
        ClockReport { late, epochs: arrivals.len() as u64, mean_ns: waited / arrivals.len() as f64 }
    }

    /// By production's rule.
    fn merged(&self, arrivals: &[(u64, u64, u64)]) -> ClockReport {
        let (mut merge, mut ends) = (Merge::new(self.sequencers, 0), std::collections::BTreeMap::new());
        let (mut executed, mut waited, mut last) = (0, 0.0, 0);
        for &(arrival, epoch, end) in arrivals {
            ends.insert(epoch, end);
            let number = merge.source(epoch);
            let batch = InputBatch {
                before: merge.received(number),
                epoch,
                sealed_in: 0,
                has_more: false,
                inputs: vec![an_input()],
                digests: Vec::new(),
            };
            merge.receive(number, batch).expect("links keep the order");
            while let Some(due) = merge.next_due() {
                assert!(due.epoch > last, "epoch {} after epoch {last}", due.epoch);
                last = due.epoch;
                waited += arrival as f64 - ends.remove(&due.epoch).expect("it has arrived") as f64;
                executed += 1;
            }
        }
        ClockReport { late: 0, epochs: executed, mean_ns: waited / executed as f64 }
    }
}

fn an_input() -> Input {
    Input {
        index: 0,
        client: Address::Client(0),
        call_id: 0,
        attempt: 0,
        call: Call { procedure: 0, arguments: Vec::new().into(), now: Timestamp::default(), seed: 0 },
        version: 0,
        participants: PartitionSet::of(0),
        keys: InputKeys::Declared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_arrivals_fall_with_the_wait_and_the_safe_form_has_none() {
        let order = ClockOrder::of_the_paper(1_000_000, 1);
        let late = |wait| order.run(ClockRule::Unsafe(wait)).late;
        let waits = [0, 250_000, 1_000_000, 2_000_000, 8_000_000];
        let all = waits.map(late);
        assert!(all.is_sorted_by(|a, b| a >= b) && all[0] > 10_000 && all[2] > 0, "{all:?}");
        assert_eq!(all[4], 0, "a wait that is longer than the skew, a stall and any delay");
        let safe = order.run(ClockRule::Safe);
        // Those after the last one of the slowest sequencer are never executed.
        assert!(safe.late == 0 && safe.epochs >= (order.epochs - 1) * 8 && safe.epochs <= order.epochs * 8);
        let wait = order.run(ClockRule::Unsafe(8_000_000)).mean_ns;
        assert!(safe.mean_ns < wait, "{} ns, {wait} ns", safe.mean_ns);
    }

    #[test]
    fn clocks_that_differ_cost_time() {
        let mean = |skew| ClockOrder::of_the_paper(skew, 1).run(ClockRule::Safe).mean_ns;
        let (none, some, more) = (mean(0), mean(1_000_000), mean(5_000_000));
        assert!(none < some && some < more && more < 6_000_000.0, "{none} ns, {some} ns, {more} ns");
    }
}
