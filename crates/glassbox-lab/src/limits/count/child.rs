//! The program that is counted: one system, loaded, warmed up, and run once.

use glassbox_workloads::tpcc::Inputs;

use crate::count::{Child, counting};
use crate::limits::engine::Engine;
use crate::limits::kernels;
use crate::limits::measure::{LOAD_SEED, for_kernel, settings};
use crate::limits::systems::System;

/// Address space is short under valgrind: 32 GiB is little for what is reserved otherwise, and this is enough.
const TABLE_BYTES: usize = 1 << 30;

/// Runs what is to be counted; under callgrind, or it does nothing useful.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<System>) -> anyhow::Result<()> {
    let mut inputs = Inputs::new(&settings(&child.scale, child.seed), 0);
    let mut draw = |count: usize| (0..count).map(|_| inputs.next()).collect::<Vec<_>>();
    let (before, counted) = (draw(child.warm_up), draw(child.transactions));
    if let System::Kernel { hash, prefetch } = child.system {
        let most = child.warm_up + child.transactions;
        let mut kernel = kernels::load(hash, prefetch, &child.scale, LOAD_SEED, most)?;
        kernel.run(&for_kernel(&before));
        let counted = for_kernel(&counted);
        counting(&mut || kernel.run(&counted));
    } else {
        let engine = Engine::load(child.system, &child.scale, LOAD_SEED, &child.dir, TABLE_BYTES, None)?;
        let mut client = engine.client();
        client.run(&before)?;
        let mut result = Ok(());
        counting(&mut || result = client.run(&counted));
        result?;
        client.finish()?;
    }
    Ok(())
}
