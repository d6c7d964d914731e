//! Every interleaving of a few threads at one latch.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p glassbox --lib interleavings`. Loom fails on two uses of a cell that
//! are not ordered, and on threads that all sleep: on broken exclusion and on lost wake-ups.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::{Latch, ReadWriteLatch};

struct Guarded {
    latch: ReadWriteLatch,
    number: UnsafeCell<u64>,
}

// SAFETY: that this is so is what the test checks: loom fails on any two uses of the cell that are not ordered.
unsafe impl Sync for Guarded {}
// SAFETY: a number.
unsafe impl Send for Guarded {}

impl Guarded {
    fn read(&self) -> u64 {
        self.latch.shared();
        // SAFETY: held shared.
        let number = self.number.with(|number| unsafe { *number });
        self.latch.release_shared();
        number
    }

    fn look(&self) {
        self.read();
    }

    fn add(&self) {
        self.latch.exclusive();
        // SAFETY: held exclusively.
        self.number.with_mut(|number| unsafe { *number += 1 });
        self.latch.release_exclusive();
    }

    fn add_then_read(&self) {
        self.latch.exclusive();
        // SAFETY: held exclusively.
        let added = self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        });
        self.latch.downgrade();
        // SAFETY: held shared.
        assert_eq!(self.number.with(|number| unsafe { *number }), added, "changed by another thread meanwhile");
        self.latch.release_shared();
    }

    fn try_add(&self) -> bool {
        let taken = self.latch.try_exclusive();
        if taken {
            // SAFETY: held exclusively.
            self.number.with_mut(|number| unsafe { *number += 1 });
            self.latch.release_exclusive();
        }
        taken
    }
}

/// Tries all interleavings of `threads`, with at most `switches` preemptive switches.
fn check(switches: usize, threads: &'static [fn(&Guarded)], added: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(move || {
        let guarded = Arc::new(Guarded { latch: ReadWriteLatch::default(), number: UnsafeCell::new(0) });
        let spawn = |work: &fn(&Guarded)| {
            let (guarded, work) = (guarded.clone(), *work);
            thread::spawn(move || work(&guarded))
        };
        let running: Vec<_> = threads[1..].iter().map(spawn).collect();
        threads[0](&guarded);
        running.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(guarded.read(), added);
        assert!(guarded.try_add(), "free at the end");
    });
}

#[test]
fn two_writers() {
    check(4, &[Guarded::add, Guarded::add], 2);
}

#[test]
fn a_writer_and_readers() {
    check(3, &[Guarded::add, Guarded::look, Guarded::look], 1);
}

#[test]
fn writers_and_a_reader() {
    check(3, &[Guarded::add, Guarded::look, Guarded::add], 2);
}

#[test]
fn who_goes_on_reading_keeps_writers_out() {
    check(3, &[Guarded::add_then_read, Guarded::add, Guarded::look], 2);
}
