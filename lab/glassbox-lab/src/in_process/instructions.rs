//! Instructions of each path, by parts of the program.

use super::subject::{CallBatch, LoadedPath};
use super::systems::{Benchmark, CallPath};
use crate::count::{Child, Counting, Counts, PartMap, Regions, counting};
use crate::measurement::Progress;
use crate::points::Points;

/// In results, the experiment.
pub const EXPERIMENT: &str = "low-overhead-in-process";
/// In results, all instructions of each path.
pub(super) const INSTRUCTIONS: &str = "instructions";
/// In results, those that copy and that allocate.
pub(super) const MEMORY: &str = "memory";
/// In results, the most expensive functions.
pub(super) const FUNCTIONS: &str = "by function";
/// The unit of all of them.
pub(super) const UNIT: &str = "instructions/transaction";

/// In results, a benchmark's instructions by part.
pub(super) fn by_part(benchmark: Benchmark) -> String {
    format!("by part, {}", benchmark.name())
}

/// Maximum number of functions in the results of each path, the most expensive.
const MAX_FUNCTIONS: usize = 40;

/// Runs the transactions that are counted, each benchmark on its own data; useful under callgrind only.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<CallPath>) -> anyhow::Result<()> {
    for benchmark in Benchmark::ALL {
        let mut subject = LoadedPath::load(child.system, benchmark, &child.scale)?;
        subject.run(&CallBatch::draw(benchmark, &child.scale, child.warm_up, child.seed + 1))?;
        let batch = CallBatch::draw(benchmark, &child.scale, child.transactions, child.seed);
        anyhow::ensure!(
            batch.len() == child.transactions,
            "{} transactions are no whole number of batches",
            child.transactions
        );
        let mut result = Ok(());
        counting(&mut || result = subject.run(&batch));
        result?;
    }
    Ok(())
}

/// Counts, and adds the results to `points`: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<CallPath>,
    command: &(dyn Fn(&Child<CallPath>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: Benchmark::ALL.len(), parts: &PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    for (at, (system, counted)) in counting.systems.iter().zip(all).enumerate() {
        for (benchmark, counts) in Benchmark::ALL.into_iter().zip(counted) {
            put(points, &system.to_string(), at as f64, benchmark, &counts);
        }
    }
    Ok(())
}

fn put(points: &mut Points, row: &str, x: f64, benchmark: Benchmark, counts: &Counts) {
    points.put(INSTRUCTIONS, row, x, benchmark.name(), counts.total, UNIT);
    for (name, value) in &counts.parts {
        points.put(&by_part(benchmark), row, x, name, *value, UNIT);
    }
    for (name, value) in [("copying", counts.copying), ("allocating", counts.allocating)] {
        points.put(MEMORY, row, x, &format!("{name}, {}", benchmark.name()), value, UNIT);
    }
    for (name, value) in counts.functions.iter().take(MAX_FUNCTIONS) {
        points.put(&format!("{FUNCTIONS}, {}", benchmark.name()), row, x, name, *value, UNIT);
    }
}

/// The parts; the last is the caller, and instructions that belong to no part.
pub(super) const PARTS: PartMap = PartMap {
    list: &[
        ("procedures", &["glassbox-workloads/src/tpcc/", "glassbox-workloads/src/micro"]),
        ("encoding and decoding", &["/postcard-", "/serde_core-", "/serde-", "/cobs-", "glassbox-workloads/src/up_to"]),
        ("carrying values", &["glassbox/src/partitioned/shard/carried"]),
        (
            "routing",
            &["glassbox/src/partitioned/shard/route", "glassbox/src/research/shard", "glassbox-cluster/src/client/"],
        ),
        ("client", &["glassbox-cluster/src/run/client"]),
        ("queues", &["glassbox-cluster/src/run/", "glassbox-cluster/src/protocol/outbox"]),
        ("machine", &["glassbox-cluster/src/"]),
        ("running on a shard", &["glassbox/src/partitioned/shard/"]),
        (
            "rows, indexes, keys",
            &[
                "glassbox/src/partitioned/storage/memory/",
                "glassbox/src/record/",
                "glassbox/src/partitioned/storage/table",
            ],
        ),
        ("running", &["glassbox/src/"]),
    ],
    others: "caller and others",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_names_files_that_exist() {
        assert_eq!(PARTS.stale_files(), [""; 0]);
    }

    #[test]
    fn parts_of_the_path_differ_from_those_of_the_run() {
        let part = |file: &str| {
            let path = format!("/home/me/crates/{file}");
            PARTS.of_file(&path).map(|part| PARTS.names().nth(part).unwrap())
        };
        assert_eq!(part("glassbox-cluster/src/run/cluster.rs"), Some("queues"));
        assert_eq!(part("glassbox-cluster/src/run/client.rs"), Some("client"));
        assert_eq!(part("glassbox-cluster/src/participant/store.rs"), Some("machine"));
        assert_eq!(part("glassbox/src/partitioned/shard/route.rs"), Some("routing"));
        assert_eq!(part("glassbox/src/partitioned/token.rs"), Some("running"));
    }
}
