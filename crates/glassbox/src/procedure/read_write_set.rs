//! The keys a run reads and writes as a list: discovered by a dry run, or declared from the arguments.
//!
//! For callers that inspect a set or pass it on. So it keeps keys encoded and untyped: table, encoded key, mode. Sets
//! of the usual size allocate nothing.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::key_set::{KeySet, Partitions};
use super::partition_set::PartitionSet;
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// How complete a declaration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Declared {
    /// The set contains every key that the run can access, the entries of secondary indexes included. A deterministic
    /// scheme locks these keys in the order of its log, and restarts a run that accesses another key. All other engines
    /// need less: they take it as [`Declared::Partitions`].
    Complete,
    /// The set names every partition that the run can access, but not every key: which keys, only the run finds out. If
    /// the run accesses another partition nevertheless, the engine counts this, and restarts the run with that
    /// partition.
    Partitions,
    /// There may be more keys, and more partitions; a dry run discovers them.
    Unknown,
}

impl Declared {
    /// Whether all partitions are known.
    #[inline(always)]
    pub fn names_partitions(self) -> bool {
        self != Self::Unknown
    }
}

/// The mode in which a run accesses a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Reads it.
    Read,
    /// Changes or removes the row there.
    Write,
    /// Adds a row there.
    Insert,
}

/// A key, or a range of keys, of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Number of the table, [`TableId`](crate::record::TableId).
    pub table: usize,
    /// The partition of its rows; `None`: the table is replicated, or a range is on several.
    pub partition: Option<u8>,
    /// The mode of access.
    pub mode: Mode,
    /// The key or keys.
    pub key: EntryKey,
}

/// The encoded key of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKey {
    /// A key of at most 8 bytes.
    Small(u64),
    /// A wider key: its offset in [`ReadWriteSet::bytes`].
    Wide(u32),
    /// All keys from one to another, inclusive: the offsets of the two in [`ReadWriteSet::bytes`].
    Range(u32),
}

/// The keys a run reads and writes.
#[derive(Debug)]
pub struct ReadWriteSet {
    entries: SmallVec<[Entry; 64]>,
    bytes: SmallVec<[u8; 512]>,
    partitions: Partitions,
}

impl ReadWriteSet {
    /// An empty set over `partitions` partitions.
    ///
    /// # Panics
    /// When there are none or more than 64.
    #[inline]
    pub fn new(partitions: usize) -> Self {
        Self { entries: SmallVec::new(), bytes: SmallVec::new(), partitions: Partitions::none(partitions) }
    }

    pub(crate) fn range_of<R: Record>(&mut self, bounds: &impl Bounds<R::Key>, mode: Mode) {
        let partition = self.partitions.add::<R>(R::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
        if let Some(encoded) = bounds.encode::<R::Encoded>() {
            let at = self.bytes.len() as u32;
            self.push_bytes::<R>(encoded.low);
            self.push_bytes::<R>(encoded.high);
            self.entries.push(Entry { table: R::table_id().get(), partition, mode, key: EntryKey::Range(at) });
        }
    }

    /// The keys, in the order in which they were named.
    #[inline(always)]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bytes of wide keys and ranges.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The partitions of these keys. A read of a replicated table needs no particular partition.
    #[inline(always)]
    pub fn partitions(&self) -> PartitionSet {
        self.partitions.set
    }

    fn push_bytes<R: Record>(&mut self, key: R::Encoded) {
        key.for_bytes(R::Key::WIDTH, |bytes| self.bytes.extend_from_slice(bytes));
    }
}

impl KeySet for ReadWriteSet {
    #[inline]
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        let partition = self.partitions.add::<R>(R::PLACEMENT.map(|position| key.placement_at(position)), mode);
        let encoded: R::Encoded = key.encode();
        let key = match encoded.as_u64() {
            Some(small) => EntryKey::Small(small),
            None => {
                let at = self.bytes.len() as u32;
                self.push_bytes::<R>(encoded);
                EntryKey::Wide(at)
            }
        };
        self.entries.push(Entry { table: R::table_id().get(), partition, mode, key });
    }

    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        self.range_of::<R>(&bounds, mode);
    }

    /// The keys that an index will find are unknown; their partitions may be known.
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        self.partitions.index::<I>(bounds, mode);
    }
}

/// The partition of `count` that holds rows of this placement number
/// ([`KeyColumn::placement`](crate::record::KeyColumn::placement)).
#[inline(always)]
pub(crate) fn partition_of(placement: u64, count: u64) -> u64 {
    // A 64-bit division costs more than the branch.
    if count == 1 { 0 } else { placement % count }
}
