//! The worth of a second force in flight: group commit with one and with two blocks on their way to the disk.
//!
//! A log without contents: clients append records of 800 bytes and wait until they are durable, each with some in
//! flight; flushers take all that was appended as one block, write it to a file of zeros, and force it. A record is
//! durable when its block and all before it are. With two flushers the next block is written and forced before the
//! first returns. Rounds alternate.
//!
//! ```sh
//! cargo run --release -p glassbox-lab --example forces -- DIRECTORY [ROUNDS [SECONDS]]
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

const RECORD_BYTES: u64 = 800;
const PAGE_BYTES: u64 = 4096;
/// The file: blocks follow each other in it, from its beginning again when it ends.
const FILE_BYTES: u64 = 64 << 20;
/// Clients, and how many records each has in flight.
const LOADS: [(usize, u64); 7] = [(1, 1), (2, 1), (8, 1), (32, 1), (1, 16), (2, 16), (2, 1024)];
/// The computation of a client for a record.
const WORK: Duration = Duration::from_micros(3);

/// The log's positions, in records.
#[derive(Default)]
struct Positions {
    appended: u64,
    /// The end of the last block that was taken.
    taken: u64,
    durable: u64,
    /// Ends of blocks that were forced before one that precedes them.
    early: Vec<(u64, u64)>,
    forces: u64,
    offset: u64,
}

struct Log {
    file: File,
    positions: Mutex<Positions>,
    appended: Condvar,
    durable: Condvar,
    is_over: AtomicBool,
    /// Whether all clients have ended: nothing is appended any more.
    is_closed: AtomicBool,
}

impl Log {
    fn positions(&self) -> MutexGuard<'_, Positions> {
        self.positions.lock().expect("no thread panics")
    }

    /// Writes and forces blocks until all clients have ended.
    fn flush(&self) {
        let zeros = vec![0; 8 << 20];
        let mut positions = self.positions();
        loop {
            while positions.appended == positions.taken {
                if self.is_closed.load(Ordering::Relaxed) {
                    return;
                }
                positions = self.appended.wait_timeout(positions, Duration::from_millis(10)).expect("no panic").0;
            }
            let begin = positions.taken;
            let end = positions.appended;
            positions.taken = end;
            let bytes = ((end - begin) * RECORD_BYTES).next_multiple_of(PAGE_BYTES).min(zeros.len() as u64);
            if positions.offset + bytes > FILE_BYTES {
                positions.offset = 0;
            }
            let offset = positions.offset;
            positions.offset += bytes;
            drop(positions);
            self.file.write_all_at(&zeros[..bytes as usize], offset).expect("the file can be written");
            self.file.sync_data().expect("the file can be forced");
            positions = self.positions();
            positions.forces += 1;
            positions.early.push((begin, end));
            while let Some(next) = positions.early.iter().position(|block| block.0 == positions.durable) {
                positions.durable = positions.early.swap_remove(next).1;
            }
            self.durable.notify_all();
        }
    }

    /// Appends records, and waits for the oldest when `in_flight` are; the sum of their times, and their number.
    fn append(&self, in_flight: u64) -> (Duration, u64) {
        let mut times = Duration::ZERO;
        let mut ended = 0;
        let mut waiting: VecDeque<(u64, Instant)> = VecDeque::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            while begun.elapsed() < WORK {
                std::hint::spin_loop();
            }
            let mut positions = self.positions();
            positions.appended += 1;
            waiting.push_back((positions.appended, begun));
            self.appended.notify_one();
            if waiting.len() as u64 == in_flight {
                let oldest = waiting[0].0;
                while positions.durable < oldest {
                    positions = self.durable.wait(positions).expect("no panic");
                }
            }
            let durable = positions.durable;
            drop(positions);
            while let Some((_, begun)) = waiting.pop_front_if(|it| it.0 <= durable) {
                times += begun.elapsed();
                ended += 1;
            }
        }
        (times, ended)
    }
}

/// Records a second, their mean time in microseconds, and forces a second.
fn run(path: &Path, flushers: usize, (clients, in_flight): (usize, u64), time: Duration) -> [f64; 3] {
    let file = File::options().read(true).write(true).open(path).expect("the file can be opened");
    let (positions, appended, durable, is_over, is_closed) = Default::default();
    let log = Log { file, positions, appended, durable, is_over, is_closed };
    let sums = std::thread::scope(|scope| {
        for _ in 0..flushers {
            scope.spawn(|| log.flush());
        }
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(|| log.append(in_flight))).collect();
        std::thread::sleep(time);
        log.is_over.store(true, Ordering::Relaxed);
        let sums = clients.into_iter().map(|client| client.join().expect("no client panics"));
        let sums =
            sums.fold((Duration::ZERO, 0), |(times, ended), (time, of_client)| (times + time, ended + of_client));
        log.is_closed.store(true, Ordering::Relaxed);
        sums
    });
    let ended = sums.1.max(1) as f64;
    let seconds = time.as_secs_f64();
    [ended / seconds, sums.0.as_secs_f64() * 1e6 / ended, log.positions().forces as f64 / seconds]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("the first argument is a directory");
    let rounds: usize = arguments.next().map_or(9, |it| it.parse().expect("a number of rounds"));
    let seconds: f64 = arguments.next().map_or(1.0, |it| it.parse().expect("seconds of a run"));
    let path = Path::new(&directory).join("forces.tmp");
    std::fs::write(&path, vec![0; FILE_BYTES as usize]).expect("the directory has room");
    File::open(&path).and_then(|file| file.sync_all()).expect("the file can be forced");
    println!("medians of {rounds} rounds of {seconds} s, one force in flight, two, and the ratio of the two");
    println!("clients  in flight    records/s               mean time, µs           forces/s");
    for load in LOADS {
        let of = |flushers| run(&path, flushers, load, Duration::from_secs_f64(seconds));
        let runs: Vec<[[f64; 3]; 2]> = (0..rounds).map(|_| [of(1), of(2)]).collect();
        print!("{:7}  {:9}", load.0, load.1);
        for what in 0..3 {
            let of = |which: usize| median(runs.iter().map(|run| run[which][what]));
            let ratio = median(runs.iter().map(|run| run[1][what] / run[0][what]));
            print!("  {:8.0} {:8.0} {ratio:5.2}", of(0), of(1));
        }
        println!();
    }
    std::fs::remove_file(&path).expect("the file can be removed");
}
