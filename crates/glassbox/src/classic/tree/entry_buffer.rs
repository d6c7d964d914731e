//! Entries on the stack, for those that are not on a page yet, or not any more.

use super::keys::padded_8;
use super::node::MOST_ENTRY_BYTES;
use crate::classic::ids::{PageId, Rid};

/// An entry on the stack.
pub(super) struct EntryBuffer {
    bytes: [u8; MOST_ENTRY_BYTES],
    len: usize,
}

impl EntryBuffer {
    #[inline(always)]
    fn new(key: &[u8], value: &[u8]) -> Self {
        let mut bytes = [0; MOST_ENTRY_BYTES];
        let len = key.len() + value.len();
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..len].copy_from_slice(value);
        Self { bytes, len }
    }

    /// Room for an entry.
    #[inline(always)]
    pub(super) fn empty() -> Self {
        Self { bytes: [0; MOST_ENTRY_BYTES], len: 0 }
    }

    /// Makes it an entry of a leaf, where it is: copying it takes longer than making it.
    #[inline(always)]
    pub(super) fn set_leaf(&mut self, key: &[u8], rid: Rid) {
        let Self { bytes, len } = self;
        // 8 bytes at a time where that is enough: what is too much is overwritten.
        match key.first_chunk::<8>() {
            Some(first) if key.len() == 8 => bytes[..8].copy_from_slice(first),
            None => bytes[..8].copy_from_slice(&padded_8(key).to_be_bytes()),
            _ => bytes[..key.len()].copy_from_slice(key),
        }
        bytes[key.len()..][..Rid::WIDTH].copy_from_slice(&rid.to_u64().to_be_bytes());
        *len = key.len() + Rid::WIDTH;
    }

    /// An entry of an inner node.
    pub(super) fn inner(separator: &[u8], child: PageId) -> Self {
        Self::new(separator, &child.0.to_le_bytes())
    }

    /// A copy.
    #[inline(always)]
    pub(super) fn copy(entry: &[u8]) -> Self {
        Self::new(entry, &[])
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
