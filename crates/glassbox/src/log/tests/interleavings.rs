//! Every interleaving of a few appends and the flusher, with every value the memory model allows them to see.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p glassbox --lib interleavings`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::super::order::{Order, Purpose};

/// A ring of `capacity / 8` records, each the number of its position.
struct Cells {
    order: Order,
    cells: Vec<UnsafeCell<u64>>,
}

// SAFETY: that this is so is what the test checks: loom fails on any two uses of a cell that are not ordered.
unsafe impl Sync for Cells {}
// SAFETY: numbers.
unsafe impl Send for Cells {}

impl Cells {
    fn new(capacity: u64) -> Arc<Cells> {
        let cells = (0..capacity / 8).map(|_| UnsafeCell::new(u64::MAX)).collect();
        Arc::new(Cells { order: Order::new(capacity, 0, 2), cells })
    }

    fn cell(&self, position: u64) -> &UnsafeCell<u64> {
        &self.cells[(position / 8) as usize % self.cells.len()]
    }

    /// Appends records until there is no room, and returns their number. A wait for room would be a loop, which loom
    /// cannot explore to its end, so the append fails, as it does when the log is poisoned.
    fn append(&self, records: u64) -> u64 {
        let mut slot = self.order.take_slot().unwrap();
        for done in 0..records {
            let room = |tail| if self.order.tail() < tail { Err(()) } else { Ok(()) };
            let full = || Err(());
            let Ok(start) = self.order.reserve(&mut slot, 8, Purpose::Change, full, room) else { return done };
            // SAFETY: the position was reserved.
            self.cell(start).with_mut(|cell| unsafe { *cell = start });
            self.order.finish(&mut slot);
        }
        records
    }

    /// Reads the complete records, as the flusher does.
    fn flush(&self) -> u64 {
        let (from, to) = (self.order.tail(), self.order.complete());
        for position in (from..to).step_by(8) {
            // SAFETY: below `complete`, not below `tail`.
            let found = self.cell(position).with(|cell| unsafe { *cell });
            assert_eq!(found, position, "complete, but not copied");
        }
        self.order.advance_tail(to);
        to
    }
}

/// Appenders of `each` records and `flushes` flushes at the same time, then one more flush; all orders with at most
/// `switches` preemptive switches.
fn check(capacity: u64, appenders: u64, each: u64, flushes: usize, switches: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = switches;
    model.check(move || {
        let cells = Cells::new(capacity);
        let spawn = |_| {
            let cells = cells.clone();
            thread::spawn(move || cells.append(each))
        };
        let threads: Vec<_> = (0..appenders).map(spawn).collect();
        (0..flushes).for_each(|_| drop(cells.flush()));
        let appended: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        let complete = cells.flush();
        if appended == appenders * each {
            assert_eq!(complete, 8 * appended, "all is complete when no append copies or has failed");
        }
    });
}

#[test]
fn what_is_complete_is_copied() {
    check(64, 1, 2, 2, None);
    check(64, 2, 1, 1, Some(4));
    check(64, 2, 1, 2, Some(3));
    check(64, 2, 2, 1, Some(2));
}

#[test]
fn what_is_used_again_was_read() {
    check(8, 1, 2, 2, None);
    check(8, 2, 1, 2, Some(3));
    check(16, 2, 2, 1, Some(2));
}

#[test]
fn what_is_complete_never_falls() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let cells = Cells::new(64);
        let (slow, fast) = (cells.clone(), cells.clone());
        let slow = thread::spawn(move || slow.append(1));
        // Appends and flushes, perhaps while the slow one holds an old bound in its hand.
        let fast = thread::spawn(move || {
            fast.append(1);
            fast.flush()
        });
        let before = fast.join().unwrap();
        assert!(cells.flush() >= before, "complete fell below the tail");
        slow.join().unwrap();
    });
}

#[test]
fn appends_do_not_pass_the_limit_together() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let cells = Cells::new(64);
        cells.order.set_limits(16, 64);
        let spawn = |_| {
            let cells = cells.clone();
            thread::spawn(move || cells.append(2))
        };
        let threads: Vec<_> = (0..2).map(spawn).collect();
        let appended: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!((appended, cells.order.head()), (2, 16));
        assert_eq!(cells.flush(), 16);
    });
}
