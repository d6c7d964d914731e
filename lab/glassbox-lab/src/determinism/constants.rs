//! Figures 1a and 1c with this machine's constants instead of those that follow from the paper.
//!
//! Measured: a lock and its release in production's schedulers, the run of a record by production's procedure on a
//! partition with its undo buffer, and a message by a write and a read of a loopback connection. The other inputs are
//! the model's: there is no network on one machine, so its delay stays assumed. So these numbers differ between
//! machines, and between runs.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use anyhow::Context;
use glassbox::io::Dice;
use glassbox::procedure::Declared;
use glassbox::record::Timestamp;
use glassbox::research::shard::{
    Arguments, Call, DeclaredKeys, Kept, KeyRequest, PartitionSet, Ran, Shard, Task, Touch, WatchedKey,
};
use glassbox_cluster::{SchedulerKind, new_scheduler};
use glassbox_sim::determinism::{EvaluationSettings, ServiceTimes, WorkloadShape};
use glassbox_workloads::contention::{Counter, INCREMENTED, Increment, catalog};
use glassbox_workloads::format;

use super::jobs::{EvaluationJob, THROUGHPUT, run_all};
use super::plan::{EvaluationPlan, HIGH, LOW, contention, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, VLL, named};
use crate::measurement::{Progress, Spread};
use crate::points::Points;
use crate::section::{Figure, Section, Table};

/// In results, the experiment.
pub const EXPERIMENT: &str = "determinism-constants";
const CONSTANTS: &str = "constants";
const BY_SHARE: &str = "Figure 1a, this machine's constants";
const BY_CI: &str = "Figure 1c, this machine's constants";
const SYSTEMS: [&str; 3] = [HASH, VLL, TWIN];
const SHARES: [u32; 3] = [0, 20, 50];
const CONTENDED: [u64; 4] = [LOW, 1_000, HIGH, 10];
const INDEXES: [&str; 4] = ["0.0001", "0.001", "0.01", "0.1"];

/// Rows of the measured partition.
const ROWS: u32 = 100_000;
/// Transactions with locks while another one is measured.
const OTHERS: u64 = 64;
/// Bytes of a message with five rows.
const MESSAGE_BYTES: usize = 300;
/// Measurements of each constant, the median of which is taken.
const ROUNDS: usize = 5;

/// The nanoseconds of each of a round's steps, in the median of some rounds.
fn per_step(steps: u64, mut round: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        round()?;
        rounds.push(began.elapsed().as_nanos() as f64 / steps as f64);
    }
    Ok(Spread::of(rounds).median)
}

fn keys(dice: &mut Dice) -> DeclaredKeys {
    let request = |row: u64| {
        let key = WatchedKey::Short(row.into());
        KeyRequest { space: 1, low: key.clone(), high: key, touch: Touch::Write }
    };
    DeclaredKeys::new((0..INCREMENTED).map(|_| request(dice.below(ROWS.into()))).collect(), Declared::Complete)
}

/// A lock and its release.
fn lock_ns(kind: SchedulerKind, transactions: u64) -> anyhow::Result<f64> {
    let mut dice = Dice(1);
    let keys: Vec<_> = (0..1_024).map(|_| keys(&mut dice)).collect();
    let mut scheduler = new_scheduler(kind);
    let mut next = 0;
    per_step(transactions * INCREMENTED as u64, || {
        for _ in 0..transactions {
            scheduler.request(next, &keys[next as usize % keys.len()]);
            while let Some(ready) = scheduler.next_ready() {
                black_box(ready);
            }
            if let Some(ended) = next.checked_sub(OTHERS) {
                scheduler.release(ended);
            }
            next += 1;
        }
        Ok(())
    })
}

/// The run of a record.
fn record_ns(transactions: u64) -> anyhow::Result<f64> {
    let catalog = catalog();
    let mut dice = Dice(1);
    let mut shard = Shard::new(&catalog, 0, 1, 1 << 26)?;
    for id in 0..ROWS {
        shard.load(&Counter { home: 0, id, count: 0 })?;
    }
    let procedure = catalog.number_of::<Increment>()?;
    let mut call = || {
        let keys = (0..INCREMENTED as u32).map(|slot| (0, slot * 10_000 + dice.below(10_000) as u32)).collect();
        let arguments = Arguments::of(Increment { keys, work_us: 0 });
        Call { procedure, arguments, now: Timestamp::from_micros(1), seed: 1 }
    };
    let calls: Vec<_> = (0..1_024).map(|_| call()).collect();
    let declared: Vec<_> =
        calls.iter().map(|call| shard.declared(call)).collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
    per_step(transactions * INCREMENTED as u64, || {
        for at in (0..calls.len()).cycle().take(transactions as usize) {
            let mut kept = Kept::default();
            let mut watch = declared[at].watch();
            let task = Task { participants: PartitionSet::of(0), given: &[] };
            let ran = shard.run(&calls[at], task, Some(&mut kept), Some(&mut watch));
            anyhow::ensure!(matches!(ran, Ran::Done(_)), "an increment ended with {ran:?}");
            shard.commit(kept);
        }
        Ok(())
    })
}

/// A message, at one of its ends.
fn message_ns(messages: u64) -> anyhow::Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on a loopback port")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    sender.set_nodelay(true)?;
    let (mut receiver, _) = listener.accept()?;
    let mut message = [7; MESSAGE_BYTES];
    per_step(2 * messages, || {
        for _ in 0..messages {
            sender.write_all(&message)?;
            receiver.read_exact(&mut message)?;
        }
        Ok(())
    })
}

/// The model's times with this machine's instead, as far as they can be measured here; `quick`: less precisely.
///
/// # Errors
/// When the engine fails, or there is no loopback connection.
pub fn measure(quick: bool) -> anyhow::Result<ServiceTimes> {
    let count = if quick { 2_000 } else { 50_000 };
    let ns = |ns: f64| (ns.round() as u64).max(1);
    Ok(ServiceTimes {
        lock_ns: ns(lock_ns(SchedulerKind::OrderedLocks, count)?),
        lock_vll_ns: ns(lock_ns(SchedulerKind::Vll, count)?),
        record_ns: ns(record_ns(count)?),
        message_ns: ns(message_ns(count / 10)?),
        ..ServiceTimes::default()
    })
}

fn measured(times: &ServiceTimes) -> [(&'static str, u64); 4] {
    [
        (super::inputs::LOCK, times.lock_ns),
        (super::inputs::LOCK_BY_VLL, times.lock_vll_ns),
        (super::inputs::RECORD, times.record_ns),
        (super::inputs::MESSAGE, times.message_ns),
    ]
}

/// Simulates the figures with these times.
pub fn simulate(times: &ServiceTimes, quick: bool, seed: u64, watch: &dyn Progress) -> Points {
    // A node executes a hundred times as many transactions as with the other constants.
    let measured_ms = if quick { 10 } else { 20 };
    let plan = EvaluationPlan { warm_up_ms: 30, measured_ms, ..EvaluationPlan::new(quick, seed) };
    run(times, &plan, watch)
}

pub(super) fn run(times: &ServiceTimes, plan: &EvaluationPlan, watch: &dyn Progress) -> Points {
    let job = |figure, row: String, x, system, shape| {
        let settings = EvaluationSettings { times: times.clone(), ..plan.settings(named(system), shape) };
        EvaluationJob::new(figure, row, x, settings)
    };
    let mut jobs = Vec::new();
    for system in SYSTEMS {
        for percent in SHARES {
            let shape = WorkloadShape::short(HIGH).with_distributed(share(percent), 2);
            let row = format!("{system}, {}", contention(HIGH));
            jobs.push(job(BY_SHARE, row, f64::from(percent), system, shape));
        }
        for (decade, hot) in CONTENDED.into_iter().enumerate() {
            let shape = WorkloadShape::short(hot).with_distributed(0.2, 2);
            jobs.push(job(BY_CI, system.to_owned(), decade as f64, system, shape));
        }
    }
    let mut points = run_all(&jobs, watch);
    let of_the_paper = measured(&ServiceTimes::default());
    for ((name, here), (_, paper)) in measured(times).into_iter().zip(of_the_paper) {
        points.put(CONSTANTS, name, 0.0, "here", here as f64, "ns");
        points.put(CONSTANTS, name, 0.0, "elsewhere", paper as f64, "ns");
    }
    points
}

const fn plot(figure: &'static str, x_unit: &'static str, x_names: &'static [&'static str]) -> Plot {
    Plot {
        figure,
        title: "Short transactions",
        caption: "The paper's eight nodes of five cores. Locks, records and messages cost what was measured on this \
                  machine; the delay of the network is assumed.",
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit,
        x_names,
    }
}

const PLOTS: [Plot; 2] = [
    plot(BY_SHARE, "% of transactions on two nodes", &[]),
    plot(BY_CI, "contention index, 20 % distributed", &INDEXES),
];

fn table(points: &Points) -> Option<Table> {
    let names = measured(&ServiceTimes::default()).map(|(name, _)| name);
    let row = |name: &str| {
        let ns = |metric| points.value(CONSTANTS, name, metric).map(format::number);
        Some(vec![name.to_owned(), ns("here")?, ns("elsewhere")?])
    };
    let rows: Vec<_> = names.into_iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::new(&["constant, ns", "measured on this machine", "in the other figures"], rows))
}

/// The question of the section.
const QUESTION: &str = "What remains of the deterministic system's gains where locks, records and messages cost what \
                        they cost on this machine?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("constant", "the processor's time for a lock, a record or a message, an input of the queueing model"),
    ("deterministic, hash and VLL", "the deterministic system with one of its two schedulers"),
    ("nondeterministic", "two-phase locking, with two-phase commit for transactions on several nodes"),
];
/// How it is measured.
const LEAD: &str = "Figures 1a and 1c by the same model, with locks, records and messages as fast as on this machine.";

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let gain = |share: f64| {
        let row = |system| format!("{system}, {}", contention(HIGH));
        let of = |system| points.at(BY_SHARE, &row(system), share, THROUGHPUT).map(|point| point.value);
        Some(of(HASH)? / of(TWIN)?)
    };
    let none = gain(0.0)?;
    let half = gain(50.0)?;
    Some(format!(
        "With high contention, the deterministic system makes {none:.2} times the transactions of the nondeterministic \
         one where none are distributed, and {half:.2} times as many where half of them are."
    ))
}

/// The section of a report.
pub fn section(points: &Points) -> Section {
    let caption = "A lock with its release, and a record, each of ten; a message at one of its ends.";
    let constants = table(points).map(|table| Figure::of_table("This machine's constants", caption, table));
    let figures = PLOTS.iter().filter_map(|plot| plot.draw(points));
    Section {
        id: EXPERIMENT.to_owned(),
        title: "Deterministic execution with this machine's constants".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: String::new(),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: String::new(),
        notes: Vec::new(),
        figures: constants.into_iter().chain(figures).collect(),
    }
}

/// All tables, for the terminal.
pub fn tables(points: &Points) -> Vec<Table> {
    table(points).into_iter().chain(PLOTS.iter().filter_map(|plot| plot.table(points))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::PROCESSORS;
    use crate::determinism::tests::Steps;

    /// Too short for its numbers.
    #[test]
    fn figures_are_drawn_with_the_constants_of_this_machine() {
        let _busy = PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner);
        let times = measure(true).unwrap();
        let assumed = ServiceTimes::default();
        assert!(times.lock_ns < assumed.lock_ns && times.delay_ns == assumed.delay_ns, "{times:?}");
        // A tenth of the rates of this machine.
        let slower = ServiceTimes { lock_ns: 10 * times.lock_ns, record_ns: 10 * times.record_ns, ..times };
        let plan = EvaluationPlan { warm_up_ms: 11, measured_ms: 10, ..EvaluationPlan::new(true, 1) };
        let points = run(&slower, &plan, &Steps::all());
        let section = section(&points);
        let titles: Vec<_> = section.figures.iter().map(|figure| figure.title.as_str()).collect();
        assert!(titles.iter().all(|title| title.contains("machine's constants")) && titles.len() == 3, "{titles:?}");
        let lines = tables(&points).iter().map(|table| table.rows.len()).collect::<Vec<_>>();
        assert_eq!(lines, [4, SYSTEMS.len(), SYSTEMS.len()]);
    }
}
