//! Many threads, few sessions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use crate::classic::engine::sessions::*;

#[test]
fn more_threads_than_sessions_take_turns() {
    const THREADS: u64 = 6;
    const ROUNDS: u64 = 2000;
    let pool = SessionPool::new([0_u64; 2]);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let mut session = pool.take().unwrap();
                    let before = *session;
                    if round % 16 == 0 {
                        std::thread::yield_now();
                    }
                    *session = before + 1;
                }
            });
        }
    });
    let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
    assert_eq!(*first + *second, THREADS * ROUNDS);
    assert_eq!(pool.waiting.load(Ordering::SeqCst), 0);
}

#[test]
fn a_thread_gets_the_session_that_it_had() {
    let pool = SessionPool::new(0..8);
    let first = *pool.take().unwrap();
    for _ in 0..100 {
        assert_eq!(*pool.take().unwrap(), first);
    }
    let held = pool.take().unwrap();
    let other = *pool.take().unwrap();
    assert!(*held == first && other != first);
}

#[test]
fn who_waits_is_woken() {
    let pool = SessionPool::new([()]);
    let begun = Barrier::new(2);
    let held = pool.take().unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            begun.wait();
            drop(pool.take().unwrap());
        });
        begun.wait();
        while pool.waiting.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert!(!waiter.is_finished());
        drop(held);
        waiter.join().unwrap();
    });
}

#[test]
fn after_a_panic_the_sessions_are_refused() {
    let pool = SessionPool::new([()]);
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            begun.wait();
            pool.take().map(drop)
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _held = pool.take().unwrap();
            begun.wait();
            while pool.waiting.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            panic!("in the middle of a transaction");
        }));
        assert!(panicked.is_err());
        let error = waiter.join().unwrap().expect_err("the session is in an unknown state");
        assert!(error.to_string().contains("panicked"), "{error}");
    });
    assert!(matches!(pool.take().map(drop), Err(Error::Stopped { .. })));
}

#[test]
fn one_session_is_taken_and_given_back() {
    let one = OneSession::new(1);
    *one.take().unwrap() += 1;
    assert_eq!(*one.take().unwrap(), 2);
}
