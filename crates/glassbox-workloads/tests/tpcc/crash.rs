//! TPC-C with 4 partitions, or on the classic engine with a tenth of its pages in memory; 4 client threads and 10 %
//! remote work: all conditions hold after the run, after a clean reopening, after a kill and after a crash, and what
//! was answered is there, also when the disk was full or could not be forced before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use glassbox::config::{ClassicConfig, Granularity};
use glassbox::io::{Crash, Faults, Files, MemoryFiles, RealClock};
use glassbox::{Architecture, Config, Database, LogKind};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Observer, Remote, Scale, Settings, catalog, conditions, load};

pub(super) const SCALE: Scale = Scale::small(4);
const REMOTE: Remote = Remote { order_lines: 10.0, payments: 10.0 };
const CLIENTS: u64 = 4;
const IN_FLIGHT: usize = 16;

pub(super) fn partitioned(log: LogKind) -> Config {
    Config::default()
        .with_partitions(4)
        .with_log(log)
        .with_segment_bytes(1 << 20)
        .with_log_buffer_bytes(1 << 20)
        .with_checkpoint_log_bytes(3 << 20)
}

fn classic(granularity: Granularity) -> Config {
    let classic =
        ClassicConfig::default().with_page_bytes(4096).with_sessions(CLIENTS as usize).with_granularity(granularity);
    let pool_bytes = 32 << 20;
    partitioned(LogKind::Values)
        .with_partitions(1)
        .with_architecture(Architecture::Classic)
        .with_classic(classic.with_pool_bytes(pool_bytes))
}

pub(super) fn open(files: &MemoryFiles, config: &Config) -> Database {
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(RealClock::new()), config.clone(), catalog()).unwrap()
}

/// All conditions hold and all indexes agree; the number of orders since the population.
pub(super) fn check(database: &Database, when: &str) -> u64 {
    for report in database.transaction(|tx| conditions::check_all(tx, &SCALE)).unwrap() {
        assert!(report.holds() && report.checked > 0, "{when}: {report}");
    }
    assert_eq!(database.verify(), Vec::<String>::new(), "{when}");
    database.transaction(|tx| conditions::orders_entered(tx, &SCALE)).unwrap()
}

struct Count<'a>(&'a AtomicU64);

impl Observer for Count<'_> {
    fn answered(&mut self, kind: Kind, _latency_ns: u64, committed: bool) {
        self.0.fetch_add(u64::from(committed && kind == Kind::NewOrder), Ordering::SeqCst);
    }
}

/// Four clients for so long, or until the files fail; the orders that were answered, from which `each` may read while
/// they run.
fn work(database: &Database, seed: u64, time: Duration, each: impl FnOnce(&AtomicU64)) -> u64 {
    work_of(database, (CLIENTS, IN_FLIGHT), seed, time, each).0
}

/// The same by so many clients, each with so many transactions in flight; and how clients failed.
pub(super) fn work_of(
    database: &Database,
    (clients, in_flight): (u64, usize),
    seed: u64,
    time: Duration,
    each: impl FnOnce(&AtomicU64),
) -> (u64, Vec<String>) {
    let (stop, orders, failures) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(Vec::new()));
    let settings = Settings { remote: REMOTE, load_seed: 1, seed, ..Settings::new(SCALE) };
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (stop, orders, failures, settings) = (&stop, &orders, &failures, &settings);
            scope.spawn(move || {
                // An error is the end of the files, and of this client.
                let mut inputs = Inputs::new(settings, client);
                let ran = tpcc::run_client(database, &mut inputs, in_flight, stop, &mut Count(orders));
                failures.lock().unwrap().extend(ran.err().map(|error| error.to_string()));
            });
        }
        std::thread::sleep(time);
        each(&orders);
        stop.store(true, Ordering::SeqCst);
    });
    (orders.into_inner(), failures.into_inner().unwrap())
}

/// Waits until there are many orders, which takes longer on a busy machine.
fn many(orders: &AtomicU64) {
    let started = Instant::now();
    while orders.load(Ordering::Relaxed) <= 100 && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn survives(mut config: Config) {
    let mut files = MemoryFiles::new();
    let mut database = open(&files, &config);
    let bulk = database.bulk_load().unwrap();
    load(&SCALE, 1, 2, || &bulk).unwrap();
    bulk.finish().unwrap();
    let is_classic = config.architecture == Architecture::Classic;
    if is_classic {
        config.classic.pool_bytes = database.stats().memory_bytes() as usize / 10;
        println!("{} bytes of memory for ten times as many of pages", config.classic.pool_bytes);
        database.close().unwrap();
        files = files.after_kill();
        database = open(&files, &config);
    }
    let mut rerun = 0;
    let mut orders = work(&database, 1, Duration::from_millis(400), many);
    assert_eq!(check(&database, "after the run"), orders);
    assert!(orders > 100 && database.stats().misdeclared == 0, "{orders} orders");
    rerun += database.stats().rerun;
    database.close().unwrap();
    files = files.after_kill();
    database = open(&files, &config);
    assert_eq!(check(&database, "after a clean reopening"), orders);
    // Some after a while with a fault, of which every waiting caller must be told.
    let none = |_: &MemoryFiles| Faults::default();
    let full = |files: &MemoryFiles| Faults { full_from: Some(files.operations()), ..Faults::default() };
    let unforced = |files: &MemoryFiles| Faults { fail_force: Some(files.forces() + 1), ..Faults::default() };
    type Fault = fn(&MemoryFiles) -> Faults;
    let ends: [(Option<Crash>, Fault); 6] = [
        (None, none),
        (Some(Crash::Lost), none),
        (Some(Crash::Torn), none),
        (Some(Crash::Kept), none),
        (Some(Crash::Torn), full),
        (Some(Crash::Torn), unforced),
    ];
    for (number, (end, fault)) in ends.into_iter().enumerate() {
        let seed = number as u64 + 2;
        let mut found = MemoryFiles::new();
        let mut answered = 0;
        work(&database, seed, Duration::from_millis(60 + 20 * seed), |orders| {
            rerun += database.stats().rerun;
            files.set_faults(fault(&files));
            std::thread::sleep(Duration::from_millis(30));
            // At a stop nothing more is answered, wherever the clients, the log and a checkpoint are.
            files.stop();
            found = end.map_or_else(|| files.after_kill(), |mode| files.after_crash(mode, seed));
            answered = orders.load(Ordering::SeqCst);
        });
        drop(database);
        files = found;
        database = open(&files, &config);
        let when = format!("after end {number}, {end:?}, {:?}", config.architecture);
        let there = check(&database, &when);
        assert!(there >= orders + answered, "{when}: {there} orders, {orders} + {answered} were answered");
        orders = there;
    }
    // On few cores, transactions meet seldom.
    for seed in 10..40 {
        if !is_classic || rerun > 0 {
            break;
        }
        orders += work(&database, seed, Duration::from_millis(200), |_| ());
        assert_eq!(check(&database, "until there is a deadlock"), orders);
        rerun += database.stats().rerun;
    }
    println!("{orders} orders, {rerun} transactions run again");
    assert!(!is_classic || rerun > 0, "there was no deadlock");
}

#[test]
fn the_conditions_survive_with_a_value_log() {
    survives(partitioned(LogKind::Values));
}

#[test]
fn the_conditions_survive_with_a_command_log() {
    survives(partitioned(LogKind::Commands));
}

#[test]
fn the_conditions_survive_on_the_classic_engine() {
    survives(classic(Granularity::Record));
}

#[test]
fn the_conditions_survive_on_the_classic_engine_with_page_locks() {
    survives(classic(Granularity::Page));
}
