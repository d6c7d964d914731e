//! The concurrency-control schemes.

use std::fmt;

/// What a partition does while a transaction of several partitions waits for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum SchemeKind {
    /// Nothing. *Low Overhead Concurrency Control*, section 4.1.
    Blocking,
    /// What comes next, to be taken back if need be; the coordinator hears of results at once. Section 4.2.2.
    Speculation,
    /// As before, but results wait here until they are certain. Section 4.2.1.
    LocalSpeculation,
    /// What does not touch the same keys, by locks that are taken while there is such a transaction. Section 4.3.
    Locking,
    /// As before, with locks always.
    ForcedLocking,
    /// What does not touch the same keys, as is found afterwards. Section 5.7.
    Occ,
}

impl SchemeKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Blocking, Self::Speculation, Self::LocalSpeculation, Self::Locking, Self::ForcedLocking, Self::Occ];

    /// Whether locks are taken.
    pub fn is_locking(self) -> bool {
        matches!(self, Self::Locking | Self::ForcedLocking)
    }

    /// Whether clients coordinate their own transactions, because no global order is needed.
    pub fn clients_coordinate(self) -> bool {
        self.is_locking() || self == Self::Occ
    }

    /// Whether what comes after a transaction is taken back with it.
    pub(crate) fn cascades(self) -> bool {
        matches!(self, Self::Speculation | Self::LocalSpeculation)
    }
}

impl fmt::Display for SchemeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Speculation => "speculation",
            Self::LocalSpeculation => "local speculation",
            Self::Locking => "locking",
            Self::ForcedLocking => "forced locking",
            Self::Occ => "occ",
        })
    }
}
