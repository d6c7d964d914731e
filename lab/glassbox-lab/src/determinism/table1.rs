//! Table 1: features of determinism with their advantages and disadvantages, each with what shows it here.
//!
//! Paper: VLDB 2014, section 2.5. Claim: each feature that sets a deterministic system apart has an advantage and a
//! disadvantage. Cells of the paper that are about durability are shown by production's tests, not by
//! this simulation.

use super::figure2;
use super::jobs::{IDLE, VICTIMS, value};
use super::{figure1, figure5, figure7};
use crate::points::Points;
use crate::section::Table;
use glassbox_workloads::format;

use super::plan::HIGH;
use super::systems::{HASH, NO_2PC, TWIN, VLL};

/// The table, with numbers of the figures.
pub(super) fn table(points: &Points) -> Option<Table> {
    let number =
        |value: Option<f64>, digits: f64| value.map_or_else(|| "-".to_owned(), |it| format::short(it * digits));
    let rate = |row: &str| super::jobs::rate(points, figure1::SHORT, &figure1::row(row, HIGH), 50.0);
    let commit = rate(NO_2PC).zip(rate(TWIN)).map(|(without, with)| 1.0 - with / without);
    let gain = rate(VLL).zip(rate(TWIN)).map(|(deterministic, twin)| deterministic / twin);
    let median = |row: &str| value(points, figure7::FIGURE, row, 50.0, figure7::LATENCY);
    let slow = value(points, figure5::RUNS, HASH, 0.0, figure5::OTHERS_KEPT);
    let victims = value(points, figure1::SHORT, &figure1::row(TWIN, HIGH), 50.0, VICTIMS);
    let idle = value(points, figure2::FIGURE, "deterministic, low", 0.0, IDLE);
    // The table needs the last of the figures.
    slow?;
    let rows = [
        [
            "no nondeterministic aborts".to_owned(),
            format!("simplified commit: two-phase commit costs the twin {} % (Figure 1a)", number(commit, 100.0)),
            format!(
                "no refusal of ordered work: beside a slow node the others keep {} % (Figure 5b)",
                number(slow, 100.0)
            ),
        ],
        [
            "input transactions in sequence".to_owned(),
            "the sequence is the redo log (tests of the deterministic cluster)".to_owned(),
            format!(
                "latency of the sequencer: median of {} ms instead of {} (Figure 7)",
                number(median("deterministic, hash, single"), 1.0),
                number(median("nondeterministic, single"), 1.0)
            ),
        ],
        [
            "locks in the order of transactions".to_owned(),
            format!(
                "no deadlocks: {} times the twin, which has {} victims a second (Figures 1a, 2)",
                number(gain, 1.0),
                number(victims, 1.0)
            ),
            format!("less concurrency: {} % of the cores idle, the lock thread's (Figures 2, 8)", number(idle, 100.0)),
        ],
    ];
    let rows = rows.into_iter().map(Vec::from).collect();
    Some(Table::new(&["feature of determinism", "advantage", "disadvantage"], rows))
}
