//! What a policy costs where there is nothing to gain: instructions of a transaction whose pages are all in memory.

use anyhow::Context;
use glassbox::config::ClassicConfig;
use glassbox::{Config, Database, Durability, Error};
use glassbox_workloads::tpcc::{self, Inputs, Mix, Settings};

use super::computing::{First, SessionCaller};
use super::policy::CountedPolicy;
use crate::count::{Child, Counting, PartMap, Regions, counting as counting_region};
use crate::measurement::Progress;
use crate::points::Points;

/// In results, the figure.
pub(super) const INSTRUCTIONS: &str = "instructions";
/// The mixes that are counted, each with its name in results: all procedures; and New-Order and Payment by number,
/// which declare all keys that they read or change.
pub(super) const MIXES: [(&str, Mix); 2] = [("full mix", Mix::Charm), ("declared", Mix::LookingGlass)];

/// Memory for pages, more than there are.
const POOL_BYTES: usize = 256 << 20;

/// Runs the transactions that are counted; useful under callgrind only.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<CountedPolicy>) -> anyhow::Result<()> {
    let mut classic = ClassicConfig::default().with_sessions(8).with_pool_bytes(POOL_BYTES);
    classic.execution = child.system.0.policy();
    let config = Config::classic(classic).with_durability(Durability::Async).with_checkpoint_log_bytes(0);
    let dir = child.dir.join("db");
    let opened = Database::open(&dir, config, super::computing::catalog());
    let db = opened.with_context(|| format!("cannot open a database in {}", dir.display()))?;
    let load = db.bulk_load()?;
    tpcc::load_database(&load, &child.scale, tpcc::LOAD_SEED, 1, &|_| true)?;
    load.finish()?;
    for (_, mix) in MIXES {
        let settings = Settings { mix, load_seed: tpcc::LOAD_SEED, seed: child.seed, ..Settings::new(child.scale) };
        let mut inputs = Inputs::new(&settings, 1);
        let mut run = |transactions: usize| -> Result<(), Error> {
            let mut caller = SessionCaller { db: &db, first: First::Any, computation_ns: 0 };
            (0..transactions).try_for_each(|_| inputs.next().give(&mut caller))
        };
        run(child.warm_up)?;
        let mut ran = Ok(());
        counting_region(&mut || ran = run(child.transactions));
        ran?;
    }
    db.close().context("cannot close the database")
}

/// Counts, and adds the results to `points`: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<CountedPolicy>,
    command: &(dyn Fn(&Child<CountedPolicy>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<()> {
    let regions = Regions { runs: MIXES.len(), parts: &PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    for (policy, counted) in counting.systems.iter().zip(all) {
        for ((mix, _), counts) in MIXES.iter().zip(counted) {
            points.put(INSTRUCTIONS, policy.0.name(), 0.0, mix, counts.total, "instructions/transaction");
        }
    }
    Ok(())
}

const PARTS: PartMap = PartMap { list: &[("engine", &["glassbox/src/"])], others: "client and others" };

#[cfg(test)]
mod tests {
    use glassbox_workloads::tpcc::Scale;

    use super::*;

    #[test]
    fn every_counted_policy_runs() {
        assert_eq!(PARTS.stale_files(), [""; 0]);
        for system in CountedPolicy::ALL {
            let dir = tempfile::tempdir().unwrap();
            let (scale, path) = (Scale::small(1), dir.path().to_owned());
            run_child(&Child { system, scale, warm_up: 100, transactions: 200, seed: 1, dir: path }).unwrap();
        }
    }
}
