//! Threads that lock at random against an oracle that knows what has been granted and not yet released.

use std::sync::{Arc, Mutex};
use std::thread;

use super::super::{Duration, LockConfig, LockGranularity, LockManager, LockMode, LockName, Locks, Outcome, Owner};
use super::model::agree;
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::io::{Dice, RealClock};

/// What each owner may do, as far as it was told. A lock is entered after it was granted and removed before it is
/// released, so whatever is here at the same time was held at the same time.
type Oracle = Mutex<Vec<(u32, LockName, LockMode)>>;

/// Longer than any wait that ends.
const LIMIT_NS: u64 = 10_000_000_000;

fn name(dice: &mut Dice) -> LockName {
    let store = StoreId(1 + dice.below(2) as u32);
    let page = PageId(1 + dice.below(2) as u32);
    match dice.below(40) {
        0 => LockName::Volume,
        1 | 2 => LockName::Store(store),
        3 | 4 => LockName::Page(store, page),
        5 | 6 => LockName::End(store),
        _ => LockName::Record(store, Rid { page, slot: dice.below(4) as u16 }),
    }
}

fn mode(dice: &mut Dice) -> LockMode {
    [LockMode::S, LockMode::S, LockMode::S, LockMode::U, LockMode::X, LockMode::X, LockMode::SIX][dice.place(7)]
}

fn enter(oracle: &Oracle, owner: u32, name: LockName, mode: LockMode) {
    let mut granted = oracle.lock().unwrap();
    for (other, others, held) in granted.iter().filter(|other| other.0 != owner) {
        assert!(agree((name, mode), (*others, *held)), "{owner}: {mode:?} {name} beside {other}: {held:?} {others}");
    }
    granted.push((owner, name, mode));
}

/// One transaction. Says whether it got to its end.
fn transaction(manager: &LockManager, oracle: &Oracle, owner: &mut Owner, dice: &mut Dice) -> bool {
    let number = owner.number();
    let mut done = true;
    for step in 0..1 + dice.below(8) {
        let (name, mode) = (name(dice), mode(dice));
        let (wait, momentary) = (dice.below(4) > 0, dice.below(8) == 0);
        let duration = if momentary { Duration::Momentary } else { Duration::Commit };
        manager.set_work(owner, step);
        match manager.lock(owner, name, mode, wait, duration) {
            Outcome::Granted if !momentary => {
                assert!(manager.holds(owner, name, mode));
                enter(oracle, number, name, mode);
            }
            Outcome::Granted => {}
            Outcome::WouldBlock => assert!(!wait, "who would wait is never told that it would block"),
            Outcome::Deadlock | Outcome::Timeout => {
                done = false;
                break;
            }
        }
        if dice.below(6) == 0 {
            thread::yield_now();
        }
    }
    oracle.lock().unwrap().retain(|granted| granted.0 != number);
    manager.release_all(owner);
    done
}

/// Threads with an owner each. Gives the manager and how many transactions got to their end.
fn run(seed: u64, threads: u64, transactions: u64, config: LockConfig) -> (Arc<LockManager>, u64) {
    let manager = Arc::new(LockManager::new(config, Arc::new(RealClock::new())));
    let oracle = Arc::<Oracle>::default();
    let spawn = |thread: u64| {
        let (manager, oracle) = (manager.clone(), oracle.clone());
        thread::spawn(move || {
            let mut dice = Dice(seed << 32 | thread);
            let mut owner = manager.owner();
            (0..transactions).filter(|_| transaction(&manager, &oracle, &mut owner, &mut dice)).count() as u64
        })
    };
    let running: Vec<_> = (0..threads).map(spawn).collect();
    let done = running.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(manager.names(), 0, "seed {seed}: something is left when all has been released");
    (manager, done)
}

fn seed() -> u64 {
    std::env::var("GLASSBOX_SEED").map_or(1, |seed| seed.parse().expect("GLASSBOX_SEED is a number"))
}

#[test]
fn no_two_hold_what_does_not_go_together() {
    // No wait is that long, unless a deadlock was not seen or a thread has failed.
    let usual = || LockConfig { partitions: 4, timeout_ns: Some(LIMIT_NS), ..LockConfig::default() };
    let configs = [
        usual(),
        LockConfig { escalate_store_at: 2, escalate_page_at: 1, ..usual() },
        LockConfig { granularity: LockGranularity::Page, ..usual() },
        LockConfig { granularity: LockGranularity::Store, ..usual() },
        LockConfig { lock_pages: false, escalate_store_at: 3, ..usual() },
        LockConfig { timeout_ns: Some(20_000), ..usual() },
        LockConfig { detect_every_ns: Some(500_000), ..usual() },
    ];
    let (mut waits, mut deadlocks, mut timeouts, mut escalations) = (0, 0, 0, 0);
    for config in configs {
        let timed = config.timeout_ns != Some(LIMIT_NS);
        let (manager, done) = run(seed(), 6, 1_500, config);
        let counters = manager.counters();
        assert_eq!(done + counters.deadlocks + counters.timeouts, 6 * 1_500, "each ends in one way");
        let last: Vec<String> = manager.waits().iter().map(ToString::to_string).collect();
        assert!(timed || counters.timeouts == 0, "an owner waited for ever: {last:#?}");
        waits += counters.waits;
        deadlocks += counters.deadlocks;
        timeouts += counters.timeouts;
        escalations += counters.escalations;
    }
    let seen = [waits, deadlocks, timeouts, escalations];
    assert!(seen.iter().all(|count| *count > 0), "nothing was tried: {seen:?}");
}

#[test]
fn the_oracle_notices_a_broken_manager() {
    let config = LockConfig { broken_s_beside_x: true, partitions: 4, ..LockConfig::default() };
    let manager = Arc::new(LockManager::new(config, Arc::new(RealClock::new())));
    let (mut writer, mut reader) = (manager.owner(), manager.owner());
    let name = LockName::Record(StoreId(1), Rid { page: PageId(1), slot: 0 });
    let oracle = Oracle::default();
    for (owner, mode) in [(&mut writer, LockMode::X), (&mut reader, LockMode::S)] {
        assert_eq!(manager.lock(owner, name, mode, false, Duration::Commit), Outcome::Granted);
    }
    enter(&oracle, writer.number(), name, LockMode::X);
    let noticed = std::panic::catch_unwind(|| enter(&oracle, reader.number(), name, LockMode::S));
    assert!(noticed.is_err());
}

#[test]
fn two_who_count_lose_nothing() {
    // Read, then write what was read plus one: U keeps the other from reading in between, so no owner gives up.
    let config = LockConfig { timeout_ns: Some(LIMIT_NS), ..LockConfig::default() };
    let manager = Arc::new(LockManager::new(config, Arc::new(RealClock::new())));
    let count = Arc::new(Mutex::new(0_u64));
    let name = LockName::Record(StoreId(1), Rid { page: PageId(1), slot: 0 });
    let spawn = |_| {
        let (manager, count) = (manager.clone(), count.clone());
        thread::spawn(move || {
            let mut owner = manager.owner();
            for _ in 0..5_000 {
                assert_eq!(manager.lock(&mut owner, name, LockMode::U, true, Duration::Commit), Outcome::Granted);
                let read = *count.lock().unwrap();
                assert_eq!(manager.lock(&mut owner, name, LockMode::X, true, Duration::Commit), Outcome::Granted);
                *count.lock().unwrap() = read + 1;
                manager.release_all(&mut owner);
            }
        })
    };
    let threads: Vec<_> = (0..4).map(spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*count.lock().unwrap(), 20_000);
    assert_eq!(manager.counters().deadlocks, 0);
}
