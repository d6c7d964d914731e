//! Random histories, as long as wanted: `cargo run --release -p glassbox-testing --example histories -- --operations
//! 1000000 --seed 1`.
//!
//! The operations are shared out to histories of a few thousand, at 1 and at 4 partitions, with both kinds of log, and
//! on the classic engine with locks of records and of pages; each is closed, killed and crashed again and again, and
//! opened with other numbers of partitions, the other kind of log, the other kind of locks. Ends with status 1 at the
//! first answer or row that is not the model's.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use glassbox::config::Granularity;
use glassbox::{Config, LogKind};
use glassbox_testing::history::{in_short, tiny, tiny_classic};
use glassbox_testing::runs::{RandomHistory, Sum};

const USAGE: &str = "usage: histories [--operations N] [--seed N]";
/// Operations of one history.
const LENGTH: u64 = 5_000;
/// Kinds of engine.
const KINDS: usize = 6;

fn kinds() -> [Config; KINDS] {
    let mut pages = tiny_classic();
    pages.classic.granularity = Granularity::Page;
    [
        tiny(1, LogKind::Values),
        tiny(1, LogKind::Commands),
        tiny(4, LogKind::Values),
        tiny(4, LogKind::Commands),
        tiny_classic(),
        pages,
    ]
}

fn arguments() -> Option<(u64, u64)> {
    let (mut operations, mut seed) = (20_000, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next()?.parse().ok()?;
        match word.as_str() {
            "--operations" => operations = number,
            "--seed" => seed = number,
            _ => return None,
        }
    }
    Some((operations, seed))
}

fn main() -> ExitCode {
    let Some((operations, seed)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let count = operations.div_ceil(LENGTH).next_multiple_of(KINDS as u64);
    let (next, sums, wrong) = (AtomicU64::new(0), Mutex::new([Sum::default(); KINDS]), Mutex::new(None));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let kind = at as usize % KINDS;
            let config = kinds()[kind].clone();
            let history = RandomHistory { seed: seed + at, operations: operations.div_ceil(count) as usize, config };
            match history.run() {
                Ok(sum) => sums.lock().expect("no thread panics while it holds it")[kind] += sum,
                Err(what) => {
                    wrong.lock().expect("no thread panics while it holds it").get_or_insert(what);
                    next.store(count, Ordering::Relaxed);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    for (config, sum) in kinds().iter().zip(sums.into_inner().expect("all threads have ended")) {
        println!("{}: {sum:?}", in_short(config));
    }
    match wrong.into_inner().expect("all threads have ended") {
        None => {
            println!("All is well: {count} histories from seed {seed} on.");
            ExitCode::SUCCESS
        }
        Some(what) => {
            println!("WRONG: {what}");
            ExitCode::FAILURE
        }
    }
}
