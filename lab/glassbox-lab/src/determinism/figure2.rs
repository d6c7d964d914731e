//! Figure 2: what the cores' time is spent on.
//!
//! Paper: VLDB 2014, section 3.3.1, for the long transactions of Figure 1b, 20 % of them distributed. Claims: detection
//! of deadlocks takes little time; with distributed deadlocks the time without work increases sharply, and useful work
//! plummets.
//!
//! The bars without distributed deadlocks are made by an oracle: hot rows of all participants are requested at the same
//! time, in the same order everywhere.

use glassbox_sim::determinism::WorkloadShape;

use super::inputs::{DELAY, EDGE, RESUBMISSION};
use super::jobs::{EvaluationJob, IDLE, PARTS, value};
use super::plan::{EvaluationPlan, HIGH, LOW, share};
use super::systems::{NO_DEADLOCKS, TWIN, VLL, named};
use crate::claim::{Claim, claim};
use crate::figures::{Bar, Colour, Stacked, stacked};
use crate::points::Points;
use crate::section::{Figure, Table};
use glassbox_workloads::format;

pub(super) const FIGURE: &str = "Figure 2";
const SHARE: u32 = 20;
/// The bars: a name, a system, the hot rows.
const BARS: [(&str, &str, u64); 5] = [
    ("deterministic, low", VLL, LOW),
    ("deterministic, high", VLL, HIGH),
    ("nondeterministic, low", NO_DEADLOCKS, LOW),
    ("nondeterministic, high, without", NO_DEADLOCKS, HIGH),
    ("nondeterministic, high, with", TWIN, HIGH),
];
const COLOURS: [Colour; 5] = [
    Colour(0x2f, 0x8f, 0x4e),
    Colour(0x4e, 0x79, 0xa7),
    Colour(0xe1, 0x57, 0x59),
    Colour(0xb0, 0x7a, 0xa1),
    Colour(0xd0, 0xd0, 0xd0),
];

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let job = |(row, system, hot): (&str, &str, u64)| {
        let shape = WorkloadShape::long(hot).with_distributed(share(SHARE), 2);
        EvaluationJob::new(FIGURE, row, 0.0, plan.settings(named(system), shape))
    };
    BARS.into_iter().map(job).collect()
}

fn names() -> impl Iterator<Item = &'static str> {
    PARTS.into_iter().chain([IDLE])
}

fn shares(points: &Points, row: &str) -> Option<Vec<f64>> {
    names().map(|part| value(points, FIGURE, row, 0.0, part).map(|share| 100.0 * share)).collect()
}

/// The table of shares.
pub(super) fn table(points: &Points) -> Option<Table> {
    let line = |(row, ..): (&str, &str, u64)| {
        let cells = shares(points, row)?.into_iter().map(|share| format!("{} %", format::one_digit(share)));
        Some(std::iter::once(row.to_owned()).chain(cells).collect())
    };
    let rows: Option<Vec<Vec<String>>> = BARS.into_iter().map(line).collect();
    let header = std::iter::once("Figure 2, simulated".to_owned()).chain(names().map(str::to_owned));
    Some(Table { header: header.collect(), rows: rows? })
}

pub(super) fn figure(points: &Points) -> Option<Figure> {
    let bar = |(row, ..): (&str, &str, u64)| {
        let (label, values) = (row.replace(", ", "\n"), shares(points, row)?);
        Some(Bar { label, values, note: String::new() })
    };
    let bars: Option<Vec<Bar>> = BARS.into_iter().map(bar).collect();
    let svg = stacked(&Stacked {
        unit: "% of the cores' time (simulated)".to_owned(),
        parts: names().map(str::to_owned).zip(COLOURS).collect(),
        bars: bars?,
        shares: true,
    });
    let caption = "Long transactions, 20 % on two nodes; contention index 0.0001 and 0.01; with and without \
                   distributed deadlocks. The deterministic system's idle time is mostly that of its lock thread.";
    let title = "Figure 2. The cores' time (simulated)".to_owned();
    Some(Figure { title, svg, caption: caption.to_owned(), table: table(points) })
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let of = |bar: usize, part| value(points, FIGURE, BARS[bar].0, 0.0, part).map(|share| 100.0 * share);
    let (detection, idle) = (of(3, PARTS[2]), || Some(of(4, IDLE)? - of(3, IDLE)?));
    let useful = || Some(of(4, PARTS[0])? / of(3, PARTS[0])?);
    vec![
        claim(
            (FIGURE, "deadlock detection, high contention, without deadlocks"),
            "very small",
            detection,
            (0.0, 5.0),
            "%",
        )
        .map(|it| it.at("§3.3.1").resting_on(&[EDGE]).not_reproduced((5.0, 8.0), EDGES)),
        claim(
            (FIGURE, "idle time with distributed deadlocks, more than without"),
            "sharply more",
            idle(),
            (10.0, 60.0),
            "points",
        )
        .map(|it| it.at("§3.3.1").resting_on(&[DELAY, RESUBMISSION]).not_reproduced((0.0, 10.0), RARE)),
        claim(
            (FIGURE, "useful work with distributed deadlocks, of that without"),
            "plummets",
            useful(),
            (0.2, 0.9),
            "times",
        )
        .map(|it| it.at("§3.3.1").resting_on(&[DELAY, RESUBMISSION]).not_reproduced((0.9, 1.0), RARE)),
    ]
}

const EDGES: &str =
    "Every wait sends machine 0 an edge and a removal; with the assumed 15 µs for each, this is the time.";
const RARE: &str = "Deadlocks over two nodes are rare in the model (victims per second stand in the results): each of \
                    two transactions needs the same two of the hot rows. The queues of hot rows are the loss here.";
