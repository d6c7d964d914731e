//! Figure 3: two, three and four participants.
//!
//! Paper: VLDB 2014, section 3.3.2, long transactions. Claims: without distributed transactions participants do not
//! matter; at 50 % the step from two to four halves the throughput of both systems; the slopes of both are the same.

use glassbox_sim::determinism::WorkloadShape;

use super::inputs::{DELAY, NONE_DISTRIBUTED, RECORD};
use super::jobs::{EvaluationJob, THROUGHPUT, rate};
use super::plan::{EvaluationPlan, HIGH, LOW, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, named};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

const LOW_CONTENTION: &str = "Figure 3a";
const HIGH_CONTENTION: &str = "Figure 3b";
const FIGURES: [(&str, u64); 2] = [(LOW_CONTENTION, LOW), (HIGH_CONTENTION, HIGH)];
const PARTICIPANTS: [usize; 3] = [2, 3, 4];

fn row(system: &str, participants: usize) -> String {
    format!("{system}, {participants} participants")
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for (figure, hot) in FIGURES {
        for (system, participants) in [HASH, TWIN].into_iter().flat_map(|system| PARTICIPANTS.map(|of| (system, of))) {
            for percent in &plan.few_shares {
                let shape = WorkloadShape::long(hot).with_distributed(share(*percent), participants);
                let settings = plan.settings(named(system), shape);
                jobs.push(EvaluationJob::new(figure, row(system, participants), f64::from(*percent), settings));
            }
        }
    }
    jobs
}

pub(super) fn plots() -> [Plot; 2] {
    let plot = |figure, title| Plot {
        figure,
        title,
        caption: "Long transactions on two to four of eight nodes.",
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit: "% of transactions on several nodes",
        x_names: &[],
    };
    [
        plot(LOW_CONTENTION, "Participants, contention index 0.0001"),
        plot(HIGH_CONTENTION, "Participants, contention index 0.01"),
    ]
}

pub(super) fn figures(points: &Points) -> Vec<Figure> {
    plots().iter().filter_map(|plot| plot.draw(points)).collect()
}

/// Throughput with four participants, of that with two.
fn step(points: &Points, figure: &str, system: &str, percent: f64) -> Option<f64> {
    Some(rate(points, figure, &row(system, 4), percent)? / rate(points, figure, &row(system, 2), percent)?)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let slopes = || Some(step(points, LOW_CONTENTION, HASH, 50.0)? / step(points, LOW_CONTENTION, TWIN, 50.0)?);
    let of = |figure, system, percent| step(points, figure, system, percent);
    let half = (0.4, 0.65);
    let at_half = |name, of| {
        claim(name, "a factor of about two", of, half, "times").map(|it| it.at("§3.3.2").resting_on(&[RECORD, DELAY]))
    };
    vec![
        claim(
            (LOW_CONTENTION, "4 over 2 participants at 0 %"),
            "unaffected",
            of(LOW_CONTENTION, HASH, 0.0),
            (0.98, 1.02),
            "times",
        )
        .map(|it| it.at("§3.3.2").by_construction(&[NONE_DISTRIBUTED])),
        at_half((LOW_CONTENTION, "4 over 2 participants at 50 %, deterministic"), of(LOW_CONTENTION, HASH, 50.0)),
        at_half((LOW_CONTENTION, "4 over 2 participants at 50 %, twin"), of(LOW_CONTENTION, TWIN, 50.0)),
        at_half((HIGH_CONTENTION, "4 over 2 participants at 50 %, deterministic"), of(HIGH_CONTENTION, HASH, 50.0)),
        at_half((HIGH_CONTENTION, "4 over 2 participants at 50 %, twin"), of(HIGH_CONTENTION, TWIN, 50.0))
            .map(|it| it.not_reproduced((0.28, 0.4), TWIN_FALLS)),
        claim(
            (LOW_CONTENTION, "slope of the deterministic system over the twin's"),
            "the same",
            slopes(),
            (0.75, 1.25),
            "times",
        )
        .map(|it| it.at("§3.3.2").resting_on(&[RECORD])),
    ]
}

const TWIN_FALLS: &str = "A transaction on four nodes holds four hot rows until the last of its participants has all \
                          locks; the model's twin loses more by that than the paper's.";
