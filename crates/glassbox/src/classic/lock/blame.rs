//! The part of waits for locks that is due to other transactions' reads of the disk.
//!
//! A transaction that reads the disk while it holds locks lets all wait that wait for it, directly or behind others
//! (Charm, Figure 1: the third waits for the second, which waits for the first, which reads). It holds its locks until
//! it ends. So all who waited for it during a read still wait when it is about to release them, unless they gave up;
//! and only a transaction that has read has to look. It walks the waits-for graph then, and attributes to each waiter
//! the time of its wait in which a read went on. Reads of several transactions at the same time count once.

use crate::classic::ids::TxnId;
use crate::classic::page::miss::DiskRead;

/// The part of a wait in which a transaction in the way read the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskShare {
    /// Its time, nanoseconds.
    pub(crate) ns: u64,
    /// The read with the largest part, and its transaction.
    pub(crate) longest: Option<(TxnId, DiskRead)>,
    longest_ns: u64,
    /// When the wait began.
    pub(super) began_ns: u64,
    /// The time up to which the wait has been looked at.
    until_ns: u64,
}

impl DiskShare {
    /// Of a wait that begins.
    pub(super) fn new(began_ns: u64) -> Self {
        Self { began_ns, until_ns: began_ns, ..Self::default() }
    }

    /// Adds the part of a read from `from_ns` on, since when all between the reader and this wait have waited.
    pub(super) fn add(&mut self, txn: TxnId, read: DiskRead, from_ns: u64) {
        let ns = read.ended_ns.saturating_sub(read.began_ns.max(self.until_ns).max(from_ns));
        self.until_ns = self.until_ns.max(read.ended_ns);
        self.ns += ns;
        if ns > self.longest_ns {
            (self.longest, self.longest_ns) = (Some((txn, read)), ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::{Duration as LockDuration, LockConfig, LockManager, LockMode, LockName, Locks, caused_ns};
    use super::DiskShare;
    use crate::classic::ids::{PageId, StoreId, TxnId};
    use crate::classic::page::miss::DiskRead;
    use crate::io::{Clock, ManualClock};

    fn read(page: u32, began_ns: u64, ended_ns: u64) -> DiskRead {
        DiskRead { page: PageId(page), store: StoreId(1), began_ns, ended_ns }
    }

    #[test]
    fn reads_count_once_and_only_while_the_wait_goes_on() {
        let mut share = DiskShare::new(100);
        share.add(TxnId(7), read(1, 20, 90), 0);
        assert_eq!((share.ns, share.longest), (0, None), "before the wait");
        share.add(TxnId(7), read(2, 50, 150), 0);
        share.add(TxnId(7), read(3, 200, 300), 0);
        share.add(TxnId(8), read(4, 250, 320), 0);
        assert_eq!(share.ns, 50 + 100 + 20);
        assert_eq!(share.longest, Some((TxnId(7), read(3, 200, 300))));
        share.add(TxnId(8), read(5, 330, 350), 340);
        assert_eq!(share.ns, 50 + 100 + 20 + 10, "who is between them was not waiting yet");
    }

    /// The paper's Figure 1: the third waits for the second, which waits for the first, which reads the disk.
    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn a_read_is_attributed_to_all_who_wait_behind_it() {
        let clock = ManualClock::default();
        let manager = Arc::new(LockManager::new(LockConfig::default(), Arc::new(clock.clone())));
        let [one, two] = [1, 2].map(|store| LockName::Store(StoreId(store)));
        let lock = |manager: &LockManager, owner: &mut _, name| {
            manager.lock(owner, name, LockMode::X, true, LockDuration::Commit)
        };
        let mut first = manager.owner();
        manager.set_txn(&mut first, TxnId(69));
        let _ = lock(&manager, &mut first, one);
        std::thread::scope(|scope| {
            for names in [vec![two, one], vec![two]] {
                let (mut owner, manager) = (manager.owner(), Arc::clone(&manager));
                let number = owner.number();
                let is_waiting = {
                    let manager = Arc::clone(&manager);
                    move || manager.is_waiting(number)
                };
                scope.spawn(move || {
                    for name in names {
                        let _ = lock(&manager, &mut owner, name);
                    }
                    manager.release_all(&mut owner);
                });
                while !is_waiting() {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
            clock.advance_ns(500_000);
            let began_ns = clock.monotonic_ns();
            clock.advance_ns(11_900_000);
            let read = DiskRead { page: PageId(5121), store: StoreId(3), began_ns, ended_ns: clock.monotonic_ns() };
            let before_ns = caused_ns();
            manager.attribute(&first, &[read]);
            assert_eq!(caused_ns() - before_ns, 2 * 11_900_000, "of the thread that read");
            manager.release_all(&mut first);
        });
        let waits = manager.waits();
        assert_eq!(waits.len(), 2);
        for wait in waits {
            assert_eq!(wait.waited_ns, 12_400_000, "{wait}");
            assert_eq!(wait.disk.ns, 11_900_000, "{wait}");
            let (txn, read) = wait.disk.longest.expect("it read");
            assert_eq!((txn, read.page), (TxnId(69), PageId(5121)));
        }
        assert_eq!(manager.counters().disk_ns, 2 * 11_900_000);
    }
}
