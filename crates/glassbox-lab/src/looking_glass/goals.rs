//! How near the stacks should come to the kernel: the steps that were set, and whether they are met.

use super::ladder::{BARE, FULL, GROUPED, KERNEL, Measure, THROUGHPUT};
use super::work::Workload;
use crate::points::Points;

/// A goal, what was measured, and whether that is enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Of what.
    pub what: String,
    /// Times the kernel's.
    pub measured: f64,
    /// The same of the paper's Shore.
    pub paper: f64,
    /// At most (instructions) or at least (throughput).
    pub goal: f64,
    /// Whether it is reached.
    pub met: bool,
}

/// All goals on the mix that something was measured for.
pub fn goals(points: &Points) -> Vec<Goal> {
    let mix = Workload::Mix.name();
    let instructions = |stack: &str, most: f64, paper: f64| {
        let measured = Measure::Instructions.of(points, stack, mix)? / Measure::Instructions.of(points, KERNEL, mix)?;
        Some(Goal { what: format!("instructions of {stack}"), measured, paper, goal: most, met: measured <= most })
    };
    let throughput = |stack: &str, least: f64, paper: f64| {
        let measured = points.value(THROUGHPUT, stack, mix)? / points.value(THROUGHPUT, KERNEL, mix)?;
        Some(Goal { what: format!("throughput of {stack}"), measured, paper, goal: least, met: measured >= least })
    };
    [
        instructions(FULL, 8.0, 60.0),
        instructions(BARE, 1.3, 5.0),
        throughput(FULL, 0.20, 0.04),
        throughput(GROUPED, 0.15, 0.014),
        throughput(BARE, 0.75, 0.27),
    ]
    .into_iter()
    .flatten()
    .collect()
}
