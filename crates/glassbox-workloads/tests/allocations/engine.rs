//! After a warm-up, a transaction on a durable database allocates nothing in the thread that runs it: from the call to
//! the answer, forces included.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::counting::{allocations, watched};
use glassbox::procedure::Procedure;
use glassbox::research::ConfigHooks;
use glassbox::{Config, Database, Error, LogKind, Ticket};
use glassbox_workloads::tpcc::{Call, Inputs, Kind, Mix, Remote, Scale, Settings, catalog, load};

/// Transactions until every buffer has the size it needs.
const WARM_UP: usize = 1_200;
const COUNTED: usize = 1_200;

/// Tickets outstanding, of a thread that submits: the wait for one forces for all.
const IN_FLIGHT: usize = 3;

/// How procedures run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Called,
    /// Called, while another thread, which was silent during the warm-up, does the same: each waits for the other's
    /// forces.
    CalledByTwo,
    Submitted,
    /// Submitted, while a thread on another core does the same: each leaves calls for the other.
    SubmittedByTwo,
}

thread_local! {
    /// The core on which this thread pretends to run.
    static CORE: Cell<u32> = const { Cell::new(0) };
}

/// Runs procedures, watched; runs and allocations of each kind.
struct Watch<'a> {
    database: &'a Database,
    way: Way,
    outstanding: VecDeque<(Kind, Ticket<'a, ()>)>,
    counted: bool,
    runs: [u64; 5],
    allocations: [u64; 5],
}

impl<'a> Watch<'a> {
    fn new(database: &'a Database, way: Way) -> Self {
        let outstanding = VecDeque::with_capacity(IN_FLIGHT);
        Self { database, way, outstanding, counted: false, runs: [0; 5], allocations: [0; 5] }
    }
}

impl Call for Watch<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        let before = allocations();
        let (answered, done) = watched(true, || {
            if matches!(self.way, Way::Called | Way::CalledByTwo) {
                return (kind, self.database.call(procedure).map(drop));
            }
            match self.database.submit_with(*procedure, |_| ()) {
                Ok(ticket) => self.outstanding.push_back((kind, ticket)),
                Err(error) => return (kind, Err(error)),
            }
            if self.outstanding.len() < IN_FLIGHT {
                return (kind, Ok(()));
            }
            let (kind, oldest) = self.outstanding.pop_front().expect("it is full");
            (kind, oldest.wait())
        });
        if self.counted {
            self.runs[kind as usize] += 1;
            self.allocations[kind as usize] += allocations() - before;
        }
        match done {
            Ok(()) => {}
            Err(Error::Aborted(_)) if answered == Kind::NewOrder => {}
            Err(error) => panic!("{}: {error}", answered.name()),
        }
    }
}

/// Segments of the log large enough that none is begun: that is counted by itself below.
const SEGMENT_BYTES: u64 = 32 << 20;
/// Names and handles of files, for each segment that is begun.
const MAX_FOR_A_SEGMENT: u64 = 20;

/// Runs and allocations of each kind, and segments of the log that were begun meanwhile.
fn run(mix: Mix, partitions: usize, log: LogKind, way: Way, segment_bytes: u64) -> ([u64; 5], [u64; 5], u64) {
    let directory = tempfile::tempdir().unwrap();
    let scale = Scale::small(2);
    let config = Config::default().with_partitions(partitions).with_log(log).with_segment_bytes(segment_bytes);
    // A release build rehearses none of the calls that are counted here.
    let config = config.with_current_core(|| CORE.get()).with_rehearsals(false);
    let database = Database::open(directory.path(), config, catalog()).unwrap();
    let bulk = database.bulk_load().unwrap();
    load(&scale, 1, 1, || &bulk).unwrap();
    bulk.finish().unwrap();
    let remote = Remote { order_lines: 10.0, payments: 15.0 };
    let settings = Settings { mix, remote, load_seed: 1, ..Settings::new(scale) };
    let (new, database) = (|client| (Inputs::new(&settings, client), Watch::new(&database, way)), &database);
    let (over, warm, (mut inputs, mut watch)) = (AtomicBool::new(false), AtomicBool::new(false), new(0));
    std::thread::scope(|scope| {
        let beside = || {
            CORE.set(1);
            let (mut inputs, mut watch) = new(1);
            while way == Way::CalledByTwo && !warm.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            while !over.load(Ordering::Relaxed) {
                inputs.next().give(&mut watch);
            }
        };
        if matches!(way, Way::CalledByTwo | Way::SubmittedByTwo) {
            scope.spawn(beside);
        }
        let counted = count_runs(&mut inputs, &mut watch, directory.path(), || warm.store(true, Ordering::Release));
        over.store(true, Ordering::Relaxed);
        assert_eq!(database.counts().handed_over > 0, way == Way::SubmittedByTwo);
        counted
    })
}

/// Runs and allocations of each kind, and segments begun, from when `warm` was called on.
fn count_runs(
    inputs: &mut Inputs,
    watch: &mut Watch<'_>,
    directory: &Path,
    warm: impl FnOnce(),
) -> ([u64; 5], [u64; 5], u64) {
    (0..WARM_UP).for_each(|_| inputs.next().give(watch));
    let is_segment = |name: std::ffi::OsString| !name.to_string_lossy().starts_with("spare");
    let begun = || {
        let entries = directory.join("log").read_dir().unwrap();
        entries.filter(|entry| is_segment(entry.as_ref().unwrap().file_name())).count() as u64
    };
    let before = begun();
    watch.counted = true;
    warm();
    (0..COUNTED).for_each(|_| inputs.next().give(watch));
    (watch.runs, watch.allocations, begun() - before)
}

fn count(mix: Mix, partitions: usize, log: LogKind, way: Way) {
    let (runs, allocations, begun) = run(mix, partitions, log, way, SEGMENT_BYTES);
    assert_eq!(begun, 0);
    for kind in Kind::ALL.into_iter().filter(|kind| mix.shares()[*kind as usize] > 0) {
        let (name, runs, allocations) = (kind.name(), runs[kind as usize], allocations[kind as usize]);
        assert!(runs >= 48, "{name} ran {runs} times only");
        assert_eq!(allocations, 0, "{name}, {way:?} {runs} times at {partitions} partitions, {log:?}, {mix:?}");
    }
}

#[test]
fn calls_allocate_nothing() {
    count(Mix::Full, 1, LogKind::Values, Way::Called);
    count(Mix::Full, 2, LogKind::Commands, Way::Called);
    count(Mix::LookingGlass, 1, LogKind::Commands, Way::Called);
}

#[test]
fn the_first_waits_for_anothers_force_allocate_nothing() {
    count(Mix::Full, 1, LogKind::Commands, Way::CalledByTwo);
}

#[test]
fn submissions_allocate_nothing() {
    count(Mix::Full, 2, LogKind::Values, Way::Submitted);
    count(Mix::Full, 1, LogKind::Commands, Way::Submitted);
    count(Mix::LookingGlass, 1, LogKind::Values, Way::Submitted);
}

#[test]
fn calls_that_are_left_to_other_threads_allocate_nothing() {
    count(Mix::Full, 2, LogKind::Values, Way::SubmittedByTwo);
    count(Mix::LookingGlass, 2, LogKind::Commands, Way::SubmittedByTwo);
}

/// The one thing that forcing the log allocates: the next segment, every 64 MiB by default.
#[test]
fn a_segment_begun_allocates_a_few_names() {
    let (_, allocations, begun) = run(Mix::Full, 1, LogKind::Values, Way::Called, 1 << 20);
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
