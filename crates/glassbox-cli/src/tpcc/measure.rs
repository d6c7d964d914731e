//! The run itself: clients in threads, with a line that shows their progress; and the checks after it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::io::SlowDisk;
use glassbox::stats::{SimulatedPages, Stats};
use glassbox::{Database, Error};
use glassbox_workloads::tpcc::conditions::Report;
use glassbox_workloads::tpcc::{
    ClientTallies, Home, Inputs, LOAD_SEED, LatencyTally, Scale, Settings, check_database, run_client,
};
use indicatif::{ProgressBar, ProgressStyle};

use super::arguments::TpccArguments;
use super::busy::{Busy, BusySamples};
use glassbox_program::exit;
use glassbox_workloads::format;

/// The interval of the progress line.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// The interval of checks for an interrupt.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The results of a run.
pub struct MeasuredRun {
    pub seconds: f64,
    pub tally: LatencyTally,
    /// The simulated page accesses of the buffer pool, if they were traced.
    pub simulated: Option<SimulatedPages>,
    /// Counts of the run alone; memory at its end.
    pub stats: Stats,
    pub busy: Busy,
    /// The interquartile range of throughputs during the run, per second.
    pub throughput_spread: Option<f64>,
    pub interrupted: bool,
    /// The error that ended the run early, if a client failed.
    pub failed: Option<Error>,
}

/// Runs the clients; only meanwhile is the disk as slow as it should be.
pub fn run(arguments: &TpccArguments, db: &Database, scale: &Scale, disk: Option<&SlowDisk>) -> MeasuredRun {
    let set_slow = |is_slow| {
        if let Some(disk) = disk {
            disk.set_slow(is_slow);
        }
    };
    let clients = arguments.clients();
    let settings = Settings {
        scale: *scale,
        mix: arguments.mix().mix(),
        remote: arguments.remote(),
        home: Home::Any,
        load_seed: LOAD_SEED,
        seed: arguments.common.seed,
    };
    let (tallies, stop) = (ClientTallies::new(clients), AtomicBool::new(false));
    let (before, simulated_before) = (db.counts(), db.simulated_pages());
    set_slow(true);
    let started = Instant::now();
    let (result, (rates, busy)) = std::thread::scope(|scope| {
        let (tallies, stop, settings) = (&tallies, &stop, &settings);
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    let mut inputs =
                        Inputs::new(&Settings { home: arguments.home(client), ..*settings }, client as u64);
                    let mut recorder = tallies.recorder(client);
                    let result = run_client(db, &mut inputs, arguments.in_flight, stop, &mut recorder);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        let watched = watch(db, tallies, stop, arguments.seconds);
        stop.store(true, Ordering::Relaxed);
        let results = threads.into_iter().map(|thread| thread.join().expect("clients do not panic"));
        (results.collect::<Result<Vec<()>, _>>(), watched)
    });
    let seconds = started.elapsed().as_secs_f64();
    set_slow(false);
    // The space of tables last: finding it reads pages.
    let (counts, simulated) = (difference(&before, db.counts()), db.simulated_pages());
    let simulated = simulated.zip(simulated_before).map(|(after, before)| SimulatedPages {
        missed: after.missed - before.missed,
        written: after.written - before.written,
    });
    let stats = Stats { tables: db.stats().tables, ..counts };
    let interrupted = exit::interrupted();
    let failed = result.err();
    let (tally, throughput_spread) = (tallies.sum(), middle_half(rates));
    MeasuredRun { seconds, tally, simulated, stats, busy, throughput_spread, interrupted, failed }
}

/// Shows the progress until the time is over, an interrupt, or the failure of a client. Returns throughputs per second,
/// and how busy partitions and cores were.
fn watch(db: &Database, tallies: &ClientTallies, stop: &AtomicBool, seconds: f64) -> (Vec<f64>, Busy) {
    let started = Instant::now();
    let bar = ProgressBar::new((seconds * 1e3) as u64);
    let template = "{prefix}  {bar:20}  {msg}";
    bar.set_style(ProgressStyle::with_template(template).expect("a constant"));
    let (mut rates, mut last, mut last_tally, mut last_bytes) =
        (Vec::new(), started, LatencyTally::new(), db.counts().log_bytes);
    let mut busy = BusySamples::new();
    loop {
        std::thread::sleep(
            CHECK_INTERVAL.min(Duration::from_secs_f64((seconds - started.elapsed().as_secs_f64()).max(0.0))),
        );
        busy.add(&db.partition_stats());
        let now = Instant::now();
        let elapsed = (now - started).as_secs_f64();
        let over = elapsed >= seconds || exit::interrupted() || stop.load(Ordering::Relaxed);
        if now - last >= PROGRESS_INTERVAL {
            let (tally, bytes) = (tallies.sum(), db.counts().log_bytes);
            let interval = (now - last).as_secs_f64();
            let (_, _, mut latencies) = tally.total();
            latencies.subtract(last_tally.total().2).expect("tallies only grow");
            let rate = latencies.len() as f64 / interval;
            rates.push(rate);
            bar.set_position((elapsed * 1e3) as u64);
            bar.set_prefix(format!("{elapsed:>5.1} s of {seconds}"));
            bar.set_message(format!(
                "{:>9} tx/s  p50 {:>7}  p99 {:>7}  log {:>5} MB/s",
                format::number(rate),
                format::time(latencies.value_at_quantile(0.5) as f64),
                format::time(latencies.value_at_quantile(0.99) as f64),
                format::number((bytes - last_bytes) as f64 / interval / 1e6),
            ));
            (last, last_tally, last_bytes) = (now, tally, bytes);
        }
        if over {
            bar.finish_and_clear();
            return (rates, busy.end());
        }
    }
}

/// The counts of `after` since `before`.
fn difference(before: &Stats, after: Stats) -> Stats {
    Stats {
        committed: after.committed - before.committed,
        aborted: after.aborted - before.aborted,
        rerun: after.rerun - before.rerun,
        handed_over: after.handed_over - before.handed_over,
        multi_partition: after.multi_partition - before.multi_partition,
        multi_partition_ns: after.multi_partition_ns - before.multi_partition_ns,
        partitions: std::iter::zip(after.partitions, &before.partitions)
            .map(|(after, before)| after.since(before))
            .collect(),
        misdeclared: after.misdeclared - before.misdeclared,
        log_forces: after.log_forces - before.log_forces,
        log_bytes: after.log_bytes - before.log_bytes,
        log_full: after.log_full - before.log_full,
        classic: after.classic.zip(before.classic).map(|(after, before)| after.since(&before)),
        ..after
    }
}

/// The distance between the quartiles; `None` for less than four values.
fn middle_half(mut values: Vec<f64>) -> Option<f64> {
    if values.len() < 4 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some(values[values.len() * 3 / 4] - values[values.len() / 4])
}

/// The results of the checks.
pub struct CheckResults {
    /// The report of each condition.
    pub conditions: Vec<Report>,
    /// The problems of indexes.
    pub indexes: Vec<String>,
    /// The duration of the checks.
    pub seconds: f64,
}

impl CheckResults {
    /// Checks conditions and indexes.
    pub fn check(db: &Database, scale: &Scale) -> anyhow::Result<Self> {
        let started = Instant::now();
        let conditions = check_database(db, scale)?;
        let indexes = db.verify();
        Ok(Self { conditions, indexes, seconds: started.elapsed().as_secs_f64() })
    }

    /// Whether no problem was found.
    pub fn is_good(&self) -> bool {
        self.conditions.iter().all(Report::holds) && self.indexes.is_empty()
    }
}
