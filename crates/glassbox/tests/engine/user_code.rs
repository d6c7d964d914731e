//! Code of a submitter that the thread of a partition runs: the panic of each piece reaches the submitter, and the
//! thread goes on.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use glassbox::config::Execution;
use glassbox::io::{ManualClock, MemoryFiles};
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "gift", key = id, partition_by = id)]
struct Gift {
    id: u32,
    given: u32,
}

/// The piece of code that panics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Bad {
    Nothing,
    Declaration,
    Body,
    Look,
    OutputDrop,
    LookAndOutputDrop,
    ProcedureDrop,
}

impl Bad {
    fn panic_if(self, now: &[Self]) {
        if now.contains(&self) && !std::thread::panicking() {
            panic!("{now:?}");
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Frail {
    bad: Bad,
}

impl Drop for Frail {
    fn drop(&mut self) {
        self.bad.panic_if(&[Bad::OutputDrop, Bad::LookAndOutputDrop]);
    }
}

#[derive(Serialize, Deserialize)]
struct Give {
    id: u32,
    bad: Bad,
}

thread_local! {
    static SUBMITS: Cell<bool> = const { Cell::new(false) };
}

/// Bodies that ran in other threads than the submitter's.
static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);

impl Procedure for Give {
    const NAME: &'static str = "give";
    type Output = Frail;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        if !SUBMITS.get() {
            self.bad.panic_if(&[Bad::Declaration]);
        }
        set.write::<Gift>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Frail, Stop> {
        if !SUBMITS.get() {
            ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        }
        tx.update::<Gift, _>(&self.id, |gift| gift.given += 1)?;
        self.bad.panic_if(&[Bad::Body]);
        Ok(Frail { bad: self.bad })
    }
}

impl Drop for Give {
    fn drop(&mut self) {
        self.bad.panic_if(&[Bad::ProcedureDrop]);
    }
}

fn open(files: &MemoryFiles) -> Database {
    let config = Config::default()
        .with_partitions(2)
        .with_execution(Execution::Thread)
        .with_log(LogKind::Commands)
        .with_segment_bytes(64 << 10)
        .with_log_buffer_bytes(64 << 10)
        .with_table_bytes(2 << 20);
    let catalog = Catalog::new().table::<Gift>().procedure::<Give>();
    Database::open_files(Arc::new(files.clone()), Box::new(ManualClock::default()), config, catalog).unwrap()
}

/// The answer of a call, or the bad code that the submitter's panic names.
fn submit(db: &Database, bad: Bad) -> Result<Result<(), Error>, String> {
    let look = move |_: &Frail| bad.panic_if(&[Bad::Look, Bad::LookAndOutputDrop]);
    let submitted = catch_unwind(AssertUnwindSafe(|| db.submit_with(Give { id: 1, bad }, look)?.wait()));
    submitted.map_err(|panic| *panic.downcast::<String>().unwrap())
}

/// Submits calls until the partition's thread runs one.
fn await_thread(db: &Database) {
    let before = ELSEWHERE.load(Ordering::Relaxed);
    let began = Instant::now();
    while ELSEWHERE.load(Ordering::Relaxed) == before {
        submit(db, Bad::Nothing).unwrap().unwrap();
        assert!(began.elapsed() < Duration::from_secs(60), "the partition's thread has ended");
    }
}

/// Case 27: the panic of an output's drop ended the partition's thread, and its submitter waited for ever.
#[test]
fn a_panic_of_submitted_code_reaches_its_submitter_and_the_partition_thread_goes_on() {
    SUBMITS.set(true);
    let files = MemoryFiles::new();
    let db = open(&files);
    db.transaction(|tx| tx.insert(&Gift { id: 1, given: 0 })).unwrap();
    await_thread(&db);
    let bad = [Bad::Body, Bad::Look, Bad::OutputDrop, Bad::LookAndOutputDrop, Bad::ProcedureDrop];
    for bad in bad {
        for _ in 0..20 {
            let panic = submit(&db, bad).unwrap_err();
            assert!(panic.contains(&format!("{bad:?}")), "{bad:?}: {panic}");
        }
        await_thread(&db);
    }
    let given = |db: &Database| db.transaction(|tx| Ok(tx.get::<Gift>(&1)?.unwrap().given)).unwrap();
    let before = given(&db);
    assert!(before >= 80, "calls whose values panic have committed");
    // As after a crash: replay drops outputs and procedures, too.
    let killed = files.after_kill();
    // The declaration panics where it is made for the prefetch: in the thread of the partition, or not at all.
    for _ in 0..20 {
        if let Err(panic) = submit(&db, Bad::Declaration) {
            assert!(panic.contains("Declaration"), "{panic}");
        }
    }
    await_thread(&db);
    drop(db);
    let db = open(&killed);
    assert_eq!(given(&db), before);
    db.close().unwrap();
}
