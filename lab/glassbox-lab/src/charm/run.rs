//! One run: a database of TPC-C on a stated disk, warmed up, and then measured.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use glassbox::config::{Architecture, ClassicConfig, ExecutionPolicy, FetchMethod, Granularity};
use glassbox::io::{DiskModel, RealClock, RealFiles, SlowDisk, SlowFiles};
use glassbox::stats::{ClassicStats, ProcedureExecution, Stats};
use glassbox::{Config, Database, Durability, Error};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Mix, Scale, Settings};

use super::computing::{First, SessionCaller, catalog, set_execution};

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 8 << 10;
/// Pages of memory that each session needs.
pub(super) const PAGES_PER_SESSION: usize = 12;
/// The seed of the population.
const LOAD_SEED: u64 = 1;

/// How transactions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// By this policy, all of them.
    Policy(ExecutionPolicy),
    /// As the paper says that it did under HTSTE: New-Order and Delivery in two stages, the others optimistically.
    Fixed,
}

/// What a run is made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunSettings {
    pub execution: Execution,
    pub fetch: FetchMethod,
    pub granularity: Granularity,
    /// `None`: the disk that there is.
    pub disk: Option<DiskModel>,
    /// Whether New-Order and Payment access the rows that all need first.
    pub hot_first: bool,
    /// Of each transaction, on the modelled processor.
    pub computation_ns: u64,
    pub sessions: usize,
    pub pool_pages: usize,
    /// See [`ClassicConfig::detect_deadlocks_every_ms`].
    pub detect_every_ms: Option<u64>,
}

/// The time before the measurement of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct WarmUp {
    /// Transactions while the disk is fast: the pool gets the pages that are used again and again.
    pub transactions: u64,
    /// How long hybrid execution then finds its classes, on the slow disk.
    pub finding: Duration,
}

/// The number of the inputs of that time: others than those that are measured.
pub(super) const FINDING: u64 = 1 << 16;

/// How long a run is.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunLength {
    For(Duration),
    Transactions(u64),
}

/// What a run came to.
pub(super) struct RunCounts {
    pub seconds: f64,
    /// Of committed transactions.
    pub committed: u64,
    /// Runs of deadlock victims, of all runs.
    pub victims: f64,
    /// New-Order executions, and their mean time.
    pub new_orders: u64,
    pub response_ns: f64,
    pub classic: ClassicStats,
    /// By the procedures of the catalog, in the order of [`Kind::ALL`].
    pub executions: Vec<ProcedureExecution>,
}

/// A loaded database, on copies of which runs are made: what one adds is not there in the next.
pub(super) struct Bench<'a> {
    pub dir: &'a Path,
    pub scale: Scale,
    pub seed: u64,
    /// The number of the inputs: others with the same popular rows.
    pub inputs: u64,
}

impl Bench<'_> {
    /// Pages of the database.
    pub(super) fn pages(&self) -> anyhow::Result<usize> {
        Ok(std::fs::metadata(self.dir.join("pages"))?.len() as usize / PAGE_BYTES)
    }

    /// Loads the database.
    pub(super) fn load(&self) -> anyhow::Result<()> {
        let pool_pages = 1 << 14;
        let db = self.open(self.dir, &RunSettings::plain(pool_pages, 4), None)?;
        let bulk = db.bulk_load()?;
        tpcc::load_database(&bulk, &self.scale, LOAD_SEED, 2, &|_| true)?;
        bulk.finish()?;
        db.close()?;
        Ok(())
    }

    pub(super) fn open(&self, dir: &Path, run: &RunSettings, disk: Option<&SlowFiles>) -> anyhow::Result<Database> {
        let mut classic = ClassicConfig::default()
            .with_page_bytes(PAGE_BYTES)
            .with_pool_bytes(run.pool_pages.max(PAGES_PER_SESSION * run.sessions) * PAGE_BYTES)
            .with_sessions(run.sessions)
            .with_granularity(run.granularity)
            .with_fetch(run.fetch)
            .with_count_executions(true)
            .with_detect_deadlocks_every_ms(run.detect_every_ms);
        match run.execution {
            Execution::Policy(policy) => classic.execution = policy,
            Execution::Fixed => {
                classic.execution = ExecutionPolicy::Optimistic;
                let two_stage = [Kind::NewOrder, Kind::Delivery].map(|kind| procedure_name(kind).to_owned());
                classic.execution_of.extend(two_stage.map(|name| (name, ExecutionPolicy::TwoStage)));
            }
        }
        let config = Config::classic(classic).with_durability(Durability::Async);
        debug_assert_eq!(config.architecture, Architecture::Classic);
        let opened = match disk {
            None => Database::open(dir, config, catalog()),
            Some(disk) => Database::open_files(Arc::new(disk.clone()), Box::new(RealClock::new()), config, catalog()),
        };
        opened.with_context(|| format!("cannot open the database in {}", dir.display()))
    }

    /// Runs: first the warm-up, while reads take no longer than they do here, and then as long as `length` says, on the
    /// disk.
    pub(super) fn run(&self, run: &RunSettings, warm_up: WarmUp, length: RunLength) -> anyhow::Result<RunCounts> {
        let dir = self.dir.with_extension("run");
        copy(self.dir, &dir).with_context(|| format!("cannot copy {} to {}", self.dir.display(), dir.display()))?;
        let disk = match run.disk {
            None => None,
            Some(model) => {
                let files = Arc::new(RealFiles::new(&dir)?);
                Some(SlowFiles::new(files, model, Arc::new(RealClock::new()), self.seed))
            }
        };
        let set_slow = |is_slow| disk.as_ref().map_or((), |disk| SlowDisk::set_slow(disk.disk(), is_slow));
        set_slow(false);
        let db = self.open(&dir, run, disk.as_ref())?;
        let warm = RunSettings { computation_ns: 0, ..*run };
        self.drive(&db, &warm, RunLength::Transactions(warm_up.transactions))?;
        set_slow(true);
        if let Execution::Policy(policy @ ExecutionPolicy::Hybrid(_)) = run.execution {
            // It begins from scratch: what it has found is of a fast disk.
            set_execution(&db, policy)?;
            Bench { inputs: FINDING, ..*self }.drive(&db, run, RunLength::For(warm_up.finding))?;
        }
        let (before, executions) = (db.counts(), executions(&db));
        let (new_orders, response_ns, seconds) = self.drive(&db, run, length)?;
        set_slow(false);
        let (after, executions_after) = (db.counts(), self::executions(&db));
        db.close()?;
        let executions = executions_after.iter().zip(&executions).map(|(after, before)| after.since(before)).collect();
        Ok(RunCounts::new(&before, &after, executions, (new_orders, response_ns, seconds)))
    }

    /// Sessions that call back to back. New-Order executions, their mean time, and the seconds that it took.
    pub(super) fn drive(&self, db: &Database, run: &RunSettings, length: RunLength) -> anyhow::Result<(u64, f64, f64)> {
        let &RunSettings { hot_first, computation_ns, sessions, .. } = run;
        let settings = Settings { mix: Mix::Charm, load_seed: LOAD_SEED, seed: self.seed, ..Settings::new(self.scale) };
        let (calls, stop, started) = (AtomicU64::new(0), AtomicBool::new(false), Instant::now());
        let is_over = || match length {
            RunLength::For(time) => started.elapsed() >= time,
            RunLength::Transactions(count) => calls.fetch_add(1, Ordering::Relaxed) >= count,
        };
        let session = |client: usize| -> Result<(u64, Duration), Error> {
            // Different inputs in the warm-up and after it.
            let client = (self.inputs << 32) + 2 * client as u64 + u64::from(matches!(length, RunLength::For(_)));
            let mut inputs = Inputs::new(&settings, client);
            let (mut new_orders, mut time) = (0, Duration::ZERO);
            while !is_over() && !stop.load(Ordering::Relaxed) {
                let (input, began) = (inputs.next(), Instant::now());
                let is_new_order = input.kind() == Kind::NewOrder;
                let first = if hot_first { First::of(&input) } else { First::Any };
                let called = input.give(&mut SessionCaller { db, first, computation_ns });
                called.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
                if is_new_order {
                    new_orders += 1;
                    time += began.elapsed();
                }
            }
            Ok((new_orders, time))
        };
        let ended = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..sessions).map(|client| scope.spawn(move || session(client))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a session does not panic")).collect::<Vec<_>>()
        });
        let seconds = started.elapsed().as_secs_f64();
        let (mut new_orders, mut time) = (0, Duration::ZERO);
        for ended in ended {
            let (more, longer) = ended?;
            (new_orders, time) = (new_orders + more, time + longer);
        }
        Ok((new_orders, time.as_nanos() as f64 / new_orders.max(1) as f64, seconds))
    }
}

impl RunSettings {
    /// Without a modelled disk or computation, in two stages, so that misses are counted.
    pub(super) const fn plain(pool_pages: usize, sessions: usize) -> Self {
        Self {
            execution: Execution::Policy(ExecutionPolicy::TwoStage),
            fetch: FetchMethod::Batches,
            granularity: Granularity::Record,
            disk: None,
            hot_first: false,
            computation_ns: 0,
            sessions,
            pool_pages,
            detect_every_ms: None,
        }
    }
}

impl RunCounts {
    fn new(
        before: &Stats,
        after: &Stats,
        executions: Vec<ProcedureExecution>,
        (new_orders, response_ns, seconds): (u64, f64, f64),
    ) -> Self {
        let of = |stats: &Stats| stats.classic.expect("the classic engine");
        let committed = after.committed - before.committed;
        let reruns = after.rerun - before.rerun;
        let runs = (committed + reruns).max(1);
        Self {
            seconds,
            committed,
            victims: reruns as f64 / runs as f64,
            new_orders,
            response_ns,
            classic: of(after).since(&of(before)),
            executions,
        }
    }

    /// A mean over all executions.
    pub(super) fn mean(&self, of: impl Fn(&ProcedureExecution) -> f64) -> f64 {
        let all: u64 = self.executions.iter().map(|it| it.executions).sum();
        let sum: f64 = self.executions.iter().map(|it| it.executions as f64 * of(it)).sum();
        sum / all.max(1) as f64
    }

    pub(super) fn of(&self, kind: Kind) -> &ProcedureExecution {
        &self.executions[kind as usize]
    }
}

/// Makes `to` a copy of a directory.
pub(super) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to)?;
    }
    std::fs::create_dir(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() { copy(&path, &copied)? } else { std::fs::copy(&path, &copied).map(drop)? }
    }
    Ok(())
}

/// The counts of the procedures, in the order of [`Kind::ALL`].
pub(super) fn executions(db: &Database) -> Vec<ProcedureExecution> {
    let all = db.explain_execution().expect("the classic engine");
    let of = |kind: Kind| all.iter().find(|it| it.procedure == procedure_name(kind)).cloned().expect("in the catalog");
    Kind::ALL.map(of).to_vec()
}

fn procedure_name(kind: Kind) -> &'static str {
    use glassbox::Procedure;
    match kind {
        Kind::NewOrder => tpcc::NewOrder::NAME,
        Kind::Payment => tpcc::Payment::NAME,
        Kind::OrderStatus => tpcc::OrderStatus::NAME,
        Kind::Delivery => tpcc::Delivery::NAME,
        Kind::StockLevel => tpcc::StockLevel::NAME,
    }
}
