//! The twin's lock table: exclusive locks with a queue for each row.
//!
//! The first transaction of a queue holds the lock. A waiting one has an edge to the transaction in front of it,
//! which is as good as edges to all: that one waits for the next, down to the holder.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

/// A lock of a row that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockAnswer {
    Granted,
    /// The transaction in front of it.
    Behind(usize),
}

/// The locks of a node; transactions are named by their slots.
#[derive(Debug, Default)]
pub(super) struct RowLocks {
    queues: HashMap<u32, VecDeque<usize>, FixedState>,
}

/// The consequences of a release: the row's next holder, or a waiting transaction with another one in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Released {
    Granted(usize),
    Moved { waiter: usize, behind: usize },
    Unchanged,
}

impl RowLocks {
    /// Requests a lock; a transaction that has it or waits for it gets the same answer.
    pub fn request(&mut self, row: u32, txn: usize) -> LockAnswer {
        let queue = self.queues.entry(row).or_default();
        let at = queue.iter().position(|other| *other == txn).unwrap_or_else(|| {
            queue.push_back(txn);
            queue.len() - 1
        });
        if at == 0 { LockAnswer::Granted } else { LockAnswer::Behind(queue[at - 1]) }
    }

    /// The transaction that a request would be behind.
    pub fn last(&self, row: u32, txn: usize) -> Option<usize> {
        self.queues.get(&row).and_then(|queue| queue.back().copied()).filter(|last| *last != txn)
    }

    /// Releases a lock, or withdraws a request.
    pub fn release(&mut self, row: u32, txn: usize) -> Released {
        let Some(queue) = self.queues.get_mut(&row) else { return Released::Unchanged };
        let Some(at) = queue.iter().position(|other| *other == txn) else { return Released::Unchanged };
        queue.remove(at);
        let next = queue.get(at).copied();
        if queue.is_empty() {
            self.queues.remove(&row);
        }
        match next {
            Some(waiter) if at == 0 => Released::Granted(waiter),
            Some(waiter) => Released::Moved { waiter, behind: self.queues[&row][at - 1] },
            None => Released::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_granted_in_the_order_of_requests() {
        let mut locks = RowLocks::default();
        assert_eq!(locks.request(1, 10), LockAnswer::Granted);
        assert_eq!((locks.request(1, 11), locks.request(1, 12)), (LockAnswer::Behind(10), LockAnswer::Behind(11)));
        assert_eq!(locks.request(1, 10), LockAnswer::Granted, "it has the lock");
        assert_eq!(locks.last(1, 13), Some(12));
        assert_eq!(locks.release(1, 11), Released::Moved { waiter: 12, behind: 10 });
        assert_eq!(locks.release(1, 10), Released::Granted(12));
        assert_eq!((locks.release(1, 12), locks.release(1, 12)), (Released::Unchanged, Released::Unchanged));
    }
}
