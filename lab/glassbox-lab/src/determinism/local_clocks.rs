//! Orders by local clocks: late arrivals of the unsafe form, and what the safe one costs.
//!
//! Paper: VLDB 2014, section 2.3. Claim: a machine can order inputs by the times of local clocks, if it waits so long
//! that no earlier input is still under way. The paper gives no wait, and reports no late arrivals.
//!
//! Here: eight sequencers with epochs of 10 ms, the assumed network, stalls of 2 ms in one of 200 epochs.

use glassbox_sim::determinism::{ClockOrder, ClockRule};

use super::jobs::value;
use super::plan::EvaluationPlan;
use super::plot::Plot;
use crate::claim::{Claim, own_check};
use crate::points::Points;
use crate::section::Figure;

pub(super) const FIGURE: &str = "Local clocks";
/// Late epochs, in percent.
const LATE: &str = "late";
/// The mean time from the end of an epoch to its execution.
const WAITED_MS: &str = "waited";
const SAFE: &str = "safe";
const SKEWS_MS: [u64; 3] = [0, 1, 5];
const WAITS_US: [u64; 8] = [0, 250, 500, 1_000, 2_000, 3_000, 6_000, 10_000];

fn row(skew_ms: u64) -> String {
    format!("clocks {skew_ms} ms apart")
}

/// Adds the points of all skews.
pub(super) fn put(plan: &EvaluationPlan, points: &mut Points) {
    for skew_ms in SKEWS_MS {
        let order = ClockOrder::of_the_paper(skew_ms * 1_000_000, plan.seed);
        for wait_us in WAITS_US {
            let (report, x) = (order.run(ClockRule::Unsafe(wait_us * 1_000)), wait_us as f64 / 1e3);
            points.put(FIGURE, &row(skew_ms), x, LATE, 100.0 * report.late as f64 / report.epochs as f64, "%");
            points.put(FIGURE, &row(skew_ms), x, WAITED_MS, report.mean_ns / 1e6, "ms");
        }
        let report = order.run(ClockRule::Safe);
        points.put(FIGURE, SAFE, skew_ms as f64, WAITED_MS, report.mean_ns / 1e6, "ms");
    }
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "late arrivals of the unsafe form",
    caption: "Eight sequencers order inputs by their clocks; a partition executes an epoch after a wait.",
    metric: LATE,
    unit: "% of epochs that arrive too late",
    x_unit: "wait, ms",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let late = |skew_ms: u64, wait_ms: f64| value(points, FIGURE, &row(skew_ms), wait_ms, LATE);
    let safe = |skew_ms: u64| value(points, FIGURE, SAFE, skew_ms as f64, WAITED_MS);
    // The shortest wait of these without a late arrival.
    let enough = |skew_ms: u64| {
        let waits = WAITS_US.map(|wait_us| wait_us as f64 / 1e3);
        let wait = waits.into_iter().find(|wait| late(skew_ms, *wait) == Some(0.0))?;
        value(points, FIGURE, &row(skew_ms), wait, WAITED_MS)
    };
    let unsafe_over_safe = |skew_ms: u64| Some(enough(skew_ms)? / safe(skew_ms)?);
    let is_late = |name, late, bounds| own_check((FIGURE, name), late, bounds, "%");
    vec![
        is_late("late arrivals, clocks 1 ms apart, no wait", late(1, 0.0), (1.0, 100.0)),
        is_late("late arrivals, clocks 1 ms apart, wait of 1 ms", late(1, 1.0), (0.01, 20.0)),
        is_late("late arrivals, clocks 5 ms apart, wait of 10 ms", late(5, 10.0), (0.0, 0.0)),
        own_check(
            (FIGURE, "time of a wait that is long enough over the safe form's, clocks 1 ms apart"),
            unsafe_over_safe(1),
            (1.0, 50.0),
            "times",
        ),
    ]
}
