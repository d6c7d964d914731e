//! The order of several coordinators at a partition: transactions begin in the order of their places, whichever
//! coordinator's message comes first.

use std::collections::BTreeMap;

use crate::protocol::address::TxnId;
use crate::protocol::message::Fragment;

/// First fragments that came before those whose places are before theirs.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The last place whose transaction has begun, or was given up before.
    passed: u64,
    /// By place; `None`: given up.
    early: BTreeMap<u64, Option<Fragment>>,
}

impl Order {
    /// A first fragment comes.
    pub(crate) fn put(&mut self, fragment: Fragment) {
        if fragment.place > self.passed {
            self.early.insert(fragment.place, Some(fragment));
        }
    }

    /// A transaction is decided against: if it has not begun here, nothing comes in its place.
    pub(crate) fn give_up(&mut self, txn: TxnId) {
        let it = self.early.values_mut().find(|it| it.as_ref().is_some_and(|fragment| fragment.txn == txn));
        it.into_iter().for_each(|it| *it = None);
    }

    /// The next that can begin.
    pub(crate) fn due(&mut self) -> Option<Fragment> {
        while let Some(it) = self.early.remove(&(self.passed + 1)) {
            self.passed += 1;
            if it.is_some() {
                return it;
            }
        }
        None
    }

    /// Whether nothing waits for its place.
    pub(crate) fn is_empty(&self) -> bool {
        self.early.is_empty()
    }
}
