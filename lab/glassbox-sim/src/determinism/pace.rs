//! How fast a node is: its speed, the tail of its service times, its stalls; what its cores' time is spent on; and how
//! late it is.
//!
//! A share of the local calls at a node that lags is refused. The paper's system aborts an increasing share of the slow
//! node's local transactions, and settles at 70 %; it gives no rule. Here production's controller
//! ([`Throttle`](glassbox_cluster::Throttle)) follows the age of the oldest distributed fragment that waits to start.
//! It refuses calls at the node (the twin) or before they are ordered (deterministic execution): an input that is not
//! in the log has no deterministic meaning.

use std::collections::VecDeque;

use glassbox_cluster::Throttle;

use super::events::{exponential, lognormal};
use super::settings::{BusyPart, EvaluationSettings, ServiceTimes, US};
use glassbox_testing::dice::Dice;

/// Work of a job: nanoseconds of each [`BusyPart`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JobCost([u64; BusyPart::ALL.len()]);

impl JobCost {
    /// Of one part.
    pub fn of(part: BusyPart, ns: u64) -> Self {
        Self::default().and(part, ns)
    }

    /// With more of a part.
    pub fn and(mut self, part: BusyPart, ns: u64) -> Self {
        self.0[part as usize] += ns;
        self
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The pace of one node.
#[derive(Debug)]
pub(super) struct NodePace {
    speed: f64,
    sigma: f64,
    stalled_until: u64,
    /// Nanoseconds spent on each part.
    busy: [u64; BusyPart::ALL.len()],
}

impl NodePace {
    pub fn new(times: &ServiceTimes) -> Self {
        Self { speed: 1.0, sigma: times.sigma, stalled_until: 0, busy: [0; BusyPart::ALL.len()] }
    }

    /// The time that a core needs for a job that begins now.
    pub fn begin(&mut self, cost: JobCost, now: u64, dice: &mut Dice) -> u64 {
        for (busy, ns) in self.busy.iter_mut().zip(cost.0) {
            *busy += (ns as f64 / self.speed) as u64;
        }
        let tail = if self.sigma > 0.0 { lognormal(self.sigma, dice) } else { 1.0 };
        (cost.total() as f64 * tail / self.speed) as u64 + self.stalled_until.saturating_sub(now)
    }

    /// The node has this speed from now on.
    pub fn slow_down(&mut self, speed: f64) {
        self.speed = speed;
    }

    /// The node begins no job before this time.
    pub fn stall_until(&mut self, until: u64) {
        self.stalled_until = until;
    }
}

/// How late a node is, and the share of its local calls that is refused because of that.
#[derive(Debug, Default)]
pub(super) struct NodeLag {
    /// Distributed fragments that may not have started, the oldest first: arrival, slot and number of the transaction.
    fragments: VecDeque<(u64, usize, u64)>,
    throttle: Throttle,
}

impl NodeLag {
    /// A fragment came now: of the transaction in this slot, with this number.
    pub fn add(&mut self, now: u64, slot: usize, serial: u64) {
        self.fragments.push_back((now, slot, serial));
    }

    /// The age of the oldest one; `waits` says whether a fragment has not started yet.
    fn lag(&mut self, now: u64, waits: impl Fn(usize, u64) -> bool) -> u64 {
        while self.fragments.front().is_some_and(|&(_, slot, serial)| !waits(slot, serial)) {
            self.fragments.pop_front();
        }
        self.fragments.front().map_or(0, |(came, ..)| now - came)
    }

    /// Adjusts the share: an interval is over.
    pub fn observe(&mut self, now: u64, max_lag_us: u64, waits: impl Fn(usize, u64) -> bool) {
        let lag = self.lag(now, waits);
        self.throttle.observe(lag / US, max_lag_us, now / US);
    }

    /// The share of local calls that is refused.
    pub fn refused(&self) -> f64 {
        self.throttle.share()
    }
}

/// What the cores' time of several nodes was spent on so far.
pub(super) fn busy_of<'a>(paces: impl Iterator<Item = &'a NodePace>) -> [u64; BusyPart::ALL.len()] {
    let mut sum = [0; BusyPart::ALL.len()];
    for pace in paces {
        sum.iter_mut().zip(pace.busy).for_each(|(sum, busy)| *sum += busy);
    }
    sum
}

/// The time until a node stalls next.
pub(super) fn next_stall(times: &ServiceTimes, dice: &mut Dice) -> u64 {
    (exponential(dice) * 1e9 / times.stalls_per_s) as u64
}

/// The paces of all nodes of a cluster.
pub(super) fn paces(settings: &EvaluationSettings) -> Vec<NodePace> {
    (0..settings.nodes).map(|_| NodePace::new(&settings.times)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_or_stalled_node_needs_longer() {
        let (mut pace, mut dice) = (NodePace::new(&ServiceTimes::default()), Dice(1));
        let cost = JobCost::of(BusyPart::Useful, 100).and(BusyPart::Locks, 20);
        assert_eq!(pace.begin(cost, 0, &mut dice), 120);
        pace.slow_down(0.5);
        assert_eq!(pace.begin(cost, 0, &mut dice), 240);
        pace.stall_until(1_000);
        assert_eq!(pace.begin(cost, 400, &mut dice), 840);
        assert_eq!(pace.busy, [500, 100, 0, 0]);
        assert_eq!(busy_of([&pace, &pace].into_iter()), [1_000, 200, 0, 0]);
    }

    #[test]
    fn the_lag_is_the_age_of_the_oldest_fragment_that_waits() {
        let mut lag = NodeLag::default();
        (1..=3).for_each(|serial| lag.add(serial * 10, 0, serial));
        assert_eq!(lag.lag(100, |_, serial| serial > 1), 80);
        assert_eq!(lag.lag(100, |_, _| false), 0);
    }
}
