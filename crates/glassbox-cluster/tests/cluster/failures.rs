//! Every kind of failure of a call, embedded and on a cluster: what it says to people (`Display`) and to programs
//! (JSON). `GLASSBOX_BLESS=1` writes `failures.txt`; read it before you commit it.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use glassbox::io::{Faults, ManualClock, MemoryFiles};
use glassbox::procedure::{Aborts, Declared, KeySet};
use glassbox::record::Timestamp;
use glassbox::research::ConfigHooks;
use glassbox::research::shard::{Call, PartitionSet, Ran, Shard, Task};
use glassbox::{Architecture, Catalog, Config, Database, Error, Procedure, Record, Stop, Transaction};
use glassbox_cluster::run::{Cluster, Shape};
use glassbox_cluster::{Answered, Outcome, SchemeKind};
use serde::{Deserialize, Serialize};

const TABLE_BYTES: usize = 2 << 20;

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = (bank, id), index(name = by_owner, columns = (bank, owner), unique))]
struct Account {
    bank: u8,
    id: u32,
    owner: u32,
}

impl Account {
    fn of(bank: u8, id: u32) -> Self {
        Self { bank, id, owner: 100 + id }
    }
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    Abort,
    DuplicateKey,
    DuplicateOwner,
    DuplicateOwnerByUpdate,
    DuplicateInBatch,
    Full,
    Panic,
    /// With a row of a bank that was not declared.
    Elsewhere,
    Well,
}

/// Where the procedures panic.
const PANICS_AT: u32 = line!() + 11;

impl End {
    fn come<T: Transaction>(self, tx: &mut T) -> Result<(), Stop> {
        match self {
            Self::Abort => Err(Stop::abort(7, "not enough money")),
            Self::DuplicateKey => tx.insert(&Account { owner: 5, ..Account::of(0, 1) }),
            Self::DuplicateOwner => tx.insert(&Account { owner: 102, ..Account::of(0, 50) }),
            Self::DuplicateOwnerByUpdate => tx.update::<Account, _>(&(0, 1), |row| row.owner = 102).map(drop),
            Self::DuplicateInBatch => tx.insert_each([51, 2, 52].map(|id| Log { bank: 0, id })),
            Self::Full => (60..).try_for_each(|id| tx.insert(&Account::of(0, id))),
            Self::Panic => panic!("index {} is out of bounds", std::hint::black_box(3)),
            Self::Elsewhere => tx.insert(&Account::of(1, 60)),
            Self::Well => Ok(()),
        }
    }
}

#[derive(Record, Clone, Copy)]
#[record(table = "log", key = (bank, id))]
struct Log {
    bank: u8,
    id: u32,
}

/// May stop at any time.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Transfer(End);

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Account>(&(0, 1));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        self.0.come(tx)
    }
}

/// Writes, and has promised not to stop.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Sure(End);

impl Procedure for Sure {
    const NAME: &'static str = "sure";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Account>(&(0, 1));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&Account::of(0, 9))?;
        self.0.come(tx)
    }
}

/// Goes on after the refusal of a row.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct GoOn;

impl Procedure for GoOn {
    const NAME: &'static str = "go on";
    type Output = bool;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Account>(&(0, 1));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        tx.insert(&Account::of(0, 8))?;
        match End::DuplicateOwner.come(tx) {
            Err(Stop::DuplicateKey(duplicate)) => Ok(duplicate.index.as_deref() == Some("by_owner")),
            other => other.map(|()| false),
        }
    }
}

const REFUSED: [End; 6] =
    [End::Abort, End::DuplicateKey, End::DuplicateOwner, End::DuplicateOwnerByUpdate, End::DuplicateInBatch, End::Full];

fn catalog() -> Catalog {
    Catalog::new()
        .table::<Account>()
        .table::<Log>()
        .distributed_procedure::<Transfer>()
        .distributed_procedure::<Sure>()
        .distributed_procedure::<GoOn>()
}

fn load<T: Transaction>(tx: &mut T) -> Result<(), Stop> {
    tx.insert_each([Account::of(0, 1), Account::of(0, 2)])?;
    tx.insert(&Log { bank: 0, id: 2 })
}

fn embedded(architecture: Architecture) -> (Database, MemoryFiles) {
    let files = MemoryFiles::new();
    let config = match architecture {
        Architecture::Partitioned => Config::default().with_partitions(2).with_table_bytes(TABLE_BYTES),
        Architecture::Classic => Config::default().with_architecture(architecture).with_partitions(1),
    };
    let config = config.with_log_threads(false);
    let clock = Box::new(ManualClock::default());
    let database = Database::open_files(Arc::new(files.clone()), clock, config, catalog()).unwrap();
    database.transaction(|tx| load(tx)).unwrap();
    (database, files)
}

/// Two partitions, each a thread.
fn cluster() -> Cluster {
    let shape = Shape::new(SchemeKind::Blocking, 2);
    let catalog = Arc::new(catalog());
    let shard = |partition: u8| {
        let mut shard = Shard::new(&catalog, usize::from(partition), 2, TABLE_BYTES)?;
        shard.load(&Account::of(0, 1))?;
        shard.load(&Account::of(0, 2))?;
        shard.load(&Log { bank: 0, id: 2 })?;
        Ok(shard)
    };
    Cluster::start(shape, Arc::clone(&catalog), shard).unwrap()
}

/// On a cluster of its own: run by the client itself, and sent as messages, with the same outcome. And what the next
/// call comes to.
fn on_cluster<P: Procedure<Output = ()> + Copy>(procedure: P) -> (Error, Result<(), Error>) {
    let [here, sent] = [false, true].map(|by_messages| {
        let cluster = cluster();
        let mut client = cluster.client();
        if by_messages {
            client = client.by_messages();
        }
        let error = client.call(procedure).unwrap_err();
        (error, client.call(Transfer(End::Well)))
    });
    assert_eq!(format!("{here:?}"), format!("{sent:?}"));
    sent
}

/// The file's text.
struct Golden(String);

impl Golden {
    fn line(&mut self, what: &str, text: &str) {
        let place = format!("failures.rs:{PANICS_AT}");
        writeln!(self.0, "{what}\n    {}", text.replace(&place, "failures.rs:LINE")).unwrap();
    }

    fn add(&mut self, what: &str, error: &Error) {
        self.line(what, &error.to_string());
        let place = format!("failures.rs:{PANICS_AT}");
        let json = serde_json::to_string(error).unwrap();
        writeln!(self.0, "    {}", json.replace(&place, "failures.rs:LINE")).unwrap();
    }
}

#[test]
fn every_kind_of_failure_says_what_happened() {
    let mut golden = Golden(String::new());
    rows_are_refused(&mut golden);
    procedures_panic(&mut golden);
    promises_are_broken(&mut golden);
    outcomes_are_unknown(&mut golden);
    the_rest(&mut golden);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/failures.txt");
    if std::env::var("GLASSBOX_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(path, &golden.0).unwrap();
    }
    let right = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(golden.0.lines().collect::<Vec<_>>(), right.lines().collect::<Vec<_>>(), "\n{}", golden.0);
}

fn rows_are_refused(golden: &mut Golden) {
    let (partitioned, _) = embedded(Architecture::Partitioned);
    let (classic, _) = embedded(Architecture::Classic);
    for end in REFUSED {
        let error = partitioned.call(&Transfer(end)).unwrap_err();
        golden.add(&format!("{end:?}, embedded"), &error);
        // It has no table that is full of itself.
        if end != End::Full {
            assert_eq!(classic.call(&Transfer(end)).unwrap_err().to_string(), error.to_string());
        }
        let (sent, next) = on_cluster(Transfer(end));
        golden.add(&format!("{end:?}, on a cluster"), &sent);
        next.unwrap();
    }
    assert!(partitioned.call(&GoOn).unwrap() && classic.call(&GoOn).unwrap());
    assert!(cluster().client().call(GoOn).unwrap());
    let load = partitioned.bulk_load().unwrap();
    golden.add("DuplicateKey, in a bulk load", &load.insert(&Account::of(0, 8)).unwrap_err());
}

fn procedures_panic(golden: &mut Golden) {
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let (database, _) = embedded(architecture);
        let panic = catch_unwind(AssertUnwindSafe(|| database.call(&Transfer(End::Panic)))).unwrap_err();
        golden.line(
            &format!("Panic, embedded, {architecture:?}: goes on in the caller"),
            panic.downcast_ref::<String>().unwrap(),
        );
        database.call(&Transfer(End::Well)).unwrap();
    }
    let (sent, next) = on_cluster(Transfer(End::Panic));
    golden.add("Panic, on a cluster", &sent);
    next.unwrap();
}

fn promises_are_broken(golden: &mut Golden) {
    for end in [End::Abort, End::DuplicateKey, End::Elsewhere] {
        let (database, _) = embedded(Architecture::Partitioned);
        let (error, next) = (database.call(&Sure(end)).unwrap_err(), database.call(&Transfer(End::Well)).unwrap_err());
        golden.add(&format!("{end:?} after a promise, embedded"), &error);
        golden.add("and the next call", &next);
        // It has one partition only.
        if end != End::Elsewhere {
            let (classic, _) = embedded(Architecture::Classic);
            assert_eq!(classic.call(&Sure(end)).unwrap_err().to_string(), error.to_string());
            assert_eq!(classic.call(&Transfer(End::Well)).unwrap_err().to_string(), next.to_string());
        }
    }
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let (database, _) = embedded(architecture);
        let panic = catch_unwind(AssertUnwindSafe(|| database.call(&Sure(End::Panic)))).unwrap_err();
        golden.line(
            &format!("Panic after a promise, embedded, {architecture:?}: goes on in the caller"),
            panic.downcast_ref::<String>().unwrap(),
        );
        golden.add("and the next call", &database.call(&Transfer(End::Well)).unwrap_err());
    }
    for end in [End::Abort, End::DuplicateKey, End::Elsewhere, End::Panic] {
        let (sent, next) = on_cluster(Sure(end));
        golden.add(&format!("{end:?} after a promise, on a cluster"), &sent);
        golden.add("and the next call", &next.unwrap_err());
    }
}

fn outcomes_are_unknown(golden: &mut Golden) {
    let (database, files) = embedded(Architecture::Partitioned);
    files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
    let insert = || database.transaction(|tx| tx.insert(&Log { bank: 0, id: 3 }));
    golden.add("Unknown outcome, embedded", &insert().unwrap_err());
    golden.add("and the next call", &insert().unwrap_err());
    let answered = Answered { id: 1, outcome: Outcome::Unknown, home: 0 };
    golden.add("Unknown outcome, on a cluster", &answered.output::<Transfer>().unwrap_err());
}

fn the_rest(golden: &mut Golden) {
    let mut shard = Shard::new(&catalog(), 0, 1, TABLE_BYTES).unwrap();
    let call = Call { procedure: 0, arguments: vec![0xff].into(), now: Timestamp::from_micros(0), seed: 0 };
    let Ran::Failed(failure) = shard.run(&call, Task { participants: PartitionSet::of(0), given: &[] }, None, None)
    else {
        panic!("it was run")
    };
    golden.add("Protocol violation, on a cluster", &(*failure).into());
    let refused = Database::in_memory(Config::default().with_partitions(65), catalog());
    golden.add("Refused configuration, embedded", &refused.err().unwrap());
    golden.add("Refused configuration, on a cluster", &Shard::new(&catalog(), 2, 2, TABLE_BYTES).err().unwrap());
    let other = Database::in_memory(Config::default(), Catalog::new().table::<Log>()).unwrap();
    let unknown = other.call(&GoOn);
    golden.add("Unknown procedure, embedded", &unknown.unwrap_err());
}
