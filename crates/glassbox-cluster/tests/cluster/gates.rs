//! Gates: a test's procedure waits at one within its run, so the test decides when a partition goes on. Nothing waits
//! for a time.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The wait of a failed test.
const PATIENCE: Duration = Duration::from_secs(60);

/// The gates of the test that is running: a partition reports that it has reached one, and waits until it is opened.
type Gates = BTreeMap<u8, (Sender<u8>, Arc<Mutex<Receiver<()>>>)>;

static GATES: Mutex<Gates> = Mutex::new(BTreeMap::new());
static ONE_TEST: Mutex<()> = Mutex::new(());

/// Reports that a partition has reached the gate of a home, and waits until it is opened, if there is one.
pub fn wait_at_gate(home: u8) {
    let gate = GATES.lock().unwrap_or_else(PoisonError::into_inner).get(&home).cloned();
    if let Some((reached, opened)) = gate
        && reached.send(home).is_ok()
    {
        // A failed test opens no gate.
        let _ = opened.lock().unwrap_or_else(PoisonError::into_inner).recv();
    }
}

/// A test's side of its gates.
pub struct Keeper {
    reached: Receiver<u8>,
    open: BTreeMap<u8, Sender<()>>,
    _alone: MutexGuard<'static, ()>,
}

impl Keeper {
    /// Gates of these homes, all closed; other tests with gates wait until it is dropped.
    pub fn of(homes: &[u8]) -> Self {
        let alone = ONE_TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let (reports, reached) = channel();
        let mut open = BTreeMap::new();
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        for &home in homes {
            let (sender, receiver) = channel();
            open.insert(home, sender);
            gates.insert(home, (reports.clone(), Arc::new(Mutex::new(receiver))));
        }
        drop(gates);
        Self { reached, open, _alone: alone }
    }

    /// Waits until partitions have reached the gates of these homes, in any order.
    pub fn wait_for(&self, homes: &[u8]) {
        let mut reached: Vec<_> = homes.iter().map(|_| self.reached.recv_timeout(PATIENCE).unwrap()).collect();
        reached.sort_unstable();
        assert_eq!(reached, homes);
    }

    /// Lets the partition at a gate go on, or the next one that reaches it.
    pub fn open(&self, home: u8) {
        self.open[&home].send(()).unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        GATES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
