//! The keys a run reads and writes: declared from the arguments, or discovered by a dry run.
//!
//! One set serves several masters (routing to partitions, prefetching, and later the locks of deterministic schemes),
//! so it keeps keys encoded and untyped: table, encoded key, mode. It lives on the stack of whoever runs a transaction;
//! sets of the usual size allocate nothing.

use smallvec::SmallVec;

use crate::record::{Bounds, EncodedKey, Key, Record};

/// Whether a declaration says everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// The set covers every key the run can touch. Should the run touch another partition all the same, the engine
    /// notices, counts it, and runs again with that partition.
    Complete,
    /// There may be more; a dry run discovers it.
    Unknown,
}

/// What a run does with a key.
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
    /// What the run does there.
    pub mode: Mode,
    /// The key or keys.
    pub key: EntryKey,
}

/// The encoded key of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKey {
    /// A key of at most 8 bytes.
    Small(u64),
    /// A wider key: where in [`ReadWriteSet::bytes`] it begins.
    Wide(u32),
    /// All keys from one to another, inclusive; where in [`ReadWriteSet::bytes`] the two stand.
    Range(u32),
}

/// The keys a run reads and writes.
#[derive(Debug)]
pub struct ReadWriteSet {
    entries: SmallVec<[Entry; 64]>,
    bytes: SmallVec<[u8; 512]>,
    partitions: u64,
    count: u64,
}

impl ReadWriteSet {
    /// An empty set over `partitions` partitions.
    ///
    /// # Panics
    /// When there are none or more than 64.
    #[inline]
    pub fn new(partitions: usize) -> Self {
        assert!((1..=64).contains(&partitions), "partitions are bits of a word");
        Self { entries: SmallVec::new(), bytes: SmallVec::new(), partitions: 0, count: partitions as u64 }
    }

    /// The run reads the row with this key.
    #[inline(always)]
    pub fn read<R: Record>(&mut self, key: &R::Key) {
        self.push::<R>(key, Mode::Read);
    }

    /// The run changes or removes the row with this key.
    #[inline(always)]
    pub fn write<R: Record>(&mut self, key: &R::Key) {
        self.push::<R>(key, Mode::Write);
    }

    /// The run adds a row with this key.
    #[inline(always)]
    pub fn insert<R: Record>(&mut self, key: &R::Key) {
        self.push::<R>(key, Mode::Insert);
    }

    /// The run touches any of the rows within these bounds.
    pub fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        self.range_of::<R>(&bounds, mode);
    }

    /// The run may touch any row of the table.
    pub fn whole<R: Record>(&mut self, mode: Mode) {
        self.range_of::<R>(&.., mode);
    }

    pub(crate) fn range_of<R: Record>(&mut self, bounds: &impl Bounds<R::Key>, mode: Mode) {
        let partition = self.place::<R>(R::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
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

    /// The partitions these keys are on, bit *i* for partition *i*. A read of a replicated table needs none in
    /// particular.
    #[inline(always)]
    pub fn partitions(&self) -> u64 {
        self.partitions
    }

    #[inline(always)]
    fn push<R: Record>(&mut self, key: &R::Key, mode: Mode) {
        let partition = self.place::<R>(R::PLACEMENT.map(|position| key.placement_at(position)), mode);
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

    fn push_bytes<R: Record>(&mut self, key: R::Encoded) {
        key.for_bytes(R::Key::WIDTH, |bytes| self.bytes.extend_from_slice(bytes));
    }

    /// Adds the partitions of a placement number; the one, if it is one.
    #[inline(always)]
    fn place<R: Record>(&mut self, placement: Option<u64>, mode: Mode) -> Option<u8> {
        let partition = placement.map(|placement| partition_of(placement, self.count) as u8);
        self.partitions |= match partition {
            Some(partition) => 1 << partition,
            None if R::PLACEMENT.is_none() && mode == Mode::Read => 0,
            None => u64::MAX >> (64 - self.count),
        };
        partition
    }
}

/// The partition of `count` that holds rows of this placement number
/// ([`KeyColumn::placement`](crate::record::KeyColumn::placement)).
#[inline(always)]
pub(crate) fn partition_of(placement: u64, count: u64) -> u64 {
    // A 64-bit division costs more than the branch.
    if count == 1 { 0 } else { placement % count }
}
