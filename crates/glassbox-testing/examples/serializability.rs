//! Histories of concurrent clients, checked, as long as wanted: `cargo run --release -p glassbox-testing --example
//! serializability -- --seconds 60 --threads 4`.
//!
//! History after history, each on a new database, with the configurations taken in turn; a history is of
//! `--transactions`, by clients in `--threads`, and is checked for strict serializability. Ends with status 1 at the
//! first that is not, with the anomalies explained. With `--fault`, the engine is broken on purpose, and status 0 means
//! that this was noticed.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use glassbox::config::{ClassicConfig, Granularity};
use glassbox::{Config, LogKind};
use glassbox_testing::history::in_short;
use glassbox_testing::serializability::broken::{Broken, SEEDED_BUGS, SeededBug};
use glassbox_testing::serializability::executor::open;
use glassbox_testing::serializability::workload::{Forms, HistorySettings};
use glassbox_testing::serializability::{Report, check, runner};

const USAGE: &str = "usage: serializability [--seconds N] [--threads N] [--transactions N] [--seed N] \
                     [--fault reads-apart | scans-apart | steps-apart | aborts-kept]";
/// How often it says how far it is.
const TELL: Duration = Duration::from_secs(5);
const FORMS: [Forms; 3] = [Forms::Both, Forms::Lists, Forms::Clubs];

/// The engines.
fn kinds() -> [Config; 7] {
    let partitioned = |partitions, log| Config::default().with_partitions(partitions).with_log(log);
    let small = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(256 << 10).with_sessions(16);
    let classic = |classic| Config::classic(classic);
    [
        partitioned(1, LogKind::Values),
        classic(small.clone()),
        partitioned(4, LogKind::Commands),
        classic(small.clone().with_granularity(Granularity::Page)),
        partitioned(2, LogKind::Values),
        classic(small.with_escalate_at(2)),
        partitioned(1, LogKind::Commands),
    ]
}

struct Arguments {
    seconds: u64,
    threads: usize,
    transactions: u32,
    seed: u64,
    fault: Option<SeededBug>,
}

/// The counts so far.
#[derive(Default)]
struct Sum {
    histories: u64,
    transactions: u64,
    rerun: u64,
    edges: u64,
    overlaps: u64,
    running: Duration,
    checking: Duration,
}

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments { seconds: 10, threads: 4, transactions: 20_000, seed: 1, fault: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--seconds" => arguments.seconds = value.parse().ok()?,
            "--threads" => arguments.threads = value.parse().ok().filter(|threads| *threads > 0)?,
            "--transactions" => arguments.transactions = value.parse().ok()?,
            "--seed" => arguments.seed = value.parse().ok()?,
            "--fault" => arguments.fault = Some(SEEDED_BUGS.iter().find(|(name, _)| *name == value)?.1),
            _ => return None,
        }
    }
    Some(arguments)
}

fn one(arguments: &Arguments, sum: &mut Sum) -> Result<Report, String> {
    let at = sum.histories as usize;
    let kinds = kinds();
    let config = &kinds[at % kinds.len()];
    let settings = HistorySettings {
        seed: arguments.seed + sum.histories,
        clients: arguments.threads,
        transactions: arguments.transactions,
        forms: FORMS[at % FORMS.len()],
        abort_one_in: 12,
    };
    let began = Instant::now();
    let database = open(config).map_err(|error| error.to_string())?;
    let history = match arguments.fault {
        None => runner::run(&database, &settings).inspect(|_| sum.rerun += database.stats().rerun),
        Some(fault) => runner::run(&Broken { inner: database, fault }, &settings),
    };
    let history = history.map_err(|what| format!("{}, {settings:?}: {what}", in_short(config)))?;
    let ran = began.elapsed();
    let report = check(&history);
    sum.histories += 1;
    sum.transactions += report.transactions;
    sum.edges += report.edges;
    sum.overlaps += report.overlaps;
    sum.running += ran;
    sum.checking += began.elapsed() - ran;
    if report.is_strictly_serializable() {
        Ok(report)
    } else {
        Err(format!("{}, {settings:?}\n{report}", in_short(config)))
    }
}

impl Sum {
    fn tell(&self) {
        println!(
            "{} histories, {} transactions, {} run again, {} edges, {} overlapped with the next; ran {:.1} s, checked \
             {:.1} s",
            self.histories,
            self.transactions,
            self.rerun,
            self.edges,
            self.overlaps,
            self.running.as_secs_f64(),
            self.checking.as_secs_f64(),
        );
    }
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (began, mut told, mut sum) = (Instant::now(), Instant::now(), Sum::default());
    let wrong = loop {
        if let Err(what) = one(&arguments, &mut sum) {
            break Some(what);
        }
        if began.elapsed() >= Duration::from_secs(arguments.seconds) {
            break None;
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            sum.tell();
        }
    };
    sum.tell();
    match (arguments.fault, wrong) {
        (None, None) => println!("All is well: every history was strictly serializable."),
        (None, Some(what)) => {
            println!("WRONG: {what}");
            return ExitCode::FAILURE;
        }
        (Some(fault), Some(what)) => println!("{fault:?} was noticed: {what}"),
        (Some(fault), None) => {
            println!("WRONG: {fault:?} was not noticed");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
