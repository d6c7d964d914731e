//! Reorders the first fragments of several coordinators at a partition: transactions begin in the order of their
//! places, in whichever order the messages arrive.

use std::collections::BTreeMap;

use crate::protocol::address::TxnId;
use crate::protocol::message::Fragment;

/// Out-of-order first fragments, buffered until their place is next.
#[derive(Debug, Default)]
pub(crate) struct ReorderBuffer {
    /// The last place whose transaction began or was aborted before it began.
    passed: u64,
    /// By place; `None`: aborted before it began.
    early: BTreeMap<u64, Option<Fragment>>,
}

impl ReorderBuffer {
    /// Adds a first fragment.
    pub(crate) fn put(&mut self, fragment: Fragment) {
        if fragment.place > self.passed {
            self.early.insert(fragment.place, Some(fragment));
        }
    }

    /// Aborts a transaction: if it has not begun here, its place stays empty.
    pub(crate) fn abort(&mut self, txn: TxnId) {
        let it = self.early.values_mut().find(|it| it.as_ref().is_some_and(|fragment| fragment.txn == txn));
        it.into_iter().for_each(|it| *it = None);
    }

    /// The next fragment in order, if it has arrived.
    pub(crate) fn due(&mut self) -> Option<Fragment> {
        while let Some(it) = self.early.remove(&(self.passed + 1)) {
            self.passed += 1;
            if it.is_some() {
                return it;
            }
        }
        None
    }

    /// Whether no fragment is buffered.
    pub(crate) fn is_empty(&self) -> bool {
        self.early.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Call, PartitionSet};

    use super::*;
    use crate::protocol::address::Address;
    use crate::protocol::message::FragmentWork;

    fn first(place: u64) -> Fragment {
        let txn = TxnId { coordinator: Address::Coordinator(place as u16 % 2), sequence: place };
        let call = Call { procedure: 0, arguments: Vec::new().into(), now: Timestamp::default(), seed: 0 };
        let (work, before) = (FragmentWork::Run(Vec::new()), None);
        Fragment { txn, round: 0, call, participants: PartitionSet::of(0), work, settled: 0, place, before }
    }

    #[test]
    fn fragments_leave_in_order_and_an_aborted_one_leaves_its_place_empty() {
        let mut buffer = ReorderBuffer::default();
        for place in [3, 2, 4] {
            buffer.put(first(place));
        }
        assert!(buffer.due().is_none() && !buffer.is_empty(), "the first is missing");
        buffer.abort(first(3).txn);
        buffer.put(first(1));
        let places: Vec<_> = std::iter::from_fn(|| buffer.due()).map(|fragment| fragment.place).collect();
        assert_eq!(places, [1, 2, 4]);
        buffer.put(first(2));
        assert!(buffer.is_empty(), "it has begun already");
    }
}
