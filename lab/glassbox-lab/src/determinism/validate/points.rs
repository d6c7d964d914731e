//! The points at which the model is compared with production, and the bounds of its error.

use glassbox_sim::determinism::{EvaluationSettings, OfferedLoad, ServiceTimes, SlowNode, TxnClass, WorkloadShape};

use crate::determinism::plan::{HIGH, LOW};
use crate::determinism::systems::{HASH, TWIN, VLL, named};

/// The systems that production has too.
pub(super) const SYSTEMS: [&str; 3] = [HASH, VLL, TWIN];
/// Nodes of either.
pub(super) const NODES: usize = 8;
/// By how much the slow node is slower.
pub(super) const SLOWER: u64 = 2;

/// The extent of the validation.
#[derive(Debug, Clone)]
pub struct ValidationPlan {
    /// Virtual time of the warm-up.
    pub warm_up_ms: u64,
    /// The same with a slow node, until it has slowed down the others.
    pub slow_warm_up_ms: u64,
    /// Virtual time of the measurement.
    pub measured_ms: u64,
    /// Rows of each partition, in either.
    pub rows: u64,
    /// The seed of all runs.
    pub seed: u64,
    /// The costs that production is charged with.
    pub charged: ServiceTimes,
    /// The same of the model: equal, unless a test wants it to be found out.
    pub modelled: ServiceTimes,
}

impl ValidationPlan {
    /// The full validation, or a quick one.
    pub fn new(quick: bool, seed: u64) -> Self {
        let times = ServiceTimes::default;
        let (warm_up_ms, slow_warm_up_ms, measured_ms, rows) =
            if quick { (60, 400, 100, 50_000) } else { (200, 2_000, 400, 200_000) };
        Self { warm_up_ms, slow_warm_up_ms, measured_ms, rows, seed, charged: times(), modelled: times() }
    }
}

/// The compared quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    /// Transactions per second of all nodes.
    Throughput,
    /// The median, in milliseconds.
    Latency,
}

/// A point of a figure.
pub(super) struct ValidationPoint {
    /// The place on the figure's axis.
    pub x: f64,
    pub name: &'static str,
    pub compared: Compared,
    /// Clients of each node: of the deterministic systems, and of the twin.
    clients: (usize, usize),
    /// The mean time from an answer to a client's next call.
    pub pause_ns: u64,
    hot: u64,
    is_long: bool,
    /// The share of transactions on two nodes, in percent.
    distributed: u32,
    pub has_slow_node: bool,
}

/// Points with the same bounds.
pub(super) struct PointGroup {
    pub figure: &'static str,
    pub points: &'static [ValidationPoint],
    /// The bounds of the model's error, in percent.
    pub bounds: (f64, f64),
}

/// Where processors are the limit, and nothing else.
const NARROW: (f64, f64) = (-3.0, 3.0);
/// The bounds for simulators.
const WIDE: (f64, f64) = (-15.0, 15.0);
/// Clients that keep a node busy: with epochs of 10 ms, and without.
const BUSY_SHORT: (usize, usize) = (500, 40);
const BUSY_LONG: (usize, usize) = (200, 40);

const SHORT: ValidationPoint = ValidationPoint {
    x: 0.0,
    name: "none distributed",
    compared: Compared::Throughput,
    clients: BUSY_SHORT,
    pause_ns: 0,
    hot: HIGH,
    is_long: false,
    distributed: 0,
    has_slow_node: false,
};
const LONG: ValidationPoint = ValidationPoint { clients: BUSY_LONG, hot: LOW, is_long: true, ..SHORT };
const SLOW: ValidationPoint = ValidationPoint { has_slow_node: true, ..LONG };
/// About half of what a node executes.
const LATENCY: ValidationPoint =
    ValidationPoint { compared: Compared::Latency, clients: (60, 40), pause_ns: 20_000_000, ..LONG };

pub(super) static GROUPS: [PointGroup; 6] = [
    PointGroup { figure: "Figure 1a, none distributed", points: &[SHORT], bounds: NARROW },
    PointGroup {
        figure: "Figure 1a",
        points: &[
            ValidationPoint { x: 20.0, name: "20 % distributed", distributed: 20, ..SHORT },
            ValidationPoint { x: 50.0, name: "50 % distributed", distributed: 50, ..SHORT },
        ],
        bounds: WIDE,
    },
    PointGroup {
        figure: "Figure 1c",
        points: &[
            ValidationPoint { x: 0.0, name: "contention index 0.0001", hot: LOW, distributed: 20, ..SHORT },
            ValidationPoint { x: 3.0, name: "contention index 0.1", hot: 10, distributed: 20, ..SHORT },
        ],
        bounds: WIDE,
    },
    PointGroup { figure: "Figure 5a, none distributed", points: &[SLOW], bounds: NARROW },
    PointGroup {
        figure: "Figure 5a",
        points: &[ValidationPoint { x: 20.0, name: "20 % distributed", distributed: 20, ..SLOW }],
        bounds: WIDE,
    },
    PointGroup {
        figure: "Figure 7",
        points: &[
            ValidationPoint { x: 0.0, name: "median, single", ..LATENCY },
            ValidationPoint { x: 100.0, name: "median, distributed", clients: (30, 20), distributed: 100, ..LATENCY },
        ],
        bounds: WIDE,
    },
];

impl ValidationPoint {
    pub fn unit(&self) -> &'static str {
        match self.compared {
            Compared::Throughput => "1/s",
            Compared::Latency => "ms",
        }
    }

    /// Clients of each node.
    pub fn clients_of(&self, system: &str) -> usize {
        if system == TWIN { self.clients.1 } else { self.clients.0 }
    }

    pub fn shape(&self, plan: &ValidationPlan) -> WorkloadShape {
        let shape = if self.is_long { WorkloadShape::long(self.hot) } else { WorkloadShape::short(self.hot) };
        WorkloadShape { rows: plan.rows, ..shape }.with_distributed(f64::from(self.distributed) / 100.0, 2)
    }

    pub fn warm_up_ms(&self, plan: &ValidationPlan) -> u64 {
        if self.has_slow_node { plan.slow_warm_up_ms } else { plan.warm_up_ms }
    }

    /// The number that the model says.
    pub fn in_the_model(&self, plan: &ValidationPlan, system: &str) -> f64 {
        let settings = EvaluationSettings::in_production(named(system), self.shape(plan), plan.seed);
        let settings = EvaluationSettings {
            nodes: NODES,
            offered: OfferedLoad::Clients { count: self.clients_of(system), pause_ns: self.pause_ns },
            times: ServiceTimes { resubmission_ns: settings.times.resubmission_ns, ..plan.modelled.clone() },
            slow: self.has_slow_node.then_some(SlowNode { from_ms: 0, speed: 1.0 / SLOWER as f64 }),
            warm_up_ms: self.warm_up_ms(plan),
            measured_ms: plan.measured_ms,
            ..settings
        };
        let report = glassbox_sim::determinism::evaluate(&settings);
        match self.compared {
            Compared::Throughput => report.per_second(),
            Compared::Latency => {
                let class = if self.distributed > 0 { TxnClass::Distributed } else { TxnClass::Local };
                report.latencies(class).at(0.5).unwrap_or_default() as f64 / 1e6
            }
        }
    }
}
