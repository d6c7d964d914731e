//! Instructions: each system runs under callgrind, once for each workload.

use anyhow::ensure;

use super::components::{CALLS, COMPONENTS};
use super::ladder::INSTRUCTIONS;
use super::subject::LoadedStack;
use super::systems::LadderSystem;
use crate::count::{Child, Counting, Counts, Regions, counting};
use crate::measurement::Progress;
use crate::points::Points;
use crate::workload::{InputBatch, Workload, WorkloadInputs};

/// Maximum number of functions in the results of each system, the most expensive.
const MAX_FUNCTIONS: usize = 40;

/// The figure of a workload's instructions by component.
pub(super) fn by_component(workload: Workload) -> String {
    format!("by component, {}", workload.name())
}

/// The figure of a workload's instructions by call.
pub(super) fn by_call(workload: Workload) -> String {
    format!("by call, {}", workload.name())
}

/// Counts, and adds the results to `points`: see [`Counting::count`].
///
/// # Errors
/// As there; when the program has too little debugging information.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<LadderSystem>,
    command: &(dyn Fn(&Child<LadderSystem>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: Workload::ALL.len(), parts: &COMPONENTS, calls: Some(&CALLS) };
    let all = counting.count(regions, command, watch)?;
    for (at, (system, counted)) in counting.systems.iter().zip(all).enumerate() {
        for (workload, counts) in Workload::ALL.into_iter().zip(counted) {
            ensure!(
                matches!(system, LadderSystem::Kernel) || finds_calls(&counts),
                "{system}: instructions cannot be attributed to calls: the debugging information of this program lacks \
                 inlined functions; build it with `debug = 1` or more in its profile"
            );
            put(points, &system.to_string(), at as f64, workload, &counts);
        }
    }
    Ok(())
}

/// Whether the instructions of lookups were found; every system makes lookups.
fn finds_calls(counts: &Counts) -> bool {
    counts.calls.iter().any(|(name, value)| *name == "B-tree lookup" && *value > 0.0)
}

fn put(points: &mut Points, row: &str, x: f64, workload: Workload, counts: &Counts) {
    let unit = "instructions/transaction";
    points.put(INSTRUCTIONS, row, x, workload.name(), counts.total, unit);
    for (figure, values) in [(by_component(workload), &counts.parts), (by_call(workload), &counts.calls)] {
        for (name, value) in values {
            points.put(&figure, row, x, name, *value, unit);
        }
    }
    let memory = format!("memory, {}", workload.name());
    points.put(&memory, row, x, "copying", counts.copying, unit);
    points.put(&memory, row, x, "allocating", counts.allocating, unit);
    for (name, value) in counts.functions.iter().take(MAX_FUNCTIONS) {
        points.put(&format!("by function, {}", workload.name()), row, x, name, *value, unit);
    }
}

/// Runs the transactions that are counted; useful under callgrind only.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<LadderSystem>) -> anyhow::Result<()> {
    let total = child.warm_up + child.transactions * Workload::ALL.len();
    let mut subject = LoadedStack::load(child.system, &child.scale, total, &child.dir)?;
    let mut work = WorkloadInputs::new(&child.scale, child.seed);
    subject.run_all(&InputBatch::new(work.draw(Workload::Mix, child.warm_up)))?;
    for workload in Workload::ALL {
        let batch = InputBatch::new(work.draw(workload, child.transactions));
        let mut result = Ok(());
        counting(&mut || result = subject.run_all(&batch));
        result?;
    }
    Ok(())
}
