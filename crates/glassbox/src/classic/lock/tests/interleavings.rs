//! A few owners in many orders of their threads: no owner sleeps for ever, no incompatible request is granted, and an
//! owner gives up only because of a deadlock.
//!
//! Run with `RUSTFLAGS="--cfg shuttle" cargo test -p glassbox --lib lock::tests::interleavings`. Shuttle runs the
//! threads one at a time, changes from one to another wherever they latch, wait or wake, and fails when all of them
//! sleep. `GLASSBOX_LONG=1` tries a hundred times as many orders.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use shuttle::thread;

use super::super::{Duration, LockConfig, LockManager, LockMode, LockName, Locks, Outcome};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::io::ManualClock;

use LockMode::{IS, S, U, X};

/// What one transaction locks, one after the other; `!` is true where only for the moment.
type Steps = &'static [(LockName, LockMode, bool)];

const fn record(slot: u16) -> LockName {
    LockName::Record(StoreId(1), Rid { page: PageId(1), slot })
}

const STORE: LockName = LockName::Store(StoreId(1));
const OTHER: LockName = LockName::Store(StoreId(2));
const A: LockName = record(0);
const B: LockName = record(1);
const C: LockName = record(2);

/// Readers of a record count by one each, writers by thousands: who writes must be alone.
#[derive(Default)]
struct Cells([AtomicI64; 3]);

impl Cells {
    fn cell(&self, name: LockName) -> Option<&AtomicI64> {
        [A, B, C].iter().position(|cell| *cell == name).map(|at| &self.0[at])
    }

    /// Adds what `mode` counts; a reader that becomes a writer is counted as both.
    fn enter(&self, name: LockName, mode: LockMode, own: i64) -> i64 {
        let Some(cell) = self.cell(name) else { return 0 };
        let count = if mode == X { 1_000 } else { 1 };
        let others = cell.fetch_add(count, SeqCst) - own;
        if mode == X {
            assert_eq!(others, 0, "a writer of {name} is not alone");
        } else {
            assert!(others < 1_000, "{name} is read while another writes it");
        }
        count
    }
}

/// Runs the transactions side by side in many orders, and says whether any may have to give up. With intents on pages,
/// and without, which has shorter ways.
fn check(transactions: &'static [Steps], may_deadlock: bool) {
    check_with(true, transactions, may_deadlock);
    check_with(false, transactions, may_deadlock);
}

fn check_with(lock_pages: bool, transactions: &'static [Steps], may_deadlock: bool) {
    let config = move || LockConfig { partitions: 2, lock_pages, escalate_store_at: 2, ..LockConfig::default() };
    let seen = Arc::new(AtomicU64::new(0));
    let total = seen.clone();
    let body = move || {
        let manager = Arc::new(LockManager::new(config(), Arc::new(ManualClock::default())));
        let cells = Arc::<Cells>::default();
        let run = |steps: Steps| {
            let (manager, cells) = (manager.clone(), cells.clone());
            thread::spawn(move || transaction(&manager, &cells, steps))
        };
        let running: Vec<_> = transactions.iter().map(|steps| run(steps)).collect();
        let gave_up = running.into_iter().map(|thread| thread.join().unwrap()).filter(|done| !done);
        let gave_up = gave_up.count() as u64;
        assert!(gave_up < transactions.len() as u64, "all of a circle gave up");
        assert_eq!(manager.counters().deadlocks, gave_up);
        assert_eq!(manager.names(), 0, "something is left");
        total.fetch_add(gave_up, SeqCst);
    };
    let times = if std::env::var_os("GLASSBOX_LONG").is_some() { 100 } else { 1 };
    shuttle::check_random(body.clone(), 1_000 * times);
    shuttle::check_pct(body, 1_000 * times, 4);
    assert_eq!(seen.load(SeqCst) > 0, may_deadlock, "whether an owner gave up");
}

/// Says whether it got to its end.
fn transaction(manager: &LockManager, cells: &Cells, steps: Steps) -> bool {
    let mut owner = manager.owner();
    let mut entered: Vec<(LockName, i64)> = Vec::new();
    let mut done = true;
    for (name, mode, momentary) in steps {
        let duration = if *momentary { Duration::Momentary } else { Duration::Commit };
        match manager.lock(&mut owner, *name, *mode, true, duration) {
            Outcome::Granted if *momentary => {}
            Outcome::Granted => {
                let own = entered.iter().filter(|other| other.0 == *name).map(|other| other.1).sum();
                entered.push((*name, cells.enter(*name, *mode, own)));
            }
            Outcome::Deadlock => {
                done = false;
                break;
            }
            Outcome::WouldBlock | Outcome::Timeout => panic!("it waits, and there is no limit"),
        }
    }
    for (name, count) in entered {
        cells.cell(name).map(|cell| cell.fetch_sub(count, SeqCst));
    }
    manager.release_all(&mut owner);
    done
}

#[test]
fn writers_of_one_record_follow_each_other() {
    check(&[&[(A, X, false)], &[(A, X, false)], &[(A, S, false)]], false);
}

#[test]
fn who_meets_in_opposite_order_does_not_sleep() {
    check(&[&[(A, X, false), (B, X, false)], &[(B, X, false), (A, X, false)]], true);
}

#[test]
fn conversions_do_not_sleep() {
    check(&[&[(A, S, false), (A, X, false)], &[(A, S, false), (A, X, false)], &[(A, S, false)]], true);
    check(&[&[(A, U, false), (A, X, false)], &[(A, U, false), (A, X, false)], &[(A, S, false)]], false);
}

#[test]
fn a_circle_of_three_does_not_sleep() {
    check(&[&[(A, X, false), (B, X, false)], &[(B, X, false), (C, X, false)], &[(C, X, false), (A, X, false)]], true);
}

#[test]
fn momentary_locks_let_others_on() {
    check(&[&[(A, S, false)], &[(A, X, true), (B, S, false)], &[(B, X, false), (A, S, false)]], false);
    check(&[&[(A, S, false), (A, X, true)], &[(A, S, false)], &[(A, X, false)]], false);
}

#[test]
fn a_waiter_granted_by_a_conversion_does_not_sleep() {
    // If U were refused while IS is held, the second would wait, become grantable by the conversion, and not be woken.
    check(
        &[&[(STORE, IS, false), (STORE, S, false), (OTHER, X, false)], &[(OTHER, X, false), (STORE, U, false)]],
        false,
    );
}

#[test]
fn escalation_does_not_sleep() {
    check(&[&[(A, X, false), (B, X, false), (C, X, false)], &[(C, S, false)], &[(C, S, false), (B, S, false)]], true);
}
