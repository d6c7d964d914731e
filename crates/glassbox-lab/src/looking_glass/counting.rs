//! Instructions: each system runs under callgrind, once for each workload.

use anyhow::ensure;

use super::components::{CALLS, COMPONENTS};
use super::ladder::INSTRUCTIONS;
use super::systems::System;
use super::work::Workload;
use crate::Watch;
use crate::count::{Child, Counting, Counts, Regions};
use crate::points::Points;

/// Functions of each system that are told, the most costly.
const MOST_FUNCTIONS: usize = 40;

/// Where the instructions by component are, of a workload.
pub(super) fn by_component(workload: Workload) -> String {
    format!("by component, {}", workload.name())
}

/// Where the instructions by call are, of a workload.
pub(super) fn by_call(workload: Workload) -> String {
    format!("by call, {}", workload.name())
}

/// Counts, and adds to `points`: see [`Counting::count`].
///
/// # Errors
/// As there; when the program's debugging information is not enough for it.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<System>,
    command: &(dyn Fn(&Child<System>) -> Vec<String> + Sync),
    watch: &(dyn Watch + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: Workload::ALL.len(), parts: &COMPONENTS, calls: Some(&CALLS) };
    let all = counting.count(regions, command, watch)?;
    for (at, (system, counted)) in counting.systems.iter().zip(all).enumerate() {
        for (workload, counts) in Workload::ALL.into_iter().zip(counted) {
            ensure!(
                matches!(system, System::Kernel) || finds_calls(&counts),
                "{system}: the debugging information of this program does not say which functions were inlined, so \
                 instructions cannot be charged to calls; build it with `debug = 1` in its profile, or more"
            );
            put(points, &system.to_string(), at as f64, workload, &counts);
        }
    }
    Ok(())
}

/// Whether lookups were found: all do some.
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
    for (name, value) in counts.functions.iter().take(MOST_FUNCTIONS) {
        points.put(&format!("by function, {}", workload.name()), row, x, name, *value, unit);
    }
}
