//! The stack that tells what it does, and a database on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::locks::TracedLocks;
use super::log::TracedLog;
use super::pages::TracedPages;
use super::trace;
use crate::classic::directory::{self, HeldEntry};
use crate::classic::engine::Engine;
use crate::classic::engine::sessions::SessionPool;
use crate::classic::latch::ReadWriteLatch;
use crate::classic::stack::Session;
use crate::classic::stack::Stack;
use crate::classic::transaction::StackTransaction;
use crate::classic::tree::IntegerKeys;
use crate::config::{ClassicConfig, Granularity};
use crate::error::Error;
use crate::io::{Files, ManualClock, MemoryFiles};
use crate::log::{Log, LogConfig, Lsn};
use crate::procedure::{Stop, Transaction};
use crate::{Catalog, Record};

use super::describe::Names;

/// The stack of a database, with wrappers around its pages, locks and log.
pub enum Observed {}

impl Stack for Observed {
    type Keys = IntegerKeys;
    type Logs = TracedLog;
    type Locks = TracedLocks;
    type Latch = ReadWriteLatch;
    type Directory = HeldEntry;
    type Pages = TracedPages;
    type Sessions = SessionPool<Session<Observed>>;
    const PAGE_BYTES: usize = 4 << 10;
}

/// A table with no other index than that of its key.
#[derive(Record, Clone, Copy)]
#[record(table = "district", key = id)]
pub struct District {
    pub id: u32,
    pub next_order: u32,
    pub ytd: u64,
}

/// A table with a secondary index, which is not unique, so its keys end with the primary key.
#[derive(Record, Clone, Copy)]
#[record(table = "customer", key = id, index(name = by_city, columns = (city, id)))]
pub struct Customer {
    pub id: u32,
    pub city: u32,
    pub balance: i64,
}

pub type Tx<'e> = StackTransaction<'e, Observed>;

/// A database of two small tables.
pub struct World {
    pub engine: Engine<Observed>,
}

/// Settings in which nothing escalates and records are locked.
pub fn usual() -> ClassicConfig {
    ClassicConfig { page_bytes: 4 << 10, pool_bytes: 1 << 20, sessions: 2, ..ClassicConfig::default() }
}

/// Settings in which pages of districts are locked.
pub fn page_locks() -> ClassicConfig {
    ClassicConfig { granularity_of: BTreeMap::from([("district".to_owned(), Granularity::Page)]), ..usual() }
}

impl World {
    /// With so many districts and customers, of numbers 2, 4, 6, and so on; customers live in three cities in turn.
    pub fn new(config: &ClassicConfig, districts: u32, customers: u32) -> Self {
        let files: Arc<dyn Files> = Arc::new(MemoryFiles::new());
        let config = config.clone();
        let log = LogConfig { threads: false, appenders: config.sessions + 1, ..small_log() };
        let open_log = || Ok(Log::create(Arc::clone(&files), 0, log, Lsn(0))?);
        let clock = Arc::new(ManualClock::default());
        let mut engine = Engine::make(&files, clock, &config, Vec::new(), open_log).unwrap();
        for table in &Catalog::new().table::<District>().table::<Customer>().tables {
            engine.add_table(table.id, &table.schema, &table.schema.name, None).unwrap();
        }
        let world = Self { engine };
        world.quietly(|tx| {
            (1..=districts).try_for_each(|n| tx.insert(&District { id: 2 * n, next_order: 1, ytd: 0 }))?;
            (1..=customers).try_for_each(|n| tx.insert(&Customer { id: 2 * n, city: n % 3, balance: 100 }))
        });
        world
    }

    /// Runs a transaction of which nothing is told.
    pub fn quietly(&self, run: impl FnMut(&mut Tx<'_>) -> Result<(), Stop>) {
        self.engine.wait(self.unforced(run)).unwrap();
    }

    /// Runs one without waiting for its durability: the log position up to which it would have to be durable.
    pub fn unforced(&self, run: impl FnMut(&mut Tx<'_>) -> Result<(), Stop>) -> Lsn {
        let executed = self.engine.execute_adhoc(run).unwrap();
        executed.outcome.unwrap();
        executed.lsn
    }

    /// Runs a transaction and says what happened in it; `run` says where its statements begin.
    pub fn observe(&self, run: impl FnMut(&mut Tx<'_>) -> Result<(), Stop>) -> Vec<String> {
        trace::begin(Names::new(directory::list(&self.engine.pages).unwrap()));
        trace::say("begin");
        let executed = self.engine.execute_adhoc(run).unwrap();
        self.engine.wait(executed.lsn).unwrap();
        let lines = trace::end();
        assert_eq!(self.engine.verify(), Vec::<String>::new());
        lines
    }
}

fn small_log() -> LogConfig {
    LogConfig { segment_bytes: 1 << 20, log_buffer_bytes: 1 << 20, force: true, ..LogConfig::default() }
}

/// Most columns of a caption.
const CAPTION_COLUMNS: usize = 100;
/// The figures that `docs/walks/statements.md` shows.
const SHOWN: [&str; 3] = ["update", "insert-splits-a-leaf", "waits-for-a-gap"];

/// Compares with `statements/<name>.txt`, whose comment is the caption; the page that tells of the figures names it,
/// and shows the same if it shows it.
#[track_caller]
pub fn golden(name: &str, caption: &str, lines: &[String]) {
    let mut told = vec!["#".to_owned()];
    for word in caption.split_whitespace() {
        if told[told.len() - 1].len() + word.len() >= CAPTION_COLUMNS {
            told.push("#".to_owned());
        }
        told.last_mut().expect("there is one").extend([" ", word]);
    }
    told.extend_from_slice(lines);
    let path = format!("{}/src/classic/tests/statements/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("GLASSBOX_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, told.join("\n") + "\n").unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let golden: Vec<_> = golden.lines().collect();
    assert_eq!(told, golden, "\n{}\n", told.join("\n"));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/walks/statements.md");
    let page = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{page}: {error}"));
    assert!(page.contains(&format!("/{name}.txt)")), "docs/walks/statements.md does not name {name}");
    let shown = format!("```text\n{}\n```", lines.join("\n"));
    assert!(!SHOWN.contains(&name) || page.contains(&shown), "docs/walks/statements.md shows another figure of {name}");
}

/// An error of the engine is none of what is observed.
pub fn fine<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}
