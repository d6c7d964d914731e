//! A child of `fork` cannot harm the database of its parent: its calls are errors, and its drop leaves files and locks.
//!
//! Each case runs in a process of its own, which forks, and is killed at its end. The test waits for that, opens the
//! database while the child still lives, and compares the rows.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use glassbox::config::{ClassicConfig, Execution};
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
    count: u64,
}

/// Counts one item.
#[derive(Serialize, Deserialize)]
struct Count {
    id: u32,
}

impl Procedure for Count {
    const NAME: &'static str = "count";
    type Output = bool;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Item>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        Ok(tx.update::<Item, _>(&self.id, |item| item.count += 1)?.is_some())
    }
}

const ENGINES: [&str; 3] = ["partitioned", "partitioned with threads", "classic"];
/// Set in the process that forks: the engine, the order and the directory.
const FORKS: &str = "GLASSBOX_TEST_FORKS";
const PARENT_READY: &str = "the parent is right";
const CHILD_READY: &str = "the child is right";

fn open(engine: &str, directory: &Path) -> Result<Database, Error> {
    let config = Config::default().with_segment_bytes(64 << 10).with_log_buffer_bytes(64 << 10);
    let config = match engine {
        "classic" => {
            let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 20).with_sessions(4);
            config.with_architecture(glassbox::Architecture::Classic).with_classic(classic).with_segment_bytes(1 << 20)
        }
        _ => {
            let execution = if engine == "partitioned" { Execution::Auto } else { Execution::Thread };
            config.with_partitions(2).with_table_bytes(2 << 20).with_execution(execution)
        }
    };
    Database::open(directory, config, Catalog::new().table::<Item>().procedure::<Count>())
}

fn insert(db: &Database, ids: std::ops::Range<u32>) {
    for id in ids {
        db.transaction(|tx| tx.insert(&Item { id, count: 0 })).unwrap();
    }
}

/// The ids of the items that are there, from 1 to `limit`.
fn ids(db: &Database, limit: u32) -> Vec<u32> {
    db.transaction(|tx| {
        let mut found = Vec::new();
        for id in 1..limit {
            if tx.get::<Item>(&id)?.is_some() {
                found.push(id);
            }
        }
        Ok(found)
    })
    .unwrap()
}

/// Makes a child; its number, and 0 in the child.
fn fork() -> libc::pid_t {
    // SAFETY: the child runs this thread only, which calls the database, pipes and the end of the process.
    let number = unsafe { libc::fork() };
    assert!(number >= 0, "the system makes no process");
    number
}

/// Runs the work of the child.
fn run_in_child(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        end_child(1);
    }
}

/// Ends the child without the test harness, whose threads it does not have.
fn end_child(status: i32) -> ! {
    // SAFETY: it ends the process, without the functions that the parent has registered.
    unsafe { libc::_exit(status) }
}

fn assert_success(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && status == 0, "the child has failed with status {status}");
}

fn signal(mut to: &PipeWriter) {
    to.write_all(b"!").unwrap();
}

fn await_signal(mut from: &PipeReader) {
    from.read_exact(&mut [0]).unwrap();
}

fn assert_forked<T>(result: Result<T, Error>) {
    let error = result.map(drop).unwrap_err();
    let Error::Forked { opened_by } = error else { panic!("{error}") };
    assert_ne!(opened_by, std::process::id());
    assert!(error.to_string().contains("open it after the fork"), "{error}");
}

/// Every call of the database in the child.
fn assert_refuses_everything(db: &Database) {
    for id in 100..110 {
        assert_forked(db.transaction(|tx| tx.insert(&Item { id, count: 0 })));
    }
    assert_forked(db.call(&Count { id: 7 }));
    assert_forked(db.call_with(&Count { id: 7 }, |_| ()));
    assert_forked(db.submit(Count { id: 7 }));
    assert_forked(db.submit_with(Count { id: 7 }, |_| ()));
    assert_forked(db.dry_run(&Count { id: 7 }));
    assert_forked(db.bulk_load());
    assert_forked(db.checkpoint());
    assert_forked(db.flush());
    assert_forked(db.prepare("another", &Count { id: 7 }));
    assert_forked(db.commit_prepared("transfer"));
    assert_forked(db.roll_back_prepared("transfer"));
    assert_forked(db.close());
    let messages = db.verify();
    assert!(messages.len() == 1 && messages[0].contains("open it after the fork"), "{messages:?}");
    assert!(db.stats().tables.is_empty() && db.prepared().is_empty());
    let of_classic = (db.explain_waits(), db.sessions(), db.explain_execution(), db.simulated_pages());
    assert!(of_classic.0.is_none_or(|waits| waits.is_empty()) && of_classic.1.is_none_or(|all| all.is_empty()));
    drop((db.counts(), db.partition_stats(), db.partitions(), format!("{db:?}")));
}

/// A procedure that forks: its transaction is the parent's.
fn assert_fork_inside_a_transaction(db: &Database) {
    let mut child = -1;
    let forks = std::sync::Mutex::new(&mut child);
    let result = db.transaction(|tx| {
        tx.insert(&Item { id: 30, count: 0 })?;
        **forks.lock().unwrap() = fork();
        Ok(())
    });
    if child == 0 {
        run_in_child(|| assert_forked(result));
        end_child(0);
    }
    result.unwrap();
    assert_success(child);
}

/// The process that forks, and is killed at its end. The child calls the database before or after its parent does,
/// drops it, waits for the end of the test's input, and opens the database itself.
fn run_parent(engine: &str, child_first: bool, directory: &Path) {
    let db = open(engine, directory).unwrap();
    insert(&db, 0..30);
    if engine == "classic" {
        // The lowest key, so that no key is looked for or inserted before it: such calls would wait for its lock.
        db.prepare("transfer", &Count { id: 0 }).unwrap();
    }
    if engine != "partitioned with threads" {
        assert_fork_inside_a_transaction(&db);
    } else {
        insert(&db, 30..31);
    }
    let (child_receives, parent_sends) = pipe().unwrap();
    let (parent_receives, child_sends) = pipe().unwrap();
    let tickets = [7, 8].map(|id| db.submit(Count { id }).unwrap());
    let dropped = db.submit(Count { id: 9 }).unwrap();
    if fork() == 0 {
        run_in_child(|| {
            if !child_first {
                await_signal(&child_receives);
            }
            assert_refuses_everything(&db);
            let [first, second] = tickets;
            assert!(first.is_ready());
            assert_forked(first.wait());
            assert_forked(second.map(|found| found).wait());
            drop(dropped);
        });
        run_in_child(|| {
            drop(db);
            signal(&child_sends);
            let mut rest = Vec::new();
            std::io::stdin().read_to_end(&mut rest).unwrap();
            let db = open(engine, directory).unwrap();
            insert(&db, 1_000..1_001);
            db.close().unwrap();
        });
        println!("{CHILD_READY}");
        std::io::stdout().flush().unwrap();
        end_child(0);
    }
    drop(child_sends);
    if !child_first {
        insert(&db, 31..60);
        signal(&parent_sends);
    }
    await_signal(&parent_receives);
    // The child's drop has released nothing.
    let refused = open(engine, directory).map(drop).unwrap_err().to_string();
    assert!(refused.contains(&format!("open in process {}", std::process::id())), "{refused}");
    insert(&db, if child_first { 31..60 } else { 60..80 });
    for ticket in tickets {
        assert!(ticket.wait().unwrap());
    }
    assert!(dropped.wait().unwrap());
    assert!(db.call(&Count { id: 7 }).unwrap());
    println!("{PARENT_READY}");
    std::io::stdout().flush().unwrap();
    // SAFETY: it ends this process, which is the signal's purpose.
    unsafe { libc::kill(std::process::id().cast_signed(), libc::SIGKILL) };
    unreachable!("the process was killed");
}

/// Runs the parent in a process of its own.
fn spawn_parent(engine: &str, child_first: bool, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fork::a_forked_child_cannot_harm_the_database_of_its_parent", "--nocapture"])
        .env(FORKS, format!("{engine}/{child_first}/{}", directory.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Case 25: records of a child over those of its parent, locks that a child releases, and drops that wait for ever.
#[test]
fn a_forked_child_cannot_harm_the_database_of_its_parent() {
    if let Ok(of) = std::env::var(FORKS) {
        let [engine, child_first, directory] = of.splitn(3, '/').collect::<Vec<_>>().try_into().unwrap();
        return run_parent(engine, child_first == "true", &Path::new("/").join(directory));
    }
    for (engine, child_first) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
        let context = format!("{engine}, child first: {child_first}");
        let directory = tempfile::tempdir().unwrap();
        let mut parent = spawn_parent(engine, child_first, directory.path());
        let stdin = parent.stdin.take();
        // `wait` would close the input, which the child awaits.
        let killed = parent.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed), Some(libc::SIGKILL), "{context}: {killed}");
        // The child lives, and holds no lock.
        let db = open(engine, directory.path()).unwrap_or_else(|error| panic!("{context}: {error}"));
        let right: Vec<u32> = (1..if child_first { 60 } else { 80 }).collect();
        assert_eq!(ids(&db, 1_100), right, "{context}");
        assert_eq!(db.verify(), Vec::<String>::new(), "{context}");
        let prepared = db.prepared().into_iter().map(|it| it.name).collect::<Vec<_>>();
        assert_eq!(prepared, if engine == "classic" { vec!["transfer"] } else { vec![] }, "{context}");
        db.close().unwrap();
        drop(stdin);
        let mut printed = String::new();
        parent.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        assert!(printed.contains(PARENT_READY) && printed.contains(CHILD_READY), "{context}: {printed}");
        let db = open(engine, directory.path()).unwrap();
        assert_eq!(ids(&db, 1_100).len(), right.len() + 1, "{context}: the child opened it and inserted a row");
    }
}
