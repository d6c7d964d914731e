//! After a warm-up, a transaction on a durable database allocates nothing in the thread that runs it: from the call to
//! the answer, forces included.

use crate::counting::{allocations, watched};
use glassbox::procedure::Procedure;
use glassbox::{Config, Database, Error, LogKind};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Mix, Remote, Scale, Settings, catalog, load};

/// Transactions until every buffer has the size it needs.
const WARM_UP: usize = 1_200;
const COUNTED: usize = 1_200;

/// Runs procedures, watched; runs and allocations of each kind.
struct Watch<'a> {
    database: &'a Database,
    submit: bool,
    counted: bool,
    runs: [u64; 5],
    allocations: [u64; 5],
}

impl Call for Watch<'_> {
    type Answer = ();

    fn call<P: Procedure>(&mut self, kind: Kind, procedure: P) {
        let before = allocations();
        let done = watched(true, || {
            if self.submit {
                // Several in flight: the wait for the last one forces for all.
                let tickets = [(); 3].map(|()| self.database.submit(&procedure));
                tickets.into_iter().try_for_each(|ticket| ticket?.wait().map(drop))
            } else {
                self.database.call(&procedure).map(drop)
            }
        });
        if self.counted {
            self.runs[kind as usize] += 1;
            self.allocations[kind as usize] += allocations() - before;
        }
        match done {
            Ok(()) => {}
            Err(Error::Aborted(_)) if kind == Kind::NewOrder => {}
            Err(error) => panic!("{}: {error}", kind.name()),
        }
    }
}

/// Segments of the log large enough that none is begun: that is counted by itself below.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Names and handles of files, for each segment that is begun.
const MAX_FOR_A_SEGMENT: u64 = 20;

/// Runs and allocations of each kind, and segments of the log that were begun meanwhile.
fn run(mix: Mix, partitions: usize, log: LogKind, submit: bool, segment_bytes: u64) -> ([u64; 5], [u64; 5], u64) {
    let directory = tempfile::tempdir().unwrap();
    let scale = Scale::small(2);
    let config = Config::default().with_partitions(partitions).with_log(log).with_segment_bytes(segment_bytes);
    let database = Database::open(directory.path(), config, catalog()).unwrap();
    let bulk = database.bulk_load().unwrap();
    load(&scale, 1, 1, || &bulk, |_| ()).unwrap();
    bulk.finish().unwrap();
    let remote = Remote { order_lines: 10.0, payments: 15.0 };
    let mut inputs = Inputs::new(&Settings { mix, remote, load_seed: 1, ..Settings::new(scale) }, 0);
    let mut watch = Watch { database: &database, submit, counted: false, runs: [0; 5], allocations: [0; 5] };
    (0..WARM_UP).for_each(|_| inputs.next().give(&mut watch));
    let is_segment = |name: std::ffi::OsString| !name.to_string_lossy().starts_with("spare");
    let begun = || {
        let entries = directory.path().join("log").read_dir().unwrap();
        entries.filter(|entry| is_segment(entry.as_ref().unwrap().file_name())).count() as u64
    };
    let before = begun();
    watch.counted = true;
    (0..COUNTED).for_each(|_| inputs.next().give(&mut watch));
    (watch.runs, watch.allocations, begun() - before)
}

fn count(mix: Mix, partitions: usize, log: LogKind, submit: bool) {
    let (runs, allocations, begun) = run(mix, partitions, log, submit, SEGMENT_BYTES);
    assert_eq!(begun, 0);
    for kind in Kind::ALL.into_iter().filter(|kind| mix.shares()[*kind as usize] > 0) {
        let (name, runs, allocations) = (kind.name(), runs[kind as usize], allocations[kind as usize]);
        assert!(runs >= 48, "{name} ran {runs} times only");
        let how = if submit { "submitted" } else { "called" };
        assert_eq!(allocations, 0, "{name}, {how} {runs} times at {partitions} partitions, {log:?}, {mix:?}");
    }
}

#[test]
fn calls_allocate_nothing() {
    count(Mix::Full, 1, LogKind::Values, false);
    count(Mix::Full, 2, LogKind::Commands, false);
    count(Mix::LookingGlass, 1, LogKind::Commands, false);
}

#[test]
fn submissions_allocate_nothing() {
    count(Mix::Full, 2, LogKind::Values, true);
    count(Mix::Full, 1, LogKind::Commands, true);
    count(Mix::LookingGlass, 1, LogKind::Values, true);
}

/// The one thing that forcing the log allocates: the next segment, every 64 MiB by default.
#[test]
fn a_segment_begun_allocates_a_few_names() {
    let (_, allocations, begun) = run(Mix::Full, 1, LogKind::Values, false, 1 << 20);
    let allocations = allocations.iter().sum::<u64>();
    assert!(begun > 0 && allocations <= begun * MAX_FOR_A_SEGMENT, "{allocations} for {begun} segments");
}

/// The canary: what a procedure allocates inside an engine is seen.
#[test]
fn an_allocation_in_a_transaction_is_noticed() {
    let database = Database::in_memory(Config::default(), catalog()).unwrap();
    let before = allocations();
    let _ = watched(true, || database.transaction(|_| Ok(std::hint::black_box(Vec::<u8>::with_capacity(100)).len())));
    assert!(allocations() > before);
}
