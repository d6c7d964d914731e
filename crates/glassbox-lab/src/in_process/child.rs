//! The program that is counted, and its counting.

use super::parts::PARTS;
use super::subject::{Batch, Subject};
use super::systems::{System, Workload};
use super::tables::{FUNCTIONS, INSTRUCTIONS, MEMORY, UNIT, by_part};
use crate::Watch;
use crate::count::{Child, Counting, Counts, Regions, counting};
use crate::points::Points;

/// Functions of each system that are told, the most costly.
const MOST_FUNCTIONS: usize = 40;

/// Runs what is to be counted, each workload on data of its own; under callgrind, or it does nothing useful.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<System>) -> anyhow::Result<()> {
    for workload in Workload::ALL {
        let mut subject = Subject::load(child.system, workload, &child.scale)?;
        subject.run(&Batch::draw(workload, &child.scale, child.warm_up, child.seed + 1))?;
        let batch = Batch::draw(workload, &child.scale, child.transactions, child.seed);
        anyhow::ensure!(batch.len() == child.transactions, "{} transactions are not whole batches", child.transactions);
        let mut result = Ok(());
        counting(&mut || result = subject.run(&batch));
        result?;
    }
    Ok(())
}

/// Counts, and adds to `points`: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<System>,
    command: &(dyn Fn(&Child<System>) -> Vec<String> + Sync),
    watch: &(dyn Watch + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: Workload::ALL.len(), parts: &PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    for (at, (system, counted)) in counting.systems.iter().zip(all).enumerate() {
        for (workload, counts) in Workload::ALL.into_iter().zip(counted) {
            put(points, &system.to_string(), at as f64, workload, &counts);
        }
    }
    Ok(())
}

fn put(points: &mut Points, row: &str, x: f64, workload: Workload, counts: &Counts) {
    points.put(INSTRUCTIONS, row, x, workload.name(), counts.total, UNIT);
    for (name, value) in &counts.parts {
        points.put(&by_part(workload), row, x, name, *value, UNIT);
    }
    for (name, value) in [("copying", counts.copying), ("allocating", counts.allocating)] {
        points.put(MEMORY, row, x, &format!("{name}, {}", workload.name()), value, UNIT);
    }
    for (name, value) in counts.functions.iter().take(MOST_FUNCTIONS) {
        points.put(&format!("{FUNCTIONS}, {}", workload.name()), row, x, name, *value, UNIT);
    }
}
