//! Calls that are left for a thread on the core of their partition, or for the partition's own thread.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use glassbox::config::Execution;
use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::research::ConfigHooks;
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, LogKind, Record};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "tally", key = (id, thread), partition_by = id)]
struct Tally {
    id: u32,
    thread: u8,
    /// The number of the thread's last call here.
    last: u32,
    calls: u32,
}

/// What a call does after it has counted itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Then {
    Commit,
    Abort,
    Panic,
    /// Counts itself at another tally, which it does not declare.
    Reach(u32),
    /// Counts itself at tallies 0 and 1, and declares both.
    Both,
    /// Counts itself at another tally, which it declares.
    Pair(u32),
}

/// Counts a call of a thread at a tally. The output is the number of the call before it by the same thread.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Count {
    id: u32,
    thread: u8,
    number: u32,
    then: Then,
}

impl Procedure for Count {
    const NAME: &'static str = "count";
    type Output = u32;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Tally>(&(self.id, self.thread));
        match self.then {
            Then::Both => set.write::<Tally>(&(1 - self.id, self.thread)),
            Then::Pair(other) => set.write::<Tally>(&(other, self.thread)),
            _ => {}
        }
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u32, Stop> {
        let mut count = |id| {
            tx.update::<Tally, u32>(&(id, self.thread), |tally| {
                tally.calls = tally.calls.wrapping_add(1);
                std::mem::replace(&mut tally.last, self.number)
            })
        };
        let before = count(self.id)?;
        match self.then {
            Then::Commit => {}
            Then::Abort => return Err(Stop::abort(7, "as asked")),
            Then::Panic => panic!("as asked"),
            Then::Reach(other) | Then::Pair(other) => _ = count(other)?,
            Then::Both => _ = count(1 - self.id)?,
        }
        Ok(before.expect("loaded"))
    }
}

const IDS: u32 = 8;
const THREADS: u8 = 8;

fn count(id: u32, number: u32) -> Count {
    Count { id, thread: 0, number, then: Then::Commit }
}

/// Adds to one tally and subtracts from another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Move {
    from: u32,
    to: u32,
    thread: u8,
}

impl Procedure for Move {
    const NAME: &'static str = "move";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Tally>(&(self.from, self.thread));
        set.write::<Tally>(&(self.to, self.thread));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.update::<Tally, ()>(&(self.from, self.thread), |tally| tally.calls = tally.calls.wrapping_sub(1))?;
        tx.update::<Tally, ()>(&(self.to, self.thread), |tally| tally.calls = tally.calls.wrapping_add(1))?;
        Ok(())
    }
}

thread_local! {
    /// The core on which this thread pretends to run.
    static CORE: Cell<u32> = const { Cell::new(0) };
}

fn catalog() -> Catalog {
    Catalog::new().table::<Tally>().procedure::<Count>().procedure::<Move>()
}

fn open(config: Config) -> Database {
    let database = Database::in_memory(config.with_current_core(|| CORE.get()), catalog()).unwrap();
    fill(&database);
    database
}

fn fill(database: &Database) {
    let keys = (0..IDS).flat_map(|id| (0..THREADS).map(move |thread| (id, thread)));
    let row = |(id, thread)| Tally { id, thread, last: 0, calls: 0 };
    database.transaction(|tx| keys.clone().try_for_each(|key| tx.insert(&row(key)))).unwrap();
}

/// Without order, so that calls on both are left too; and without the thread that runs calls that are not awaited.
fn two_partitions() -> Database {
    open(Config::default().with_partitions(2).with_in_order(false).with_log_threads(false))
}

fn tally(database: &Database, id: u32, thread: u8) -> Tally {
    database.transaction(|tx| Ok(tx.get::<Tally>(&(id, thread))?.copied())).unwrap().expect("loaded")
}

/// Runs `work` in a thread on this core.
fn on_core<O: Send>(core: u32, work: impl FnOnce() -> O + Send) -> O {
    let run = || {
        CORE.set(core);
        work()
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// Leaves odd tallies to core 1, where no thread is, and even ones to this thread's, which is 0.
fn leave_odd_to_core_1(database: &Database) {
    database.submit(Count { thread: 7, ..count(0, 1) }).unwrap().wait().unwrap();
    on_core(1, || database.submit(Count { thread: 7, ..count(1, 1) }).unwrap().wait().unwrap());
    database.submit(Count { thread: 7, ..count(0, 2) }).unwrap().wait().unwrap();
    assert_eq!(cores(database), [Some(0), Some(1)]);
    assert_eq!(database.counts().handed_over, 0);
}

fn cores(database: &Database) -> Vec<Option<u32>> {
    database.counts().partitions.iter().map(|partition| partition.core).collect()
}

const FORMS: [Execution; 4] = [Execution::Auto, Execution::Caller, Execution::Core, Execution::Thread];

/// Each thread moves from core to core, and submits calls on one partition and on both.
#[test]
fn calls_of_each_thread_run_once_and_in_order() {
    const CALLS: u32 = 4_000;
    let forms = FORMS.into_iter().flat_map(|form| [(form, 2, true), (form, 5, true), (form, 5, false)]);
    for (form, threads, in_order) in forms {
        let config = Config::default().with_partitions(2).with_execution(form).with_in_order(in_order);
        let database = open(config);
        let database = &database;
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    let (mut last, mut outstanding, mut moves) = ([0; IDS as usize], VecDeque::new(), VecDeque::new());
                    for number in 1..=CALLS {
                        CORE.set((number / 301 + u32::from(thread)) % 3);
                        // Each thread goes through the tallies at a pace of its own.
                        let id = (number * (u32::from(thread) * 2 + 1) / 3) % IDS;
                        if number % 13 == 0 {
                            moves.push_back(database.submit(Move { from: id, to: (id + 1) % IDS, thread }).unwrap());
                        }
                        if moves.len() > 20 {
                            moves.pop_front().unwrap().wait().unwrap();
                        }
                        let call = Count { thread, ..count(id, number) };
                        let expected = std::mem::replace(&mut last[id as usize], number);
                        if number % 97 == 0 {
                            assert_eq!(database.call(&call).unwrap(), expected, "a call follows what was submitted");
                            continue;
                        }
                        outstanding.push_back((expected, database.submit(call).unwrap()));
                        if outstanding.len() > 50 {
                            let (expected, ticket) = outstanding.pop_front().unwrap();
                            assert_eq!(ticket.wait().unwrap(), expected);
                        }
                    }
                    for (expected, ticket) in outstanding {
                        assert_eq!(ticket.wait().unwrap(), expected);
                    }
                    moves.into_iter().for_each(|ticket| ticket.wait().unwrap());
                });
            }
        });
        let keys = (0..IDS).flat_map(|id| (0..THREADS).map(move |thread| (id, thread)));
        let calls = keys.map(|(id, thread)| tally(database, id, thread).calls).fold(0, u32::wrapping_add);
        assert_eq!(calls, CALLS * u32::from(threads), "{form:?}");
        let stats = database.counts();
        assert_eq!(stats.handed_over > 0, form != Execution::Caller, "threads leave calls for each other: {form:?}");
        assert_eq!(stats.execution, if form == Execution::Auto { Execution::Core } else { form });
        assert_eq!(database.verify(), Vec::<String>::new());
    }
}

#[test]
fn a_thread_that_is_alone_runs_its_calls_at_once() {
    let database = two_partitions();
    for (number, core) in (1..100).zip([0, 0, 1, 2].into_iter().cycle()) {
        CORE.set(core);
        let ticket = database.submit(count(number % 2, number)).unwrap();
        assert_eq!(tally(&database, number % 2, 0).last, number, "before the ticket is waited for");
        ticket.wait().unwrap();
    }
    let stats = database.counts();
    assert_eq!((stats.handed_over, stats.execution), (0, Execution::Caller));
}

#[test]
fn a_core_that_its_threads_have_left_holds_up_no_call() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let mut calls = 0;
    while cores(&database) == [Some(0), Some(1)] {
        calls += 1;
        assert!(calls < 10_000, "the partition moves to the core that runs its calls");
        assert_eq!(database.submit(count(1, calls)).unwrap().wait().unwrap(), calls - 1);
    }
    assert_eq!((cores(&database), database.counts().handed_over), (vec![Some(0); 2], u64::from(calls)));
    // From now on its calls run at once.
    database.submit(count(1, 0)).unwrap().wait().unwrap();
    assert_eq!(database.counts().handed_over, u64::from(calls));
}

/// Each thread calls the partition of the other's core only.
#[test]
fn partitions_move_to_where_their_calls_come_from() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let (begun, exchanged) = (Instant::now(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for core in 0..2 {
            let (database, exchanged) = (&database, &exchanged);
            scope.spawn(move || {
                CORE.set(core);
                let mut outstanding = VecDeque::new();
                while !exchanged.load(Ordering::Relaxed) {
                    assert!(begun.elapsed() < Duration::from_secs(60), "they are exchanged");
                    outstanding.push_back(database.submit(Count { thread: core as u8, ..count(1 - core, 0) }).unwrap());
                    if outstanding.len() > 50 {
                        outstanding.pop_front().unwrap().wait().unwrap();
                    }
                    exchanged.fetch_or(cores(database) == [Some(1), Some(0)], Ordering::Relaxed);
                }
                outstanding.into_iter().for_each(|ticket| _ = ticket.wait().unwrap());
            });
        }
    });
}

#[test]
fn a_ticket_that_is_asked_becomes_ready() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let one = database.submit(count(1, 5)).unwrap();
    let both = database.submit(Move { from: 0, to: 1, thread: 0 }).unwrap();
    let begun = Instant::now();
    while !(one.is_ready() && both.is_ready()) {
        assert!(begun.elapsed() < Duration::from_secs(10), "no thread runs the call");
    }
    assert_eq!(one.map(|before| before + 1).wait().unwrap(), 1);
}

#[test]
fn a_dropped_ticket_does_not_undo_the_call() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    drop(database.submit(count(1, 5)).unwrap());
    drop(database.submit(Move { from: 0, to: 1, thread: 0 }).unwrap());
    assert_eq!((tally(&database, 1, 0).last, tally(&database, 1, 0).calls), (5, 2));
}

#[test]
fn a_call_runs_although_its_ticket_is_not_waited_for() {
    let database = open(Config::default().with_partitions(2).with_in_order(false));
    leave_odd_to_core_1(&database);
    let one = database.submit(count(1, 5)).unwrap();
    let both = database.submit(Move { from: 2, to: 3, thread: 0 }).unwrap();
    let begun = Instant::now();
    while database.counts().handed_over < 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the database runs it");
        std::thread::sleep(Duration::from_millis(10));
    }
    one.wait().unwrap();
    both.wait().unwrap();
}

#[test]
fn calls_that_have_a_common_partition_run_in_order() {
    for form in FORMS {
        let database = open(Config::default().with_partitions(2).with_execution(form));
        let database = &database;
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut outstanding = VecDeque::new();
                    for number in 1..=2_000 {
                        CORE.set((number / 101 + u32::from(thread)) % 2);
                        // Every third on both partitions.
                        let reach = if number % 3 == 0 { Then::Both } else { Then::Commit };
                        let call = Count { thread, then: reach, ..count(number % 2, number) };
                        let expected = expected_last(number);
                        outstanding.push_back((expected, database.submit(call).unwrap()));
                        if outstanding.len() > 30 {
                            let (expected, ticket) = outstanding.pop_front().unwrap();
                            assert_eq!(ticket.wait().unwrap(), expected, "{form:?}");
                        }
                    }
                });
            }
        });
    }
}

/// Case 31: a thread that submits a call on several partitions does not wait for what it has left in their inboxes.
#[test]
fn a_call_on_several_partitions_is_left_behind_those_before_it() {
    let database = open(Config::default().with_partitions(2).with_log_threads(false));
    leave_odd_to_core_1(&database);
    // To the other core's partition, to both, and to this core's, which would run at once were it the only one.
    let calls = [(1, Then::Commit), (0, Then::Both), (0, Then::Commit), (1, Then::Commit)];
    let call = |(number, (id, then))| Count { then, ..count(id, number) };
    let tickets: Vec<_> = (1..).zip(calls).map(|it| database.submit(call(it)).unwrap()).collect();
    assert_eq!(database.counts().handed_over, 0, "nothing has run");
    let before: Vec<_> = tickets.into_iter().rev().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(before, [2, 2, 0, 0]);
    assert_eq!(database.counts().handed_over, 4);
}

/// A thread has left calls in an inbox of a partition that its next database does not have.
#[test]
fn a_database_with_fewer_partitions_takes_calls_of_a_thread_that_has_left_some_elsewhere() {
    let database = open(Config::default().with_partitions(6).with_execution(Execution::Core).with_log_threads(false));
    database.submit(count(0, 1)).unwrap().wait().unwrap();
    on_core(1, || database.submit(Count { thread: 1, ..count(0, 1) }).unwrap().wait().unwrap());
    let pair = |id, number| Count { then: Then::Pair(id + 1), ..count(id, number) };
    let left = [pair(2, 2), pair(0, 3)].map(|call| database.submit(call).unwrap());
    for (form, in_order) in FORMS.into_iter().flat_map(|form| [(form, true), (form, false)]) {
        let small = open(Config::default().with_partitions(2).with_execution(form).with_in_order(in_order));
        let tickets = [count(0, 1), pair(0, 2), count(1, 3)].map(|call| small.submit(call).unwrap());
        let before = tickets.map(|ticket| ticket.wait().unwrap());
        assert!(!in_order || before == [0, 1, 2], "{form:?}: {before:?}");
    }
    assert_eq!(left.map(|ticket| ticket.wait().unwrap()), [0, 1]);
}

/// Calls on overlapping pairs of four partitions and on single ones, submitted and called, to two databases by turns:
/// more than one call on several partitions is outstanding, in more than one inbox.
#[test]
fn calls_on_overlapping_partitions_run_in_order() {
    for form in FORMS {
        let databases = [(); 2].map(|()| open(Config::default().with_partitions(4).with_execution(form)));
        let databases = &databases;
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                scope.spawn(move || {
                    let mut last = [[0; 4]; 2];
                    let mut outstanding = VecDeque::new();
                    for number in 1..=3_000_u32 {
                        CORE.set((number / 101 + u32::from(thread)) % 2);
                        // Long stretches on one database, and single calls on the other between.
                        let which = usize::from(number % 500 > 250 || number % 37 == 0);
                        let draw = number.wrapping_mul(0x9E37_79B9) >> 16;
                        let [id, other] = [draw % 4, (draw >> 2) % 4];
                        let then = if draw >> 4 & 3 == 0 && id != other { Then::Pair(other) } else { Then::Commit };
                        let call = Count { thread, then, ..count(id, number) };
                        let last = &mut last[which];
                        let expected = std::mem::replace(&mut last[id as usize], number);
                        if let Then::Pair(other) = then {
                            last[other as usize] = number;
                        }
                        if draw >> 6 & 31 == 0 {
                            assert_eq!(databases[which].call(&call).unwrap(), expected, "{form:?}, {number}");
                            continue;
                        }
                        outstanding.push_back((expected, databases[which].submit(call).unwrap()));
                        if outstanding.len() > 60 {
                            let (expected, ticket) = outstanding.pop_front().unwrap();
                            assert_eq!(ticket.wait().unwrap(), expected, "{form:?}, before {number}");
                        }
                    }
                    for (expected, ticket) in outstanding {
                        assert_eq!(ticket.wait().unwrap(), expected, "{form:?}");
                    }
                });
            }
        });
    }
}

/// The number of the call before this one that counted itself at the same tally.
fn expected_last(number: u32) -> u32 {
    if (number - 1).is_multiple_of(3) { number - 1 } else { number.saturating_sub(2) }
}

#[test]
fn a_call_of_one_partition_sees_what_was_submitted_to_it_before() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let ticket = database.submit(count(1, 5)).unwrap();
    assert_eq!(database.call(&count(1, 6)).unwrap(), 5);
    ticket.wait().unwrap();
}

/// Also if their tickets are waited for afterwards.
#[test]
fn a_close_runs_what_was_submitted() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config::default().with_partitions(2).with_in_order(false).with_current_core(|| CORE.get());
    let database = Database::open(directory.path(), config.clone(), catalog()).unwrap();
    fill(&database);
    leave_odd_to_core_1(&database);
    let one = database.submit(count(1, 5)).unwrap();
    let both = database.submit(Move { from: 0, to: 1, thread: 0 }).unwrap();
    database.close().unwrap();
    assert!(matches!(database.submit(count(1, 6)).unwrap().wait(), Err(Error::Stopped { .. })));
    assert_eq!(one.wait().unwrap(), 0);
    both.wait().unwrap();
    drop(database);
    let reopened = Database::open(directory.path(), config, catalog()).unwrap();
    assert_eq!((tally(&reopened, 1, 0).last, tally(&reopened, 1, 0).calls), (5, 2));
}

#[test]
fn a_bulk_load_runs_what_was_submitted_before() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let ticket = database.submit(count(1, 5)).unwrap();
    let load = database.bulk_load().unwrap();
    assert_eq!(ticket.wait().unwrap(), 0);
    load.finish().unwrap();
    assert_eq!(tally(&database, 1, 0).last, 5);
}

#[test]
fn each_thread_has_as_many_tickets_as_the_configuration_says() {
    let database = open(Config::default().with_partitions(2).with_in_flight(3));
    let [first, second, third] = [0, 1, 2].map(|id| database.submit(count(id, 1)).unwrap());
    let refused = || matches!(database.submit(count(0, 2)), Err(Error::TooManyInFlight { limit: 3 }));
    assert!(refused());
    on_core(1, || database.submit(count(3, 1)).unwrap().wait().unwrap());
    assert_eq!(database.counts().in_flight, 3);
    first.wait().unwrap();
    let fourth = database.submit(count(0, 2)).unwrap();
    assert!(refused());
    // A ticket counts where it was submitted, wherever it ends.
    std::thread::scope(|scope| scope.spawn(|| second.wait().unwrap()).join().unwrap());
    let fifth = database.submit(count(1, 2)).unwrap();
    drop((third, fourth, fifth));
    assert_eq!(database.counts().in_flight, 0);
}

#[test]
fn an_abort_and_a_panic_are_their_submitters() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let outstanding = [Then::Commit, Then::Abort, Then::Panic, Then::Commit]
        .map(|then| database.submit(Count { then, ..count(1, 9) }));
    let [first, aborted, panicked, last] = outstanding.map(Result::unwrap);
    assert_eq!(database.counts().handed_over, 0, "none has run");
    assert!(matches!(aborted.wait(), Err(Error::Aborted(abort)) if abort.code == 7));
    let panic = catch_unwind(AssertUnwindSafe(|| panicked.wait())).expect_err("the procedure panicked");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"as asked"));
    assert_eq!((first.wait().unwrap(), last.wait().unwrap()), (0, 9));
    assert_eq!(tally(&database, 1, 0).calls, 2);
}

#[test]
fn a_call_that_needs_more_than_it_declares_gets_it() {
    let database = two_partitions();
    leave_odd_to_core_1(&database);
    let ticket = database.submit(Count { then: Then::Reach(0), ..count(1, 5) }).unwrap();
    let dropped = database.submit(Count { then: Then::Reach(2), ..count(1, 6) }).unwrap();
    assert_eq!(ticket.wait().unwrap(), 0);
    drop(dropped);
    assert_eq!([1, 0, 2].map(|id| tally(&database, id, 0).last), [6, 5, 6]);
    assert_eq!(database.counts().misdeclared, 2);
}

#[test]
fn a_look_at_an_output_cannot_call_the_database() {
    static DATABASE: OnceLock<Database> = OnceLock::new();
    let database = DATABASE.get_or_init(two_partitions);
    let nested = |_: &u32| database.call(&count(0, 1));
    let own = database.submit_with(count(0, 5), nested).unwrap();
    assert!(matches!(own.wait().unwrap(), Err(Error::Nested)));
    leave_odd_to_core_1(database);
    let handed = database.submit_with(count(1, 5), nested).unwrap();
    assert!(matches!(handed.wait().unwrap(), Err(Error::Nested)));
}

#[test]
fn a_configuration_fixes_who_runs_a_call() {
    let open = |form| open(Config::default().with_partitions(2).with_execution(form));
    let database = open(Execution::Caller);
    on_core(1, || database.submit(count(1, 4)).unwrap().wait().unwrap());
    let ticket = database.submit(count(1, 5)).unwrap();
    assert_eq!(tally(&database, 1, 0).last, 5);
    ticket.wait().unwrap();
    assert_eq!((database.counts().handed_over, cores(&database)), (0, vec![None; 2]));
    // With a thread of its own, every call of a partition runs there, also a later one while the thread sleeps.
    let database = open(Execution::Thread);
    for number in 1..=3 {
        std::thread::sleep(Duration::from_millis(20));
        let ticket = database.submit(count(1, number)).unwrap();
        let begun = Instant::now();
        while database.counts().handed_over < u64::from(number) {
            assert!(begun.elapsed() < Duration::from_secs(10), "its thread runs the call, though none waits for it");
        }
        assert_eq!(ticket.wait().unwrap(), number - 1);
    }
}

/// A barrier in each thread's call shows that calls of two partitions run at the same moment.
#[test]
fn partitions_work_at_the_same_time() {
    static BOTH: Barrier = Barrier::new(2);
    let database = open(Config::default().with_partitions(2).with_execution(Execution::Thread));
    let wait = |_: &u32| _ = BOTH.wait();
    let tickets = [0, 1].map(|id| database.submit_with(count(id, 1), wait).unwrap());
    tickets.into_iter().for_each(|ticket| ticket.wait().unwrap());
}

#[test]
fn handed_over_calls_are_recovered() {
    for log in [LogKind::Values, LogKind::Commands] {
        let directory = tempfile::tempdir().unwrap();
        let config =
            Config::default().with_partitions(2).with_log(log).with_in_order(false).with_current_core(|| CORE.get());
        let open = || Database::open(directory.path(), config.clone(), catalog()).unwrap();
        let database = open();
        fill(&database);
        leave_odd_to_core_1(&database);
        let both = database.submit(Move { from: 0, to: 1, thread: 0 }).unwrap();
        assert_eq!(database.submit(count(1, 5)).unwrap().wait().unwrap(), 0);
        both.wait().unwrap();
        assert_eq!(database.counts().handed_over, 2);
        drop(database);
        let tally = tally(&open(), 1, 0);
        assert_eq!((tally.last, tally.calls), (5, 2));
    }
}
