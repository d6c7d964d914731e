//! The share of a partition's instructions that locks cost: *Low Overhead Concurrency Control*, section 5.6.
//!
//! Paper: New-Order alone, 10 % of orders on two partitions: locking spends 34 % of its time on locks, about 12 of them
//! managing the lock table, 14 acquiring and 6 releasing locks. Here the same load runs on the state machines, two
//! partitions and forty clients on one thread, and instructions are counted by function.
//!
//! Under locking clients coordinate, so the coordinator counts as a part of them. Queues, which belong to both, are
//! left out of a partition's instructions.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::Tpcc;
use glassbox_workloads::tpcc::{Mix, Scale};

use super::instructions::UNIT;
use crate::count::{CallMap, Child, Counting, Counts, PartMap, Regions, counting};
use crate::low_overhead::tpcc::{WAREHOUSES, remote};
use crate::measurement::Progress;
use crate::points::Points;
use crate::real::{CLIENTS, Threading, Trial, run_counted};
use crate::section::Table;
use glassbox_workloads::format;

/// In results, instructions on locks.
const FIGURE: &str = "time on locks";
/// In results, all instructions of the partitions.
const OF_PARTITIONS: &str = "of the partitions";

/// The share of orders on two partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockedShare(u8);

impl LockedShare {
    /// All that are counted.
    pub const ALL: [Self; 3] = [Self(0), Self(10), Self(50)];
}

impl fmt::Display for LockedShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("share-{}", self.0))
    }
}

impl FromStr for LockedShare {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|share| share.to_string() == text);
        known.ok_or_else(|| format!("unknown share; use one of {}", Self::ALL.map(|it| it.to_string()).join(", ")))
    }
}

const TABLE: &str = "glassbox-cluster/src/scheme/lock_table.rs";
/// It makes keys of locks.
const WATCH: &str = "glassbox/src/partitioned/transaction/watch.rs";
const SCHEME: &str = "glassbox-cluster/src/scheme/locking.rs";

/// What a partition does about locks, with the paper's percentages.
const KINDS: [(&str, f64); 3] = [("managing the lock table", 12.0), ("acquiring", 14.0), ("releasing", 6.0)];

/// The functions of each.
const CALLS: CallMap = CallMap {
    list: &[
        (
            KINDS[0].0,
            &[
                (TABLE, "watch"),
                (TABLE, "drop"),
                (TABLE, "back_off"),
                (TABLE, "deadlock"),
                (TABLE, "blockers"),
                (SCHEME, "number"),
                (SCHEME, "refused"),
                (SCHEME, "resolve_deadlock"),
            ],
        ),
        (
            KINDS[1].0,
            &[
                (TABLE, "point"),
                (TABLE, "range"),
                (TABLE, "refuse"),
                (TABLE, "before"),
                (TABLE, "add_other"),
                (WATCH, "key"),
                (WATCH, "index_keys"),
                (WATCH, "visit"),
                (WATCH, "watched"),
                (WATCH, "watched_range"),
            ],
        ),
        (KINDS[2].0, &[(TABLE, "release"), (SCHEME, "release")]),
    ],
    others: "everything else",
};

/// Clients, with the queues, and partitions: everything else of the workspace.
const SIDES: PartMap = PartMap {
    list: &[
        (
            "clients",
            &[
                "glassbox-cluster/src/client/",
                "glassbox-cluster/src/coordinator/",
                "glassbox-cluster/src/run/",
                "glassbox-cluster/src/protocol/outbox",
                "glassbox-sim/src/cluster/tpcc",
                "glassbox-workloads/src/tpcc/inputs",
                "glassbox-workloads/src/tpcc/mix",
                "glassbox-workloads/src/tpcc/random",
                "glassbox/src/partitioned/shard/route",
            ],
        ),
        (PARTITIONS, &["glassbox-cluster/src/", "glassbox-workloads/src/tpcc/", "glassbox/src/"]),
    ],
    others: "caller and others",
};
const PARTITIONS: &str = "partitions";

/// Runs the transactions that are counted; useful under callgrind only.
///
/// # Errors
/// When the cluster fails.
pub fn run_locked_child(child: &Child<LockedShare>) -> anyhow::Result<()> {
    let scale = Scale { warehouses: WAREHOUSES, ..child.scale };
    let load = Tpcc { scale, mix: Mix::NewOrderOnly, remote: remote(f64::from(child.system.0) / 100.0) };
    let (shape, seed, time) = (Shape::new(SchemeKind::Locking, 2), child.seed, Duration::ZERO);
    let (threads, auto, clients) = (Threading::One, false, CLIENTS);
    let trial = Trial { shape, threads, auto, load, clients, warm_up: time, time, seed };
    run_counted(&trial, (child.warm_up, child.transactions), &mut |work| counting(work))
}

/// Counts, and adds the results to `points`: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count_locks(
    counting: &Counting<LockedShare>,
    command: &(dyn Fn(&Child<LockedShare>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: 1, parts: &SIDES, calls: Some(&CALLS) };
    let all = counting.count(regions, command, watch)?;
    for (share, counted) in counting.systems.iter().zip(all) {
        for Counts { parts, calls, .. } in counted {
            let of_partitions = parts.iter().find(|(name, _)| *name == PARTITIONS).map_or(0.0, |(_, value)| *value);
            points.put(FIGURE, OF_PARTITIONS, share.0.into(), "instructions", of_partitions, UNIT);
            for (name, value) in calls.iter().filter(|(name, _)| *name != CALLS.others) {
                points.put(FIGURE, name, share.0.into(), "instructions", *value, UNIT);
            }
        }
    }
    Ok(())
}

/// The shares of a partition's instructions, if they were counted.
pub fn locks_table(points: &Points) -> Option<Table> {
    let share = |row: &str, at: LockedShare| {
        let of = |row| Some(points.at(FIGURE, row, at.0.into(), "instructions")?.value);
        Some(100.0 * of(row)? / of(OF_PARTITIONS)?)
    };
    let cell = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{} %", format::number(it)));
    let row = |(name, paper): (&str, f64)| {
        let here = LockedShare::ALL.map(|at| cell(share(name, at)));
        [vec![name.to_owned(), format!("{paper} %")], here.to_vec()].concat()
    };
    let sum = |at| KINDS.iter().map(|(name, _)| share(name, at)).sum::<Option<f64>>();
    let all = LockedShare::ALL.map(|at| cell(sum(at)));
    sum(LockedShare::ALL[0])?;
    let rows = KINDS.into_iter().map(row).chain([[vec!["all".to_owned(), "34 %".to_owned()], all.to_vec()].concat()]);
    let shares = LockedShare::ALL.map(|at| format!("here, {} % on two", at.0));
    let header = ["locks, of a partition's instructions (counted)", "paper, 10 % on two"].map(str::to_owned);
    Some(Table { header: [header.to_vec(), shares.to_vec()].concat(), rows: rows.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_exists() {
        assert_eq!(CALLS.stale_functions(), [("", ""); 0]);
        assert_eq!(SIDES.stale_files(), [""; 0]);
    }

    #[test]
    fn shares_are_of_the_partitions() {
        let mut points = Points::default();
        assert!(locks_table(&points).is_none());
        for (row, value) in [(OF_PARTITIONS, 200.0), (KINDS[0].0, 20.0), (KINDS[1].0, 30.0), (KINDS[2].0, 10.0)] {
            LockedShare::ALL.iter().for_each(|at| points.put(FIGURE, row, at.0.into(), "instructions", value, UNIT));
        }
        let table = locks_table(&points).unwrap();
        assert_eq!(table.rows[1][..3], ["acquiring", "14 %", "15.0 %"].map(str::to_owned));
        assert_eq!(table.rows[3][..3], ["all", "34 %", "30.0 %"].map(str::to_owned));
        assert_eq!(LockedShare::from_str("share-10"), Ok(LockedShare(10)));
    }
}
