//! What the model needs to know of a load.

use serde::{Deserialize, Serialize};

use super::seen::Seen;
use super::tally::Tally;

/// What machines counted and those who drive them timed, of a whole cluster, since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// By all primaries.
    pub seen: Seen,
    /// At all primaries.
    pub partitions: Tally,
    /// At the coordinators.
    pub coordinator: Tally,
}

/// What is seen from outside, of a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// How long it was.
    pub span_us: f64,
    /// Partitions.
    pub partitions: u32,
    /// Coordinators.
    pub coordinators: u32,
    /// Calls under way at a time.
    pub clients: f64,
    /// A message there and another back, without the work.
    pub round_trip_us: f64,
    /// Of a partition's runs, the share that writes its most wanted row; of the partition with the highest. `None`: not
    /// known yet.
    pub hottest: Option<f64>,
}

/// A load, as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// Transactions that ended, in a second.
    pub per_second: f64,
    /// Partitions.
    pub partitions: u32,
    /// Coordinators.
    pub coordinators: u32,
    /// Calls under way at a time.
    pub clients: f64,
    /// *f*: transactions on several partitions, as a share of all.
    pub several: f64,
    /// Partitions of such a transaction.
    pub participants: f64,
    /// Rounds of such a transaction.
    pub rounds: f64,
    /// The share that aborts, of transactions on one partition.
    pub single_aborts: f64,
    /// The same of those on several.
    pub several_aborts: f64,
    /// Of a partition's runs, the share that writes its most wanted row.
    pub hottest: f64,
    /// A message there and another back, without the work.
    pub round_trip_us: f64,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            per_second: 0.0,
            partitions: 2,
            coordinators: 1,
            clients: 40.0,
            several: 0.0,
            participants: 2.0,
            rounds: 1.0,
            single_aborts: 0.0,
            several_aborts: 0.0,
            hottest: 0.0,
            round_trip_us: 40.0,
        }
    }
}

impl Statistics {
    /// Of what was seen in a stretch of time.
    pub fn of(seen: &Seen, around: &Surroundings) -> Self {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let or_one = |part: u64, of: u64| if of > 0 { (part as f64 / of as f64).max(1.0) } else { 1.0 };
        let ended = seen.committed + seen.aborted;
        let participants = if ended > 0 { or_one(seen.participants, ended) } else { 2.0 };
        let singles = seen.singles as f64;
        // Each of a transaction's partitions counts it as committed; the one that decided against it, as aborted.
        let aborted = seen.aborted as f64;
        let severals = seen.committed as f64 / participants + aborted;
        Self {
            per_second: (singles + severals) * 1e6 / around.span_us,
            partitions: around.partitions,
            coordinators: around.coordinators,
            clients: around.clients,
            several: share(severals, singles + severals),
            participants,
            rounds: or_one(seen.rounds, ended),
            single_aborts: share(seen.singles_aborted as f64, singles),
            several_aborts: share(aborted, severals),
            hottest: around.hottest.unwrap_or_default(),
            round_trip_us: around.round_trip_us,
        }
    }

    /// Whether it is about the same load.
    pub fn resembles(&self, other: &Self) -> bool {
        let near = |a: f64, b: f64, apart: f64, share: f64| (a - b).abs() <= apart + share * a.max(b);
        near(self.several, other.several, 0.03, 0.3)
            && near(self.rounds, other.rounds, 0.15, 0.0)
            && near(self.participants, other.participants, 0.2, 0.1)
            && near(self.single_aborts, other.single_aborts, 0.03, 0.3)
            && near(self.several_aborts, other.several_aborts, 0.04, 0.4)
            && near(self.hottest, other.hottest, 0.15, 0.3)
            // The shortest that is found on a busy machine is a shorter one now and then.
            && near(self.round_trip_us, other.round_trip_us, 10.0, 0.3)
            && near(self.clients, other.clients, 2.0, 0.2)
    }
}
