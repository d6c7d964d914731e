//! How near the engine should come to the kernel: the steps that were set, and whether they are met.

use glassbox::{Durability, LogKind};

use super::systems::System;

/// Instructions per transaction, at most so many times the tree-prefetch kernel's.
pub fn most_instructions(system: &System) -> Option<f64> {
    match (system, system.log()) {
        (System::None, _) => Some(1.5),
        (_, Some(LogKind::Commands)) => Some(1.7),
        (_, Some(LogKind::Values)) => Some(2.3),
        _ => None,
    }
}

/// Throughput, at least such a share of the tree-prefetch kernel's.
pub fn least_throughput(system: &System) -> Option<f64> {
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
    fn goals_are_set_where_they_were_stated() {
        let with = |goal: fn(&System) -> Option<f64>| {
            let goals = System::all().into_iter().filter_map(|system| Some((system.to_string(), goal(&system)?)));
            goals.collect::<Vec<_>>()
        };
        let throughput = with(least_throughput);
        let expected =
            [("none", 0.60), ("commands-async", 0.50), ("commands-sync-4096", 0.45), ("values-sync-4096", 0.35)];
        assert_eq!(throughput, expected.map(|(name, goal)| (name.to_owned(), goal)));
        let instructions = with(most_instructions);
        assert_eq!(instructions.len(), 11);
        assert!(instructions.contains(&("commands-sync-256".to_owned(), 1.7)));
    }
}
