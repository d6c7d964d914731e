//! An entry of the directory.
//!
//! ```text
//! offset  bytes
//!      0      4  number of the store
//!      4      1  1: heap file; 2: tree
//!      5      1  1 if the tree's keys are unique, else 0
//!      6      2  width of the records of a heap file, or of the keys of a tree
//!      8      4  root: the first page of a heap file's list, or the root node of a tree
//!     12      4  the heap file whose records a tree finds; 0 for a heap file
//!     16      2  which index of those of that heap file a tree is: 0 is the primary key
//!     18      1  zero
//!     19      1  length of the name
//!     20     60  name, then zeros
//! ```

use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::{u16_at, u32_at};

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 80;
/// The longest name of a store, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 60;

const NAME_LENGTH: usize = 19;
const NAME: usize = 20;

/// The name of a store: 1 to 60 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StoreName {
    bytes: [u8; MAX_NAME_BYTES],
    length: u8,
}

impl StoreName {
    /// This name; `None` if it is empty or too long.
    pub(crate) fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_NAME_BYTES];
        bytes.get_mut(..name.len()).filter(|_| !name.is_empty())?.copy_from_slice(name);
        Some(Self { bytes, length: name.len() as u8 })
    }

    /// Its bytes, without the zeros behind.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for StoreName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// What a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    /// A heap file.
    Heap {
        /// Bytes of a record.
        record_width: u16,
    },
    /// A tree from keys to record ids.
    Tree {
        /// Bytes of a key.
        key_width: u16,
        /// The heap file of the records.
        heap: StoreId,
        /// Which of that heap file's indexes it is; 0 is the primary key.
        number: u16,
        /// Whether there is at most one record for a key.
        is_unique: bool,
    },
}

/// What the directory says about a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreEntry {
    /// Its number.
    pub(crate) store: StoreId,
    /// The first page of a heap file's list, or the root of a tree: it stays where it is.
    pub(crate) root: PageId,
    /// What it is.
    pub(crate) kind: StoreKind,
    /// Its name, no other store's.
    pub(crate) name: StoreName,
}

impl StoreEntry {
    /// The stored form.
    pub(crate) fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let (kind, unique, width, heap, number) = match self.kind {
            StoreKind::Heap { record_width } => (1, false, record_width, StoreId::VOLUME, 0),
            StoreKind::Tree { key_width, heap, number, is_unique } => (2, is_unique, key_width, heap, number),
        };
        bytes[..4].copy_from_slice(&self.store.0.to_le_bytes());
        bytes[4] = kind;
        bytes[5] = u8::from(unique);
        bytes[6..8].copy_from_slice(&width.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.root.0.to_le_bytes());
        bytes[12..16].copy_from_slice(&heap.0.to_le_bytes());
        bytes[16..18].copy_from_slice(&number.to_le_bytes());
        bytes[NAME_LENGTH] = self.name.length;
        bytes[NAME..].copy_from_slice(&self.name.bytes);
        bytes
    }

    /// Reads the stored form; `None` if it is none.
    pub(crate) fn decode(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let (width, heap, number) = (u16_at(bytes, 6), StoreId(u32_at(bytes, 12)), u16_at(bytes, 16));
        let kind = match (bytes[4], bytes[5]) {
            (1, 0) => StoreKind::Heap { record_width: width },
            (2, unique @ 0..=1) => StoreKind::Tree { key_width: width, heap, number, is_unique: unique == 1 },
            _ => return None,
        };
        let name = StoreName::new(bytes[NAME..].get(..usize::from(bytes[NAME_LENGTH]))?)?;
        let entry = Self { store: StoreId(u32_at(bytes, 0)), root: PageId(u32_at(bytes, 8)), kind, name };
        // Bytes that mean nothing must be zeros.
        (entry.encode() == *bytes).then_some(entry)
    }
}

/// Whether this is the name in the stored form of an entry.
#[inline(always)]
pub(super) fn is_named(bytes: &[u8; ENTRY_BYTES], name: &[u8]) -> bool {
    usize::from(bytes[NAME_LENGTH]) == name.len() && bytes[NAME..].starts_with(name)
}

/// Number and root in the stored form of an entry.
pub(super) fn place(bytes: &[u8; ENTRY_BYTES]) -> (StoreId, PageId) {
    (StoreId(u32_at(bytes, 0)), PageId(u32_at(bytes, 8)))
}
