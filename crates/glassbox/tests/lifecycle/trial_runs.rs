//! Runs without effect: dry runs and fetch stages see their own writes, end, and leave nothing.

use std::ops::ControlFlow;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glassbox::config::{ExecutionPolicy, HybridPolicy};
use glassbox::io::{ManualClock, MemoryFiles};
use glassbox::record::{Direction, Prefix};
use glassbox::stats::Stats;
use glassbox::{Architecture, Catalog, Config, Database, Error, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

use crate::engines;

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(
    table = "job",
    key = (lane, no),
    partition_by = lane,
    index(name = by_work, columns = (lane, work)),
    index(name = by_name, columns = (lane, name), unique)
)]
struct Job {
    lane: u32,
    no: u64,
    work: i64,
    name: u64,
}

impl Job {
    fn new(lane: u32, no: u64, work: i64) -> Self {
        Self { lane, no, work, name: no }
    }
}

/// Deletes the jobs of a lane, the first one each time, until there is none; their number.
#[derive(Serialize, Deserialize)]
struct Drain {
    lane: u32,
}

impl Procedure for Drain {
    const NAME: &'static str = "drain";
    type Output = u64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let mut drained = 0;
        while let Some(job) = tx.first::<Job>(Prefix((self.lane,)), Direction::Forward)? {
            assert!(tx.delete::<Job>(&(job.lane, job.no))?);
            drained += 1;
        }
        Ok(drained)
    }
}

/// Reads for ever.
#[derive(Serialize, Deserialize)]
struct Spin;

impl Procedure for Spin {
    const NAME: &'static str = "spin";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        loop {
            tx.get::<Job>(&(0, 0))?;
        }
    }
}

/// Panics unless every read sees the writes before it. Jobs 0 to 9 of the lane are there before, and after.
#[derive(Serialize, Deserialize)]
struct Careful {
    lane: u32,
}

impl Procedure for Careful {
    const NAME: &'static str = "careful";
    type Output = u64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let lane = self.lane;
        let job = |no, work| Job::new(lane, no, work);
        tx.insert(&job(20, -5))?;
        let added = *tx.get::<Job>(&(lane, 20))?.expect("added a moment ago");
        assert_eq!(added, job(20, -5), "as added");
        assert!(matches!(tx.insert(&job(20, 0)), Err(Stop::DuplicateKey(_))), "its key is taken");
        let other = Job { name: 20, ..job(21, 0) };
        assert!(matches!(tx.insert(&other), Err(Stop::DuplicateKey(_))), "its name is taken");
        assert!(
            matches!(tx.insert(&Job { name: 3, ..other }), Err(Stop::DuplicateKey(_))),
            "as is that of a stored job"
        );
        tx.update::<Job, _>(&(lane, 3), |job| (job.work, job.name) = (100, 103))?.expect("stored before");
        tx.insert(&Job { name: 3, ..job(15, 7) })?;
        assert!(tx.delete::<Job>(&(lane, 5))?);
        assert!(!tx.delete::<Job>(&(lane, 5))?, "deleted a moment ago");
        assert_eq!(tx.update::<Job, _>(&(lane, 5), |_| ())?, None);
        tx.update_each::<Job, _>([((lane, 3), 1), ((lane, 3), 2), ((lane, 5), 3)], |more, job| job.work += more)?;
        let mut read = Vec::new();
        tx.get_each::<Job, _>([3, 5, 20].map(|no| ((lane, no), ())), |(), job| {
            read.push(job.map(|job| job.work));
            Ok(())
        })?;
        assert_eq!(read, [Some(103), None, Some(-5)], "in a batch");
        let mut numbers = Vec::new();
        tx.scan::<Job>(Prefix((lane,)), Direction::Backward, |job| {
            numbers.push(job.no);
            ControlFlow::Continue(())
        })?;
        assert_eq!(numbers, [20, 15, 9, 8, 7, 6, 4, 3, 2, 1, 0], "in a scan");
        let mut by_work = Vec::new();
        tx.scan_index::<JobByWork>(Prefix((lane,)), Direction::Forward, |job| {
            by_work.push((job.work, job.no));
            if job.no == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let expected = [(-5, 20), (0, 0), (1, 1), (2, 2), (4, 4), (6, 6), (7, 7), (7, 15), (8, 8), (9, 9), (103, 3)];
        assert_eq!(by_work, expected, "in a scan of an index");
        tx.delete::<Job>(&(lane, 20))?;
        tx.delete::<Job>(&(lane, 15))?;
        tx.insert(&job(5, 5))?;
        tx.update::<Job, _>(&(lane, 3), |stored| *stored = job(3, 3))?.expect("changed before");
        Ok(numbers.len() as u64)
    }
}

/// Both engines, the classic one under each policy.
fn all() -> Vec<(String, Config)> {
    let mut all = Vec::new();
    for (name, config) in engines() {
        if config.architecture != Architecture::Classic {
            all.push((name.to_owned(), config));
            continue;
        }
        let policies = [
            ExecutionPolicy::Conventional,
            ExecutionPolicy::TwoStage,
            ExecutionPolicy::Optimistic,
            ExecutionPolicy::Hybrid(HybridPolicy::DEFAULT),
        ];
        for policy in policies {
            let classic = config.classic.clone().with_execution(policy);
            all.push((format!("classic, {policy:?}"), config.clone().with_classic(classic)));
        }
    }
    all
}

/// A database with ten jobs in each of eight lanes, opened with none of its pages in memory.
fn open(config: &Config) -> Database {
    let files = MemoryFiles::new();
    let open = || {
        let catalog = Catalog::new().table::<Job>().procedure::<Drain>().procedure::<Careful>().procedure::<Spin>();
        Database::open_files(Arc::new(files.clone()), Box::new(ManualClock::default()), config.clone(), catalog)
            .unwrap()
    };
    let db = open();
    for lane in 0..8 {
        let jobs = (0..10).map(|no| Job::new(lane, no, no as i64));
        db.transaction(|tx| tx.insert_each(jobs.clone())).unwrap();
    }
    db.close().unwrap();
    drop(db);
    open()
}

/// Panics of this file's procedures that a hook has seen. One test at a time counts them.
static PANICS: AtomicUsize = AtomicUsize::new(0);
static COUNTING: Mutex<()> = Mutex::new(());

fn count_panics() -> MutexGuard<'static, ()> {
    let counting = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.location().is_some_and(|location| location.file().ends_with("trial_runs.rs")) {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        before(info);
    }));
    PANICS.store(0, Ordering::Relaxed);
    counting
}

/// Case 23: a dry run did not see its deletions, so it found the same row for ever.
#[test]
fn a_procedure_that_loops_over_its_own_deletions_ends_on_every_engine() {
    for (engine, config) in all() {
        let db = open(&config);
        let keys = db.dry_run(&Drain { lane: 1 }).unwrap();
        assert!(keys.entries().len() >= 20, "{engine}: a deletion of each job, and the scans");
        assert_eq!(db.call(&Drain { lane: 1 }).unwrap(), 10, "{engine}");
        assert_eq!(db.submit(Drain { lane: 2 }).unwrap().wait().unwrap(), 10, "{engine}");
        assert_eq!(db.call(&Drain { lane: 1 }).unwrap(), 0, "{engine}");
    }
}

/// Case 23: a dry run is bounded in accesses besides.
#[test]
fn a_dry_run_without_end_is_an_error() {
    for (engine, config) in all() {
        let db = open(&config);
        let error = db.dry_run(&Spin).unwrap_err();
        assert!(matches!(error, Error::DryRunTooLong { name: "spin", .. }), "{engine}: {error}");
        assert!(error.to_string().starts_with("the dry run of procedure `spin` was ended after"), "{engine}: {error}");
        assert_eq!(db.call(&Drain { lane: 1 }).unwrap(), 10, "{engine}: the database goes on");
    }
}

/// Case 24: trial runs panicked on not finding what they had inserted.
#[test]
fn a_procedure_that_relies_on_its_own_writes_never_panics_in_a_trial_run() {
    let _counting = count_panics();
    for (engine, config) in all() {
        let db = open(&config);
        for call in 0..10 {
            db.dry_run(&Careful { lane: call % 8 }).unwrap();
            assert_eq!(db.call(&Careful { lane: call % 8 }).unwrap(), 11, "{engine}");
        }
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{engine}");
    }
}

/// Counts of runs, and of the log.
fn of_runs(stats: &Stats) -> [u64; 6] {
    [stats.committed, stats.aborted, stats.rerun, stats.multi_partition, stats.log_forces, stats.log_bytes]
}

/// Case 24: the dry runs of undeclared calls were counted as commits and restarts.
#[test]
fn a_trial_run_leaves_no_counts() {
    for (engine, config) in all() {
        let db = open(&config);
        let before = db.counts();
        for lane in 0..8 {
            db.dry_run(&Careful { lane }).unwrap();
        }
        let after = db.counts();
        assert_eq!(of_runs(&before), of_runs(&after), "{engine}: dry runs");
        for lane in 0..8 {
            db.call(&Careful { lane }).unwrap();
        }
        let [committed, aborted, rerun, ..] = of_runs(&db.counts());
        let [committed_before, aborted_before, rerun_before, ..] = of_runs(&before);
        assert_eq!(
            [committed, aborted, rerun],
            [committed_before + 8, aborted_before, rerun_before],
            "{engine}: calls"
        );
    }
}
