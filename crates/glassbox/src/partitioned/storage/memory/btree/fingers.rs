//! Where the last insertions went, so that the next ones go there without a descent.
//!
//! Keys arrive in ascending runs, one for each prefix, and the runs take turns: a single finger would be moved at
//! nearly every turn. So there are several, and a key's finger is told by its prefix, all but its last bytes. Which
//! bytes are the run's counter the tree does not know; with [`COUNTER_BITS`] a run keeps its finger for 16 million
//! keys, and runs whose prefixes differ only in those bits share one. Two runs that meet on the same finger move it, as
//! it was with a single one.

use crate::partitioned::storage::memory::btree::node::largest;
use crate::record::EncodedKey;

/// Fingers of a tree; a power of two.
pub(crate) const FINGERS: usize = 64;
/// Low bits of a key in which it differs from its neighbours in a run.
const COUNTER_BITS: u32 = 24;

/// The leaf of an insertion: every key from `low` to `high` belongs there, and perhaps others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finger<K> {
    /// 0 when there is none; then `low` is above `high`.
    pub(crate) leaf: u32,
    pub(crate) low: K,
    pub(crate) high: K,
}

impl<K: EncodedKey> Finger<K> {
    fn none() -> Self {
        Self { leaf: 0, low: largest(), high: K::ZERO }
    }

    #[inline(always)]
    pub(crate) fn covers(&self, key: &K) -> bool {
        self.low <= *key && *key <= self.high
    }
}

/// The fingers of a tree.
#[derive(Debug)]
pub(crate) struct Fingers<K>(pub(crate) Box<[Finger<K>; FINGERS]>);

impl<K: EncodedKey> Fingers<K> {
    pub(crate) fn none() -> Self {
        Self(Box::new([Finger::none(); FINGERS]))
    }

    /// The finger for this key.
    #[inline(always)]
    pub(crate) fn of(&mut self, key: &K) -> &mut Finger<K> {
        &mut self.0[(key.hash_without(COUNTER_BITS) >> (64 - FINGERS.trailing_zeros())) as usize]
    }

    /// Forgets all.
    pub(crate) fn forget_all(&mut self) {
        self.0.fill(Finger::none());
    }

    /// Forgets those on a leaf that is split or freed.
    pub(crate) fn forget(&mut self, leaf: u32) {
        self.0.iter_mut().filter(|finger| finger.leaf == leaf).for_each(|finger| *finger = Finger::none());
    }
}
