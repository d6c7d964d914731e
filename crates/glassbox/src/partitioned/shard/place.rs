//! Where a run is: which rows are here, and which elsewhere.

use crate::procedure::{PartitionSet, partition_of};
use crate::record::{Key, Record};

/// Which partition this is, and which take part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) index: u8,
    pub(super) count: u8,
    pub(super) participants: PartitionSet,
}

impl Place {
    /// The partition of a key's row, if it is not here.
    #[inline(always)]
    pub(super) fn elsewhere<R: Record>(self, key: &R::Key) -> Option<u8> {
        if self.count == 1 {
            return None;
        }
        let placement = key.placement_at(R::PLACEMENT?);
        let partition = partition_of(placement, u64::from(self.count)) as u8;
        (partition != self.index).then_some(partition)
    }
}
