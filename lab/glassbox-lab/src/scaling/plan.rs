//! The runs of a measurement, and their order.

use std::path::PathBuf;

use super::systems::{ScaledForm, ScaledSystem};

/// A measurement of throughput.
#[derive(Debug, Clone)]
pub struct ScalingPlan {
    /// The systems.
    pub systems: Vec<ScaledSystem>,
    /// The numbers of cores, ascending.
    pub cores: Vec<usize>,
    /// Warehouses for each core.
    pub warehouses: u16,
    /// Whether the warehouses have a hundredth of their size.
    pub small: bool,
    /// Transactions in flight of each client.
    pub in_flight: usize,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Rounds.
    pub rounds: usize,
    /// Parent directory of temporary databases.
    pub dir: PathBuf,
    /// Seed of the transactions' inputs; each round has one of its own.
    pub seed: u64,
}

/// One run of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaledRun {
    pub system: ScaledSystem,
    pub cores: usize,
    pub form: ScaledForm,
}

impl ScalingPlan {
    /// The runs of a round. On one core all forms are the same.
    pub(super) fn runs(&self) -> Vec<ScaledRun> {
        let mut runs = Vec::new();
        for &system in &self.systems {
            for &cores in &self.cores {
                let forms = if cores == 1 { &ScaledForm::ALL[..1] } else { &ScaledForm::ALL };
                runs.extend(forms.iter().map(|&form| ScaledRun { system, cores, form }));
            }
        }
        runs
    }

    /// Approximate memory of the largest run, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let most = self.cores.last().copied().unwrap_or(1) as u64;
        let (of_warehouse, of_database) = if self.small { (4 << 20, 300 << 20) } else { (160 << 20, 700 << 20) };
        most * (u64::from(self.warehouses) * of_warehouse + of_database)
    }
}

/// The numbers of cores to measure on a machine with so many: powers of two, and all.
pub fn numbers_of_cores(all: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |cores| Some(cores * 2));
    powers.take_while(|&cores| cores < all).chain([all]).collect()
}
