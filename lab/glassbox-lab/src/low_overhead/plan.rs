//! The extent of the simulation.

use glassbox_workloads::tpcc::Scale;

use crate::calibrate::CostTables;

/// The extent of the simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationPlan {
    /// Virtual time of the warm-up.
    pub warm_up_ms: u64,
    /// Virtual time of the measurement.
    pub measured_ms: u64,
    /// Runs of each point, each with its own seed.
    pub runs: u64,
    /// Shares of transactions on two partitions, in percent.
    pub shares: Vec<u64>,
    /// The extent of TPC-C.
    pub tpcc: TpccPlan,
    /// Whether the whole grid of loads is simulated for the advisor, or a part of it.
    pub whole_grid: bool,
    /// The virtual time of each part of a shifting load.
    pub part_ms: u64,
    /// Seed of the first run.
    pub seed: u64,
    /// The costs of work, if they are not the paper's.
    pub costs: Option<CostTables>,
    /// The only figure, if not all are simulated: one of [`figures`](super::figures).
    pub figure: Option<String>,
}

impl SimulationPlan {
    /// The full simulation, or a quick one.
    pub fn new(quick: bool, seed: u64) -> Self {
        let tpcc = TpccPlan::new(quick);
        if quick {
            let shares = vec![0, 2, 4, 6, 10, 20, 30, 40, 50, 70, 100];
            let (whole_grid, part_ms, costs, figure) = (false, 2_000, None, None);
            Self { warm_up_ms: 50, measured_ms: 150, runs: 1, shares, tpcc, whole_grid, part_ms, seed, costs, figure }
        } else {
            let shares = vec![0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 70, 80, 90, 100];
            let (whole_grid, part_ms, costs, figure) = (true, 4_000, None, None);
            Self { warm_up_ms: 150, measured_ms: 500, runs: 3, shares, tpcc, whole_grid, part_ms, seed, costs, figure }
        }
    }

    /// The simulation with the paper's windows, 60 s after a warm-up of 15 s, and a part of the advisor's grid.
    pub fn long(seed: u64) -> Self {
        Self { warm_up_ms: 15_000, measured_ms: 60_000, whole_grid: false, ..Self::new(false, seed) }
    }
}

/// The extent of TPC-C.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TpccPlan {
    /// Figure 8: numbers of warehouses.
    pub warehouses: Vec<u16>,
    /// Figure 9: shares of orders on two partitions, in percent.
    pub shares: Vec<u64>,
    /// Items, customers and orders.
    pub scale: Scale,
}

impl TpccPlan {
    /// The paper's points, with a tenth of the specification's rows; or some of them, with a hundredth.
    pub fn new(quick: bool) -> Self {
        if quick {
            let (warehouses, shares) = (vec![2, 4, 20], vec![0, 10, 50, 100]);
            return Self { warehouses, shares, scale: Scale::small(1) };
        }
        let scale = Scale { warehouses: 1, items: 10_000, customers: 300, orders: 300 };
        let shares = vec![0, 2, 4, 6, 8, 10, 16, 20, 30, 40, 50, 60, 80, 100];
        Self { warehouses: (1..=10).map(|it| 2 * it).collect(), shares, scale }
    }
}
