//! The run itself: clients in threads, and a line that shows how it goes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use glassbox::{Database, Error, SimulatedPages, Stats};
use glassbox_workloads::tpcc::{Home, Inputs, Scale, Settings, run_client};
use indicatif::{ProgressBar, ProgressStyle};

use super::Arguments;
use super::prepare::LOAD_SEED;
use super::tally::{Tallies, Tally};
use crate::{format, interrupt};

/// How often the line changes.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Latest after which an interrupt is noticed.
const NAP: Duration = Duration::from_millis(10);

/// What a run measured.
pub struct Measured {
    pub seconds: f64,
    pub tally: Tally,
    /// What the pool of pages should have done by simulation, if that was traced.
    pub simulated: Option<SimulatedPages>,
    /// Counts of the run alone; memory at its end.
    pub stats: Stats,
    /// How far the throughputs of moments of the run lie apart, the middle half of them, per second.
    pub throughput_spread: Option<f64>,
    pub interrupted: bool,
    /// Why the run ended early, if a client met an error.
    pub failed: Option<Error>,
}

/// Runs the clients.
pub fn run(arguments: &Arguments, db: &Database, scale: &Scale) -> Measured {
    let clients = arguments.clients();
    let settings = Settings {
        scale: *scale,
        mix: arguments.mix.mix(),
        remote: arguments.remote(),
        home: Home::Any,
        load_seed: LOAD_SEED,
        seed: arguments.common.seed,
    };
    let (tallies, stop) = (Tallies::new(clients), AtomicBool::new(false));
    let (before, simulated_before) = (db.counts(), db.simulated_pages());
    let started = Instant::now();
    let (result, rates) = std::thread::scope(|scope| {
        let (tallies, stop, settings) = (&tallies, &stop, &settings);
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    let mut inputs = Inputs::new(settings, client as u64);
                    let mut recorder = tallies.recorder(client);
                    let result = run_client(db, &mut inputs, arguments.in_flight, stop, &mut recorder);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        let rates = watch(db, tallies, stop, arguments.seconds);
        stop.store(true, Ordering::Relaxed);
        let results = threads.into_iter().map(|thread| thread.join().expect("clients do not panic"));
        (results.collect::<Result<Vec<()>, _>>(), rates)
    });
    let seconds = started.elapsed().as_secs_f64();
    // The space of tables last: looking for it reads pages.
    let (counts, simulated) = (difference(&before, db.counts()), db.simulated_pages());
    let simulated = simulated.zip(simulated_before).map(|(after, before)| SimulatedPages {
        missed: after.missed - before.missed,
        written: after.written - before.written,
    });
    let stats = Stats { tables: db.stats().tables, ..counts };
    let interrupted = interrupt::requested();
    let failed = result.err();
    let (tally, throughput_spread) = (tallies.sum(), middle_half(rates));
    Measured { seconds, tally, simulated, stats, throughput_spread, interrupted, failed }
}

/// Shows the run until its time is over, it is interrupted, or a client failed; gives throughputs, per second.
fn watch(db: &Database, tallies: &Tallies, stop: &AtomicBool, seconds: f64) -> Vec<f64> {
    let started = Instant::now();
    let bar = ProgressBar::new((seconds * 1e3) as u64);
    let template = "{prefix}  {bar:20}  {msg}";
    bar.set_style(ProgressStyle::with_template(template).expect("a constant"));
    let (mut rates, mut last, mut last_tally, mut last_bytes) =
        (Vec::new(), started, Tally::new(), db.counts().log_bytes);
    loop {
        std::thread::sleep(NAP.min(Duration::from_secs_f64((seconds - started.elapsed().as_secs_f64()).max(0.0))));
        let now = Instant::now();
        let elapsed = (now - started).as_secs_f64();
        let over = elapsed >= seconds || interrupt::requested() || stop.load(Ordering::Relaxed);
        if now - last >= LOOK_EVERY {
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
            return rates;
        }
    }
}

/// The counts of `after` since `before`.
fn difference(before: &Stats, after: Stats) -> Stats {
    Stats {
        committed: after.committed - before.committed,
        aborted: after.aborted - before.aborted,
        rerun: after.rerun - before.rerun,
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
