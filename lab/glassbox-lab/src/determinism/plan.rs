//! The extent of the simulation.

use glassbox_sim::determinism::{EvaluationSettings, SystemKind, WorkloadShape};

use super::inputs::ChangedInput;

/// Hot rows of a partition at the paper's contention indexes.
pub(super) const LOW: u64 = 10_000;
pub(super) const HIGH: u64 = 100;

/// The end of a figure's name under which its runs are kept.
pub(super) const RUNS: &str = ", runs";

/// A contention index as rows call it.
pub(super) fn contention(hot: u64) -> String {
    format!("CI {}", 1.0 / hot as f64)
}

/// The extent of the simulation.
#[derive(Clone)]
pub struct EvaluationPlan {
    /// Virtual time of the warm-up.
    pub warm_up_ms: u64,
    /// Virtual time of the measurement.
    pub measured_ms: u64,
    /// Shares of distributed transactions, in percent.
    pub shares: Vec<u32>,
    /// The same in Figures 3 and 4.
    pub few_shares: Vec<u32>,
    /// The same with a slow node.
    pub slow_shares: Vec<u32>,
    /// Figure 5a: threads on the slow node.
    pub threads: Vec<u32>,
    /// Virtual time until a slow node has slowed down the others.
    pub slow_warm_up_ms: u64,
    /// Figure 5b: the length of the time line.
    pub timeline_ms: u64,
    /// Figure 6: shares of dependent transactions, in percent.
    pub dependent: Vec<u32>,
    /// Figure 8: numbers of nodes.
    pub nodes: Vec<usize>,
    /// Seed of all runs.
    pub seed: u64,
    /// An input that is changed, to see what follows from it.
    pub changed: Option<ChangedInput>,
    /// The only figure, if not all are simulated: one of [`figures`](super::figures).
    pub figure: Option<String>,
}

impl EvaluationPlan {
    /// The full simulation, or a quick one.
    pub fn new(quick: bool, seed: u64) -> Self {
        if quick {
            Self {
                warm_up_ms: 80,
                measured_ms: 100,
                shares: vec![0, 5, 20, 50, 100],
                few_shares: vec![0, 20, 50],
                slow_shares: vec![0, 5, 20],
                threads: vec![0, 4],
                slow_warm_up_ms: 6_000,
                timeline_ms: 6_000,
                dependent: vec![0, 50, 100],
                nodes: vec![1, 8, 24],
                seed,
                changed: None,
                figure: None,
            }
        } else {
            Self {
                warm_up_ms: 200,
                measured_ms: 400,
                shares: vec![0, 5, 10, 20, 30, 40, 50, 75, 100],
                few_shares: vec![0, 10, 20, 30, 40, 50, 75, 100],
                slow_shares: vec![0, 5, 10, 20, 30, 50],
                threads: vec![0, 1, 2, 4, 7],
                slow_warm_up_ms: 8_000,
                timeline_ms: 10_000,
                dependent: vec![0, 20, 40, 60, 80, 100],
                nodes: vec![1, 2, 4, 8, 16, 32, 48],
                seed,
                changed: None,
                figure: None,
            }
        }
    }

    /// Whether a figure is simulated; its runs, where they are kept apart, go with it.
    pub(super) fn has(&self, figure: &str) -> bool {
        self.figure
            .as_ref()
            .is_none_or(|only| figure.strip_prefix(&**only).is_some_and(|it| it.is_empty() || it == RUNS))
    }

    /// A run of this plan.
    pub(super) fn settings(&self, system: SystemKind, workload: WorkloadShape) -> EvaluationSettings {
        let (warm_up_ms, measured_ms) = (self.warm_up_ms, self.measured_ms);
        let mut settings =
            EvaluationSettings { warm_up_ms, measured_ms, ..EvaluationSettings::new(system, workload, self.seed) };
        if let Some(changed) = self.changed {
            changed.early(&mut settings);
        }
        settings
    }
}

/// A share from percent.
pub(super) fn share(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}
