//! Instructions of all clients, by parts of the program.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use glassbox::config::ClassicConfig;
use glassbox::research::ConfigHooks;
use glassbox::{Architecture, Config, Database};
use glassbox_workloads::tpcc::{self, Inputs, Mix, Observer, Remote, Scale, Settings, run_client};

use super::systems::{CountedRun, ScaledSystem};
use crate::count::{Child, Counting, PartMap, Regions, counting_threads};
use crate::measurement::Progress;
use crate::points::Points;

/// In results, the figure.
pub(super) const INSTRUCTIONS: &str = "instructions";
/// All of them.
pub(super) const ALL: &str = "all";

/// Address space is limited to 32 GiB under valgrind, less than the default reserves.
const TABLE_BYTES: usize = 256 << 20;
/// Memory for pages of the classic engine.
const POOL_BYTES: usize = 512 << 20;
/// Transactions in flight of each client.
const IN_FLIGHT: usize = 64;

/// The names of the parts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PARTS.names()
}

thread_local! {
    static CORE: Cell<u32> = const { Cell::new(0) };
}

/// The core that a client pretends to run on: under valgrind, threads have no cores of their own.
fn pretended_core() -> u32 {
    CORE.get()
}

/// Stops its client after so many answers.
struct Limited<'a> {
    left: usize,
    stop: &'a AtomicBool,
}

impl Observer for Limited<'_> {
    fn answered(&mut self, _: tpcc::Kind, _: u64, _: bool) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs the transactions that are counted; useful under callgrind only.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<CountedRun>) -> anyhow::Result<()> {
    let CountedRun { system, cores } = child.system;
    let scale = Scale { warehouses: child.scale.warehouses * cores as u16, ..child.scale };
    let db = open(system, cores, child)?;
    let load = db.bulk_load()?;
    tpcc::load_database(&load, &scale, tpcc::LOAD_SEED, 1, &|_| true)?;
    load.finish()?;
    let settings = Settings {
        mix: Mix::Full,
        remote: Remote::SPECIFICATION,
        load_seed: tpcc::LOAD_SEED,
        seed: child.seed,
        ..Settings::new(scale)
    };
    // Each client's own, so that those of the warm-up and those that are counted are one sequence.
    let mut clients: Vec<_> = (0..cores).map(|client| Inputs::new(&settings, client as u64)).collect();
    run_all(&db, &mut clients, child.warm_up, &|work| {
        thread::scope(|scope| {
            for work in work {
                scope.spawn(work);
            }
        });
    })?;
    run_all(&db, &mut clients, child.transactions, &counting_threads)?;
    db.close().context("cannot close the database")
}

/// The clients, ready to run in threads.
type ClientRuns<'a> = Vec<Box<dyn FnOnce() + Send + 'a>>;

/// Runs so many transactions of all clients together.
fn run_all(
    db: &Database,
    clients: &mut [Inputs],
    transactions: usize,
    in_threads: &dyn Fn(ClientRuns<'_>),
) -> anyhow::Result<()> {
    let each = transactions.div_ceil(clients.len());
    let mut results: Vec<_> = clients.iter().map(|_| Ok(())).collect();
    let work = clients.iter_mut().zip(&mut results).enumerate().map(|(core, (inputs, result))| {
        let run = move || {
            CORE.set(core as u32);
            let stop = AtomicBool::new(false);
            // When it is told to stop, as many as it has in flight but one are still to be answered.
            let left = each.saturating_sub(IN_FLIGHT - 1).max(1);
            *result = run_client(db, inputs, IN_FLIGHT, &stop, &mut Limited { left, stop: &stop });
        };
        Box::new(run) as Box<dyn FnOnce() + Send>
    });
    in_threads(work.collect());
    Ok(results.into_iter().collect::<Result<(), glassbox::Error>>()?)
}

fn open(system: ScaledSystem, cores: usize, child: &Child<CountedRun>) -> anyhow::Result<Database> {
    let config = Config::default()
        .with_durability(system.durability())
        .with_log(system.log())
        .with_checkpoint_log_bytes(0)
        .with_in_order(false)
        .with_current_core(pretended_core);
    let config = if system.is_classic() {
        let classic = ClassicConfig::default().with_sessions(cores.max(8)).with_pool_bytes(POOL_BYTES);
        config.with_architecture(Architecture::Classic).with_classic(classic)
    } else {
        config.with_partitions(cores).with_table_bytes(TABLE_BYTES)
    };
    let dir = child.dir.join("db");
    Database::open(&dir, config, tpcc::catalog())
        .with_context(|| format!("cannot open a database in {}", dir.display()))
}

/// Counts, and adds the results to `points`: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<CountedRun>,
    command: &(dyn Fn(&Child<CountedRun>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: 1, parts: &PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    for (run, counted) in counting.systems.iter().zip(all) {
        let counts = counted.first().context("the child did not run its region")?;
        let parts = counts.parts.iter().copied().chain([(ALL, counts.total)]);
        for (name, value) in parts {
            let (row, x) = (run.system.name(), run.cores as f64);
            points.put(INSTRUCTIONS, row, x, name, value, "instructions/transaction");
        }
    }
    Ok(())
}

/// The parts; the last is the client, and instructions that belong to no part.
const PARTS: PartMap = PartMap {
    list: &[
        ("procedures", &["glassbox-workloads/src/tpcc/"]),
        (
            "handing calls over",
            &[
                "glassbox/src/partitioned/calls",
                "glassbox/src/partitioned/cores",
                "glassbox/src/partitioned/handed",
                "glassbox/src/partitioned/inbox",
                "glassbox/src/partitioned/run_place",
            ],
        ),
        ("tokens", &["glassbox/src/partitioned/token", "glassbox/src/partitioned/held"]),
        ("rows and indexes in memory", &["glassbox/src/partitioned/storage/", "glassbox/src/partitioned/prefetch"]),
        ("transaction in memory", &["glassbox/src/partitioned/"]),
        ("locks", &["glassbox/src/classic/lock/"]),
        ("latches and buffer pool", &["glassbox/src/classic/latch/", "glassbox/src/classic/buffer/"]),
        ("trees", &["glassbox/src/classic/tree/"]),
        ("heap files and space", &["glassbox/src/classic/heap/", "glassbox/src/classic/space/"]),
        ("log", &["glassbox/src/classic/wal/", "glassbox/src/log/", "/crc32c-"]),
        ("transaction on pages", &["glassbox/src/classic/"]),
        ("rows' form and keys", &["glassbox/src/record/"]),
        ("database and ticket", &["glassbox/src/"]),
    ],
    others: "client and others",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_names_files_that_exist() {
        assert_eq!(PARTS.stale_files(), [""; 0]);
    }

    #[test]
    fn every_counted_system_runs() {
        for system in ScaledSystem::ALL.into_iter().filter(|system| system.is_counted()) {
            for cores in [1, 2] {
                let dir = tempfile::tempdir().unwrap();
                let (system, scale) = (CountedRun { system, cores }, Scale::small(1));
                let dir_of_child = dir.path().to_owned();
                let child = Child { system, scale, warm_up: 100, transactions: 400, seed: 1, dir: dir_of_child };
                run_child(&child).unwrap();
            }
        }
    }
}
