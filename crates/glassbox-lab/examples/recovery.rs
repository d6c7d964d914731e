//! Measures what a checkpoint costs while it is written, and how long the log takes to be done again.
//!
//! `recovery [SECONDS] [WAREHOUSES] [IN_FLIGHT]`, by default 3 seconds a phase, 5 warehouses, 1,024 transactions in
//! flight: the full TPC-C mix in one thread and one partition. Prints, for either kind of log, the throughput without
//! and with a checkpoint under way (and their ratio in interleaved phases, with the longest wait for a transaction to
//! run), then the transactions per second of the run beside those of the replay. Uses `recovery.db` in the current
//! directory, which must not exist.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::{Config, Database, LogKind};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Mix, Observer, Remote, Scale, Settings, run_client};

/// Phases with a checkpoint, each beside one without.
const PAIRS: usize = 3;

fn main() {
    let number = |place: usize, default: usize| match std::env::args().nth(place) {
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{text} is not a number")),
        None => default,
    };
    let (seconds, warehouses, in_flight) = (number(1, 3), number(2, 5), number(3, 1024));
    let dir = Path::new("recovery.db");
    assert!(!dir.exists(), "{} exists: remove it, or go elsewhere", dir.display());
    for log in [LogKind::Values, LogKind::Commands] {
        measure(dir, log, Duration::from_secs(seconds as u64), warehouses as u16, in_flight);
        std::fs::remove_dir_all(dir).expect("it was made here");
    }
}

fn measure(dir: &Path, log: LogKind, phase: Duration, warehouses: u16, in_flight: usize) {
    let config = Config { partitions: 1, log, checkpoint_log_bytes: 0, ..Config::default() };
    let db = Database::open(dir, config.clone(), tpcc::catalog()).expect("a new database");
    let scale = Scale::full(warehouses);
    let load = db.bulk_load().expect("it is new");
    tpcc::load(&scale, 1, 1, || &load, |_| ()).expect("there is memory");
    load.finish().expect("there is room on the disk");
    let mut settings = Settings::new(scale);
    (settings.mix, settings.remote, settings.load_seed) = (Mix::Full, Remote::NONE, 1);
    let mut inputs = Inputs::new(&settings, 0);

    println!("log of {log:?}, {warehouses} warehouses, {in_flight} in flight, full mix");
    run(&db, &mut inputs, in_flight, phase / 3);
    for _ in 0..PAIRS {
        let without = run(&db, &mut inputs, in_flight, phase);
        let (with, took) = during_checkpoint(&db, &mut inputs, in_flight);
        println!(
            "  without a checkpoint {:7.0}/s, longest wait {:5.1} ms; with one {:7.0}/s (x{:.2}), {:5.1} ms; {:.1} s",
            without.per_second(),
            without.longest_ms(),
            with.per_second(),
            with.per_second() / without.per_second(),
            with.longest_ms(),
            took.as_secs_f64(),
        );
    }
    let logged = run(&db, &mut inputs, in_flight, phase);
    drop(db);
    let db = Database::open(dir, config, tpcc::catalog()).expect("what it wrote can be read");
    let recovery = db.recovery();
    // What was logged since the last checkpoint: this phase, and what ran while that was written.
    let replayed = recovery.log_records as f64 / recovery.log_s;
    let written = logged.wrote as f64 / logged.seconds;
    println!(
        "  run {written:7.0} records/s; replay {replayed:7.0} records/s (x{:.2}) of {} records, {} MB",
        replayed / written,
        recovery.log_records,
        recovery.log_bytes >> 20,
    );
}

/// What a phase came to.
#[derive(Default)]
struct Phase {
    answered: u64,
    /// Those that changed something.
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
        run_client(db, inputs, in_flight, &stop, &mut phase).expect("the database goes on");
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
        run_client(db, inputs, in_flight, &stop, &mut phase).expect("the database goes on");
        phase.seconds = started.elapsed().as_secs_f64();
        checkpoint.join().expect("it does not panic")
    });
    (phase, took)
}
