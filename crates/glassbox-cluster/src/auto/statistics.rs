//! The load, as the model needs it.

use serde::{Deserialize, Serialize};

use super::tally::Tally;

/// The counters and durations of a whole cluster since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Of all primaries.
    pub seen: Counters,
    /// Of all primaries.
    pub partitions: Tally,
    /// Of the coordinators.
    pub coordinator: Tally,
}

/// The conditions in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Its length.
    pub span_us: f64,
    /// Partitions.
    pub partitions: u32,
    /// Coordinators.
    pub coordinators: u32,
    /// Calls in flight.
    pub clients: f64,
    /// The round trip of a message, without work.
    pub round_trip_us: f64,
    /// The share of a partition's runs that write its hottest row, of the partition with the highest share. `None`: not
    /// known yet.
    pub hottest: Option<f64>,
}

/// A load, as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// Transactions that end in a second.
    pub per_second: f64,
    /// Partitions.
    pub partitions: u32,
    /// Coordinators.
    pub coordinators: u32,
    /// Calls in flight.
    pub clients: f64,
    /// *f*: the share of distributed transactions.
    pub several: f64,
    /// The participants of a distributed transaction.
    pub participants: f64,
    /// The rounds of a distributed transaction.
    pub rounds: f64,
    /// The share of single-partition transactions that abort.
    pub single_aborts: f64,
    /// The share of distributed transactions that abort.
    pub several_aborts: f64,
    /// The share of a partition's runs that write its hottest row.
    pub hottest: f64,
    /// The round trip of a message, without work.
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
    /// The load of an interval.
    pub fn of(seen: &Counters, around: &Surroundings) -> Self {
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let or_one = |part: u64, of: u64| if of > 0 { (part as f64 / of as f64).max(1.0) } else { 1.0 };
        let ended = seen.committed + seen.aborted;
        let participants = if ended > 0 { or_one(seen.participants, ended) } else { 2.0 };
        let singles = seen.singles as f64;
        // Each participant counts a committed transaction; an aborted one is counted by the participant that aborted
        // it.
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
            // The shortest round trip on a busy machine varies.
            && near(self.round_trip_us, other.round_trip_us, 10.0, 0.3)
            && near(self.clients, other.clients, 2.0, 0.2)
    }
}

/// The workload counters of a primary since its promotion. They only grow: readers take differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Single-partition transactions that ended.
    pub singles: u64,
    /// Single-partition transactions that aborted.
    pub singles_aborted: u64,
    /// Distributed transactions that committed.
    pub committed: u64,
    /// Distributed transactions that the procedure aborted on this partition.
    pub aborted: u64,
    /// The sum of their rounds.
    pub rounds: u64,
    /// The sum of their participants.
    pub participants: u64,
}

impl Counters {
    /// The increase since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            singles: of(self.singles, other.singles),
            singles_aborted: of(self.singles_aborted, other.singles_aborted),
            committed: of(self.committed, other.committed),
            aborted: of(self.aborted, other.aborted),
            rounds: of(self.rounds, other.rounds),
            participants: of(self.participants, other.participants),
        }
    }
}
