//! The *Looking Glass* mix: the same inputs for every system, engine or kernel.

use glassbox_kernels::KernelInput;
use glassbox_workloads::tpcc::population::POPULATED_AT;
use glassbox_workloads::tpcc::{self, Inputs, Kind, Scale, Settings};

/// Inputs for either kind of system.
pub(crate) struct InputBatch {
    /// For an engine.
    pub engine: Vec<tpcc::Input>,
    /// The same for a kernel, whose arguments include the time.
    pub kernel: Vec<KernelInput>,
}

impl InputBatch {
    /// Converts an engine's inputs for a kernel.
    pub fn new(engine: Vec<tpcc::Input>) -> Self {
        let kernel = engine.iter().map(|input| KernelInput::from_shared(input, POPULATED_AT));
        Self { kernel: kernel.collect::<Option<_>>().expect("a kernel runs every transaction of the mix"), engine }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.engine.len()
    }
}

/// A workload of the experiment.
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
    /// All, in the order of a run.
    pub const ALL: [Self; 3] = [Self::NewOrder, Self::Payment, Self::Mix];

    /// Its name in tables and results.
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
pub(crate) struct WorkloadInputs(Inputs);

impl WorkloadInputs {
    /// From a seed.
    pub fn new(scale: &Scale, seed: u64) -> Self {
        Self(Inputs::new(&Settings::looking_glass(scale, seed), 0))
    }

    /// The next `count` inputs of a workload.
    pub fn draw(&mut self, workload: Workload, count: usize) -> Vec<tpcc::Input> {
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            drawn.extend(Some(self.0.next()).filter(|input| workload.includes(input.kind())));
        }
        drawn
    }
}
