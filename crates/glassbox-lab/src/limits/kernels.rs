//! The kernels with their types forgotten, so that one list holds them.

use std::hint::black_box;

use glassbox_workloads::tpcc::Scale;

use super::kernel::{BTrees, Checksum, HashTables, Inconsistency, Indexes, Input, Kernel, Pages, Sizing};

/// A loaded kernel.
pub(crate) trait AnyKernel {
    /// Runs all inputs.
    fn run(&mut self, inputs: &[Input]);
    fn checksum(&self) -> Checksum;
    fn check(&self) -> Result<(), Inconsistency>;
}

impl<I: Indexes, const PREFETCH: bool> AnyKernel for Kernel<I, PREFETCH> {
    fn run(&mut self, inputs: &[Input]) {
        black_box(Kernel::run(self, inputs));
    }

    fn checksum(&self) -> Checksum {
        Kernel::checksum(self)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        Kernel::check(self)
    }
}

/// A kernel with the population and room for so many transactions.
pub(crate) fn load(
    hash: bool,
    prefetch: bool,
    scale: &Scale,
    seed: u64,
    most: usize,
) -> std::io::Result<Box<dyn AnyKernel>> {
    match (hash, prefetch) {
        (false, false) => filled::<BTrees, false>(scale, seed, most),
        (false, true) => filled::<BTrees, true>(scale, seed, most),
        (true, false) => filled::<HashTables, false>(scale, seed, most),
        (true, true) => filled::<HashTables, true>(scale, seed, most),
    }
}

fn filled<I: Indexes + 'static, const PREFETCH: bool>(
    scale: &Scale,
    seed: u64,
    most: usize,
) -> std::io::Result<Box<dyn AnyKernel>> {
    let mut kernel = Kernel::<I, PREFETCH>::new(Sizing::of(scale, most), Pages::Huge)?;
    kernel.load_shared(scale, seed);
    kernel.touch(most);
    Ok(Box::new(kernel))
}
