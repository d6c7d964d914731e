//! Measures the cost of a checkpoint while it is written, and the time of replay.
//!
//! `recovery [WAREHOUSES] [IN_FLIGHT] [PAIRS]`, by default 5 warehouses, 1,024 transactions in flight and 3 pairs: the
//! full TPC-C mix in one thread and one partition. For each kind of log, a run during a checkpoint, and one of the same
//! duration without, each on a newly loaded database, so that both start with the same rows and files. Prints the
//! throughput of both and their ratio, with the longest wait of a transaction; then the transactions per second of the
//! run without a checkpoint and of its log's replay. Takes about a minute for each pair. Uses `recovery.db` in the
//! current directory, which must not exist.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::{Config, Database, LogKind};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Mix, Observer, Remote, Scale, Settings, run_client};

/// The warm-up of each run.
const WARM_UP: Duration = Duration::from_secs(1);

fn main() {
    let number = |place: usize, default: usize| match std::env::args().nth(place) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
        None => default,
    };
    let (warehouses, in_flight, pairs) = (number(1, 5), number(2, 1024), number(3, 3));
    let dir = Path::new("recovery.db");
    assert!(!dir.exists(), "{} exists: remove it, or use another directory", dir.display());
    for log in [LogKind::Values, LogKind::Commands] {
        println!("log of {log:?}, {warehouses} warehouses, {in_flight} in flight, full mix");
        for _ in 0..pairs {
            pair(dir, log, warehouses as u16, in_flight);
        }
    }
}

fn pair(dir: &Path, log: LogKind, warehouses: u16, in_flight: usize) {
    let config = Config::default().with_partitions(1).with_log(log).with_checkpoint_log_bytes(0);
    let (db, mut inputs) = loaded(dir, &config, warehouses);
    run(&db, &mut inputs, in_flight, WARM_UP);
    let (with, took) = during_checkpoint(&db, &mut inputs, in_flight);
    drop(db);
    std::fs::remove_dir_all(dir).expect("it was made here");

    let (db, mut inputs) = loaded(dir, &config, warehouses);
    run(&db, &mut inputs, in_flight, WARM_UP);
    let without = run(&db, &mut inputs, in_flight, took);
    drop(db);
    let db = Database::open(dir, config, tpcc::catalog()).expect("what it wrote can be read");
    let recovery = db.recovery().clone();
    drop(db);
    std::fs::remove_dir_all(dir).expect("it was made here");

    println!(
        "  with a checkpoint {:7.0}/s, longest wait {:5.1} ms; without one {:7.0}/s, {:5.1} ms (x{:.2}); {:.1} s",
        with.per_second(),
        with.longest_ms(),
        without.per_second(),
        without.longest_ms(),
        with.per_second() / without.per_second(),
        took.as_secs_f64(),
    );
    let written = without.wrote as f64 / without.seconds;
    let replayed = recovery.log_records as f64 / recovery.log_s;
    println!(
        "    its run {written:7.0} records/s; replay {replayed:7.0} records/s (x{:.2}) of {} records, {} MB",
        replayed / written,
        recovery.log_records,
        recovery.log_bytes >> 20,
    );
}

/// A new database with that many warehouses, and its inputs.
fn loaded(dir: &Path, config: &Config, warehouses: u16) -> (Database, Inputs) {
    let db = Database::open(dir, config.clone(), tpcc::catalog()).expect("a new database");
    let scale = Scale::full(warehouses);
    let load = db.bulk_load().expect("it is new");
    tpcc::load_database(&load, &scale, 1, 1, &|_| true).expect("there is memory");
    load.finish().expect("there is room on the disk");
    let mut settings = Settings::new(scale);
    (settings.mix, settings.remote, settings.load_seed) = (Mix::Full, Remote::NONE, 1);
    (db, Inputs::new(&settings, 0))
}

/// The results of a phase.
#[derive(Default)]
struct Phase {
    answered: u64,
    /// Transactions that wrote.
    wrote: u64,
    seconds: f64,
    last: Option<Instant>,
    longest: Duration,
}

impl Phase {
    fn per_second(&self) -> f64 {
        self.answered as f64 / self.seconds
    }

    fn longest_ms(&self) -> f64 {
        self.longest.as_secs_f64() * 1e3
    }
}

impl Observer for Phase {
    fn answered(&mut self, kind: Kind, _latency_ns: u64, committed: bool) {
        let now = Instant::now();
        self.answered += 1;
        self.wrote += u64::from(committed && !matches!(kind, Kind::OrderStatus | Kind::StockLevel));
        if let Some(last) = self.last.replace(now) {
            self.longest = self.longest.max(now - last);
        }
    }
}

fn run(db: &Database, inputs: &mut Inputs, in_flight: usize, time: Duration) -> Phase {
    let (stop, mut phase) = (AtomicBool::new(false), Phase::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(time);
            stop.store(true, Ordering::Relaxed);
        });
        let started = Instant::now();
        run_client(db, inputs, in_flight, &stop, &mut phase).expect("the database does not stop");
        phase.seconds = started.elapsed().as_secs_f64();
    });
    phase
}

fn during_checkpoint(db: &Database, inputs: &mut Inputs, in_flight: usize) -> (Phase, Duration) {
    let (stop, mut phase) = (AtomicBool::new(false), Phase::default());
    let took = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| {
            let started = Instant::now();
            db.checkpoint().expect("there is room on the disk");
            stop.store(true, Ordering::Relaxed);
            started.elapsed()
        });
        let started = Instant::now();
        run_client(db, inputs, in_flight, &stop, &mut phase).expect("the database does not stop");
        phase.seconds = started.elapsed().as_secs_f64();
        checkpoint.join().expect("it does not panic")
    });
    (phase, took)
}
