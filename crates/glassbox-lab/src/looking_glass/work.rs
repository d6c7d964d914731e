//! The work: New-Orders, Payments, and both mixed; the same inputs for every system.

use glassbox_workloads::tpcc::{Input, Inputs, Kind, Scale};

use crate::limits::measure::settings;

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// New-Orders of ten items.
    NewOrder,
    /// Payments by number.
    Payment,
    /// Half of each, shuffled.
    Mix,
}

impl Workload {
    /// All, in the order in which they are run.
    pub const ALL: [Self; 3] = [Self::NewOrder, Self::Payment, Self::Mix];

    /// In tables and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::Mix => "mix",
        }
    }

    const fn includes(self, kind: Kind) -> bool {
        match self {
            Self::NewOrder => matches!(kind, Kind::NewOrder),
            Self::Payment => matches!(kind, Kind::Payment),
            Self::Mix => true,
        }
    }
}

/// The inputs of one client.
pub(super) struct Work(Inputs);

impl Work {
    /// From a seed.
    pub fn new(scale: &Scale, seed: u64) -> Self {
        Self(Inputs::new(&settings(scale, seed), 0))
    }

    /// The next so many of a workload.
    pub fn draw(&mut self, workload: Workload, count: usize) -> Vec<Input> {
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            drawn.extend(Some(self.0.next()).filter(|input| workload.includes(input.kind())));
        }
        drawn
    }
}
