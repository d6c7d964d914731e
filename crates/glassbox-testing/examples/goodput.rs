//! Goodput of threads that have many calls outstanding, compared with that of the same threads with one each:
//! `cargo run --release -p glassbox-testing --example goodput -- --seconds 2.5 --pairs 9`.
//!
//! Two partitions, a log of values on disk, calls that add to a row, and one of eight that adds to four rows of both
//! partitions. For each form of execution the two loads run by turns; the last columns are the median of the ratios of
//! goodput within a pair, with its extremes, and the calls of the thread with the fewest as a part of the mean, the
//! worst of all pairs. `--no-order` does without order among calls of a thread; `--single` without calls on both
//! partitions.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use glassbox::config::Execution;
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

const USAGE: &str = "usage: goodput [--form auto|caller|core|thread] [--threads N] [--tickets N] [--seconds S] \
                     [--pairs N] [--no-order] [--single]";
const ROWS: u32 = 100_000;
/// One call in this number needs both partitions.
const SEVERAL_EVERY: u32 = 8;

#[derive(Record, Clone, Copy)]
#[record(key = id)]
struct Counter {
    id: u32,
    value: u64,
}

/// Adds to counters.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Add {
    ids: [u32; 4],
    count: u8,
}

impl Add {
    fn ids(&self) -> &[u32] {
        &self.ids[..usize::from(self.count)]
    }
}

impl Procedure for Add {
    const NAME: &'static str = "add";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.ids().iter().for_each(|id| set.write::<Counter>(id));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for id in self.ids() {
            tx.update::<Counter, _>(id, |counter| counter.value += 1)?.ok_or(Stop::abort(1, "no such counter"))?;
        }
        Ok(())
    }
}

struct Arguments {
    forms: Vec<(&'static str, Execution)>,
    threads: usize,
    tickets: usize,
    seconds: f64,
    pairs: usize,
    in_order: bool,
    several: bool,
}

const FORMS: [(&str, Execution); 4] = [
    ("auto", Execution::Auto),
    ("caller", Execution::Caller),
    ("core", Execution::Core),
    ("thread", Execution::Thread),
];

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments {
        forms: FORMS.to_vec(),
        threads: 64,
        tickets: 64,
        seconds: 2.5,
        pairs: 9,
        in_order: true,
        several: true,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--no-order" => arguments.in_order = false,
            "--single" => arguments.several = false,
            "--form" => {
                let name = words.next()?;
                arguments.forms.retain(|(form, _)| *form == name);
            }
            "--threads" => arguments.threads = words.next()?.parse().ok()?,
            "--tickets" => arguments.tickets = words.next()?.parse().ok()?,
            "--seconds" => arguments.seconds = words.next()?.parse().ok()?,
            "--pairs" => arguments.pairs = words.next()?.parse().ok()?,
            _ => return None,
        }
    }
    let is_whole = !arguments.forms.is_empty() && arguments.threads > 0 && arguments.tickets > 0 && arguments.pairs > 0;
    is_whole.then_some(arguments)
}

/// Calls a second, and those of the thread with the fewest as a part of the mean.
fn goodput(arguments: &Arguments, form: Execution, tickets: usize) -> Result<(f64, f64), Error> {
    let directory = tempfile::tempdir_in(".").expect("a directory can be made here");
    let config = Config::default().with_partitions(2).with_execution(form).with_in_order(arguments.in_order);
    let catalog = Catalog::new().table::<Counter>().procedure::<Add>();
    let database = Database::open(directory.path().join("goodput.db"), config, catalog)?;
    let load = database.bulk_load()?;
    (0..ROWS).try_for_each(|id| load.insert(&Counter { id, value: 0 }))?;
    load.finish()?;
    let database = &database;
    let begin = &Barrier::new(arguments.threads);
    let calls = std::thread::scope(|scope| {
        let client = |thread: usize| -> Result<u64, Error> {
            let mut random = (thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut draw = move |below: u32| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) as u32 % below
            };
            begin.wait();
            let until = Instant::now() + Duration::from_secs_f64(arguments.seconds);
            let mut calls = 0;
            let mut outstanding = VecDeque::with_capacity(tickets);
            while Instant::now() < until {
                while outstanding.len() < tickets {
                    let mut call = Add { ids: [0; 4].map(|_| draw(ROWS)), count: 1 };
                    if arguments.several && draw(SEVERAL_EVERY) == 0 {
                        call.count = 4;
                    }
                    outstanding.push_back(database.submit(call)?);
                }
                outstanding.pop_front().expect("there is one").wait()?;
                calls += 1;
            }
            Ok(calls)
        };
        let threads: Vec<_> = (0..arguments.threads).map(|thread| scope.spawn(move || client(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Result<Vec<u64>, _>>()
    })?;
    let sum: u64 = calls.iter().sum();
    let mean = sum as f64 / calls.len() as f64;
    let fewest = *calls.iter().min().expect("there is a thread");
    Ok((sum as f64 / arguments.seconds, fewest as f64 / mean))
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let Arguments { threads, tickets, .. } = arguments;
    let [one, many] = [1, tickets].map(|tickets| format!("{threads} x {tickets}"));
    println!("{:>8} {one:>14} {many:>14} {:>8} {:>16} {:>12}", "form", "ratio", "(extremes)", "fewest/mean");
    for &(name, form) in &arguments.forms {
        let mut sums = [Vec::new(), Vec::new()];
        let mut ratios = Vec::new();
        let mut fewest = f64::INFINITY;
        for _ in 0..arguments.pairs {
            let pair = [1, tickets].map(|tickets| goodput(&arguments, form, tickets));
            let [Ok((one, fewest_of_one)), Ok((many, fewest_of_many))] = pair else {
                eprintln!("goodput: {}", pair.into_iter().find_map(Result::err).expect("one failed"));
                return ExitCode::FAILURE;
            };
            sums[0].push(one);
            sums[1].push(many);
            ratios.push(many / one);
            fewest = fewest.min(fewest_of_one).min(fewest_of_many);
        }
        sums.iter_mut().chain([&mut ratios]).for_each(|values| values.sort_by(f64::total_cmp));
        let extremes = format!("({:.2} to {:.2})", ratios[0], ratios[ratios.len() - 1]);
        let [one, many] = sums.map(|values| median(&values).round());
        println!("{name:>8} {one:>14} {many:>14} {:>8.2} {extremes:>16} {fewest:>12.2}", median(&ratios));
    }
    ExitCode::SUCCESS
}
