//! The systems that are compared: the kernels, and the engine in each of its modes; and the goals of each.

use std::fmt;
use std::str::FromStr;

use glassbox::{Durability, LogKind};

/// Transactions that the client of a `Sync` engine has in flight.
const IN_FLIGHT: [usize; 4] = [1, 16, 256, 4_096];

/// A system that is compared. Its text (`tree-prefetch`, `values-sync-16`) names it in tables, JSON and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// A hand-written kernel.
    Kernel {
        /// Hash tables and arrays where order is not needed; else B+-trees everywhere.
        hash: bool,
        /// All keys of a transaction descend their indexes together first.
        prefetch: bool,
    },
    /// The engine with [`Durability::None`].
    None,
    /// The engine with [`Durability::Async`].
    Async(LogKind),
    /// The engine with [`Durability::Sync`], with so many transactions in flight.
    Sync(LogKind, usize),
}

/// The kernel that limits are stated against.
pub const BASE: System = System::Kernel { hash: false, prefetch: true };

impl System {
    /// All systems, in the order of the tables.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for hash in [false, true] {
            all.extend([false, true].map(|prefetch| Self::Kernel { hash, prefetch }));
        }
        all.push(Self::None);
        for log in [LogKind::Commands, LogKind::Values] {
            all.push(Self::Async(log));
            all.extend(IN_FLIGHT.map(|in_flight| Self::Sync(log, in_flight)));
        }
        all
    }

    /// Those whose instructions are counted: each distinct path through the engine once.
    pub fn counted() -> Vec<Self> {
        Self::all().into_iter().filter(|system| !matches!(system, Self::Sync(_, 1 | 16 | 256))).collect()
    }

    /// Whether it is a hand-written kernel.
    pub const fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel { .. })
    }

    /// When it answers; a kernel keeps nothing.
    pub const fn durability(&self) -> Durability {
        match self {
            Self::Kernel { .. } | Self::None => Durability::None,
            Self::Async(_) => Durability::Async,
            Self::Sync(..) => Durability::Sync,
        }
    }

    /// The kind of its log, if it has one.
    pub const fn log(&self) -> Option<LogKind> {
        match self {
            Self::Kernel { .. } | Self::None => None,
            Self::Async(log) | Self::Sync(log, _) => Some(*log),
        }
    }

    /// Transactions in flight.
    pub const fn in_flight(&self) -> usize {
        match self {
            Self::Sync(_, in_flight) => *in_flight,
            _ => 1,
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = |log: &LogKind| match log {
            LogKind::Values => "values",
            LogKind::Commands => "commands",
        };
        let text = match self {
            Self::Kernel { hash, prefetch } => {
                format!("{}{}", if *hash { "hash" } else { "tree" }, if *prefetch { "-prefetch" } else { "" })
            }
            Self::None => "none".to_owned(),
            Self::Async(kind) => format!("{}-async", log(kind)),
            Self::Sync(kind, in_flight) => format!("{}-sync-{in_flight}", log(kind)),
        };
        f.pad(&text)
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = Self::all();
        all.iter().find(|system| system.to_string() == text).copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(Self::to_string).collect();
            format!("unknown system; use one of {}", names.join(", "))
        })
    }
}

/// The goal: instructions per transaction, at most this multiple of the tree-prefetch kernel's.
pub fn max_instructions(system: &System) -> Option<f64> {
    match (system, system.log()) {
        (System::None, _) => Some(1.5),
        (_, Some(LogKind::Commands)) => Some(1.7),
        (_, Some(LogKind::Values)) => Some(2.3),
        _ => None,
    }
}

/// The goal: throughput, at least this share of the tree-prefetch kernel's.
pub fn min_throughput(system: &System) -> Option<f64> {
    match (system, system.durability(), system.log(), system.in_flight()) {
        (System::None, ..) => Some(0.60),
        (_, Durability::Async, Some(LogKind::Commands), _) => Some(0.50),
        (_, Durability::Sync, Some(LogKind::Commands), 4_096) => Some(0.45),
        (_, Durability::Sync, Some(LogKind::Values), 4_096) => Some(0.35),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_is_found_by_its_name() {
        let all = System::all();
        assert_eq!(all.len(), 4 + 1 + 2 * 5);
        for system in &all {
            assert_eq!(system.to_string().parse(), Ok(*system));
        }
        assert_eq!(BASE.to_string(), "tree-prefetch");
        assert_eq!("values-sync-16".parse(), Ok(System::Sync(LogKind::Values, 16)));
        assert!(System::from_str("value-sync").unwrap_err().contains("values-sync-4096"));
    }

    #[test]
    fn goals_are_set_where_they_were_stated() {
        let with = |goal: fn(&System) -> Option<f64>| {
            let goals = System::all().into_iter().filter_map(|system| Some((system.to_string(), goal(&system)?)));
            goals.collect::<Vec<_>>()
        };
        let throughput = with(min_throughput);
        let expected =
            [("none", 0.60), ("commands-async", 0.50), ("commands-sync-4096", 0.45), ("values-sync-4096", 0.35)];
        assert_eq!(throughput, expected.map(|(name, goal)| (name.to_owned(), goal)));
        let instructions = with(max_instructions);
        assert_eq!(instructions.len(), 11);
        assert!(instructions.contains(&("commands-sync-256".to_owned(), 1.7)));
    }
}
