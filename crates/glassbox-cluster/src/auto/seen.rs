//! What a primary counts.

use serde::{Deserialize, Serialize};

/// What a primary has counted since it became one. The numbers only grow: whoever asks takes the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Transactions on this partition alone that ended.
    pub singles: u64,
    /// How many of these the procedure decided against.
    pub singles_aborted: u64,
    /// Transactions on several partitions that count.
    pub committed: u64,
    /// Those that the procedure decided against, here.
    pub aborted: u64,
    /// Rounds of both, all added up.
    pub rounds: u64,
    /// Their partitions, all added up.
    pub participants: u64,
}

impl Seen {
    /// What was counted since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// Both together.
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
