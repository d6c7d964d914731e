//! Where a fuzzer gets in: one function for each decoder of bytes that may be anything.
//!
//! Problem: what is on disk is guarded by checksums, so random bytes never come further than these; and what lies
//! behind them must not panic either, because a checksum can be right by malice, by a mistake of the program that wrote
//! it, or by luck. So targets look at an input as it is and *sealed*, with all checksums made right
//! (`seal.rs`).
//!
//! Each asserts what it can beyond not panicking: that two decoders of one format agree, that what was read is written
//! again as the same bytes, that indexes agree with tables. `fuzz/` gives the targets to libFuzzer, `tests/fuzz.rs`
//! runs them on mutated [`seeds`] whenever tests are run. Not part of the library's interface.

mod files;
mod pages;
mod records;
mod seal;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::io::{Files, ManualClock, MemoryFiles};
use crate::procedure::{Declared, KeySet, Procedure, Stop, Transaction};
use crate::record::{Bytes, Decimal, Text, Timestamp};
use crate::{Catalog, Config, Database, LogKind, Record};

/// A target: its name, and what takes the bytes. It panics when something is wrong.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 11] = [
    ("manifest", files::manifest),
    ("checkpoint", files::checkpoint),
    ("log", files::log),
    ("directory", files::directory),
    ("changes", records::changes),
    ("command", records::command),
    ("row", records::row),
    ("wal", pages::wal),
    ("volume", pages::volume),
    ("double", pages::double),
    ("pages", pages::pages),
];

/// Runs the target of this name.
///
/// # Panics
/// When there is none, or something is wrong.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("there is such a target");
    target(bytes);
}

/// A record with a column of every type and every kind of index.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "every", key = (a, e), partition_by = e, index(name = by_text, columns = (t, a)),
         index(name = by_time, columns = (e, k), unique))]
struct Every {
    a: u8,
    c: Option<u32>,
    d: u64,
    e: i8,
    g: i32,
    i: bool,
    j: Decimal<2>,
    k: Timestamp,
    t: Text<4>,
    m: Bytes<3>,
    n: Option<Text<2>>,
}

fn every(number: u8) -> Every {
    Every {
        a: number % 8,
        c: (number % 2 == 1).then_some(number.into()),
        d: u64::from(number) << 40,
        e: (number / 8) as i8 - 2,
        g: -i32::from(number),
        i: number % 3 == 1,
        j: Decimal::from_units(number.into()),
        k: Timestamp::from_micros(number.into()),
        t: Text::truncated(["", "x", "née", "zz"][usize::from(number % 4)]),
        m: Bytes([number; 3]),
        n: (number % 5 > 1).then_some(Text::truncated("n")),
    }
}

/// A procedure with arguments of many types.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct AllArgumentTypes {
    keys: Vec<(u8, i8)>,
    text: Text<4>,
    bytes: Bytes<3>,
    amount: Decimal<2>,
    at: Option<Timestamp>,
    more: Option<Box<[u64]>>,
}

impl Procedure for AllArgumentTypes {
    const NAME: &'static str = "touch";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.keys.iter().for_each(|key| set.write::<Every>(key));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for key in &self.keys {
            tx.update::<Every, _>(key, |row| {
                row.t = self.text;
                row.m = self.bytes;
                row.j = self.amount;
            })?;
        }
        Ok(())
    }
}

fn touch(number: u8) -> AllArgumentTypes {
    let keys = (0..number % 4).map(|at| (at, (number / 8) as i8 - 2)).collect();
    let (text, bytes) = (Text::truncated("t"), Bytes([7; 3]));
    let more = number.is_multiple_of(3).then(|| [1, u64::MAX].into());
    AllArgumentTypes { keys, text, bytes, amount: Decimal::from_units(-1), at: None, more }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Every>().distributed_procedure::<AllArgumentTypes>()
}

fn open(files: &MemoryFiles, log: LogKind) -> Result<Database, crate::Error> {
    let config = Config {
        partitions: 1,
        log,
        segment_bytes: 4096,
        log_buffer_bytes: 4096,
        checkpoint_log_bytes: 0,
        table_bytes: 1 << 20,
        log_threads: false,
        ..Config::default()
    };
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(ManualClock::default()), config, catalog())
}

/// Some work before a checkpoint, and some behind it.
fn fill(database: &Database) {
    let run = |numbers: std::ops::Range<u8>| {
        for number in numbers {
            database.transaction(|tx| tx.insert(&every(number))).expect("it is new");
            database.call(&touch(number)).expect("nothing is wrong");
        }
    };
    run(0..12);
    database.checkpoint().expect("nothing is wrong");
    run(12..24);
    let deleted = database.transaction(|tx| tx.delete::<Every>(&(1, -2)));
    assert!(deleted.expect("nothing is wrong"), "it was there");
}

/// A small database in files: a checkpoint and a log behind it.
fn sample(log: LogKind) -> &'static MemoryFiles {
    static SAMPLES: OnceLock<[MemoryFiles; 2]> = OnceLock::new();
    let make = |log| {
        let files = MemoryFiles::new();
        let database = open(&files, log).expect("nothing is wrong");
        fill(&database);
        database.close().expect("nothing is wrong");
        files.after_kill()
    };
    let [values, commands] = SAMPLES.get_or_init(|| [make(LogKind::Values), make(LogKind::Commands)]);
    if log == LogKind::Values { values } else { commands }
}

/// Inputs that a target takes to be right, to be changed from there.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let of = |beginning: &str| {
        let both = [LogKind::Values, LogKind::Commands].map(sample);
        let named = |files: &MemoryFiles| files::named(files, beginning);
        both.into_iter().flat_map(named).map(|(_, bytes)| bytes).collect()
    };
    match target {
        "manifest" => of("manifest"),
        "checkpoint" => of("checkpoint/"),
        "log" => of("log/0"),
        "directory" => (0..4_u8).map(|number| [number, 0, 9, 1, 0, number, 80, 255].to_vec()).collect(),
        "changes" => records::change_seeds(),
        "command" => records::command_seeds(),
        "wal" => pages::wal_seeds(),
        "volume" => pages::volume_seeds(),
        "double" => pages::double_seeds(),
        "pages" => pages::pages_seeds(),
        _ => records::row_seeds(),
    }
}
