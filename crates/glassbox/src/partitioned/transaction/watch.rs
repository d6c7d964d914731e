//! Reports the keys that a run touches: to locks, to the sets of optimistic validation, or to a comparison with what
//! was declared.

use serde::{Deserialize, Serialize};

use crate::procedure::{PartitionSet, Retry, Stop};
use crate::record::{Encoded, EncodedKey, Index, IndexVisitor, Key, Record};

/// How a key is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Touch {
    /// It is read, or found absent.
    Read,
    /// Its row is changed, added or removed.
    Write,
}

/// A key as locks and validation know it: its whole encoded form. The keys of a space are in the order of keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WatchedKey {
    /// A key of at most 16 bytes, followed by zeros, as a number.
    Short(u128),
    /// A longer key.
    Long(Box<[u8]>),
    /// The end of every space: no key.
    End,
}

impl WatchedKey {
    /// The key with this encoded form.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.len() > 16 {
            return Self::Long(bytes.into());
        }
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        Self::Short(u128::from_be_bytes(word))
    }
}

/// Is notified of every key before it is touched, and may refuse.
///
/// A *space* is one index of one table: its keys are compared with each other only.
pub trait Watch {
    /// A key is about to be touched. `false`: not now; the run stops, is undone, and is to be repeated.
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool;
    /// All keys from `low` to `high`, inclusive, are about to be read, and with them that there are no others.
    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool;
}

/// The stop of a run that lacked a remote row, or that the watch refused. The run itself keeps the reason.
pub(in super::super) const RESTART: Stop = Stop::Retry(Retry { partitions: PartitionSet::EMPTY });

/// The watch of a run, as its transaction asks it.
pub(crate) trait Watching {
    /// Whether keys are reported.
    const WATCHES: bool;

    /// A key of a space is about to be touched.
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> Result<(), Stop>;

    /// The keys of a range are about to be read.
    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> Result<(), Stop>;

    /// Whether the watch refused something.
    fn has_refused(&self) -> bool;

    /// A primary key of the table with this number is about to be touched.
    #[inline(always)]
    fn key<R: Record>(&mut self, table: u16, key: &R::Key, touch: Touch) -> Result<(), Stop> {
        if !Self::WATCHES {
            return Ok(());
        }
        self.point(space(table, None), watched(&key.encode::<R::Encoded>(), R::Key::WIDTH), touch)
    }

    /// A row is about to be written at its keys of all secondary indexes; with an `other` version of it, of those only
    /// that differ.
    #[inline(always)]
    fn index_keys<R: Record>(&mut self, table: u16, row: &R, other: Option<&R>) -> Result<(), Stop>
    where
        Self: Sized,
    {
        if !Self::WATCHES || R::INDEXES == 0 {
            return Ok(());
        }
        let mut keys = IndexKeys { table, row, other, watch: self, allowed: Ok(()) };
        R::each_index(&mut keys);
        keys.allowed
    }
}

/// Reports the keys of a row in its secondary indexes.
struct IndexKeys<'t, R, W> {
    table: u16,
    row: &'t R,
    other: Option<&'t R>,
    watch: &'t mut W,
    allowed: Result<(), Stop>,
}

impl<R: Record, W: Watching> IndexVisitor<R> for IndexKeys<'_, R, W> {
    fn visit<I: Index<Record = R>>(&mut self) {
        let key: I::Encoded = I::key(self.row).encode();
        let other: Option<I::Encoded> = self.other.map(|row| I::key(row).encode());
        if self.allowed.is_ok() && other != Some(key) {
            let space = space(self.table, Some(I::POSITION));
            self.allowed = self.watch.point(space, watched(&key, I::Key::WIDTH), Touch::Write);
        }
    }
}

/// Reports nothing.
pub(crate) struct Unwatched;

impl Watching for Unwatched {
    const WATCHES: bool = false;

    #[inline(always)]
    fn point(&mut self, _space: u32, _key: WatchedKey, _touch: Touch) -> Result<(), Stop> {
        Ok(())
    }

    #[inline(always)]
    fn range(&mut self, _space: u32, _low: WatchedKey, _high: WatchedKey) -> Result<(), Stop> {
        Ok(())
    }

    #[inline(always)]
    fn has_refused(&self) -> bool {
        false
    }
}

/// Reports to a watch. A refusal is kept, because the procedure may ignore the stop that it got.
pub(in super::super) struct Watched<'w> {
    watch: &'w mut dyn Watch,
    refused: bool,
}

impl<'w> Watched<'w> {
    pub(in super::super) fn new(watch: &'w mut dyn Watch) -> Self {
        Self { watch, refused: false }
    }

    fn allowed(&mut self, allowed: bool) -> Result<(), Stop> {
        self.refused |= !allowed;
        if allowed { Ok(()) } else { Err(RESTART) }
    }
}

impl Watching for Watched<'_> {
    const WATCHES: bool = true;

    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> Result<(), Stop> {
        let allowed = self.watch.point(space, key, touch);
        self.allowed(allowed)
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> Result<(), Stop> {
        let allowed = self.watch.range(space, low, high);
        self.allowed(allowed)
    }

    fn has_refused(&self) -> bool {
        self.refused
    }
}

/// The space of a table's primary key (`None`) or secondary index.
#[inline(always)]
pub(in super::super) fn space(table: u16, index: Option<usize>) -> u32 {
    u32::from(table) << 8 | index.map_or(0, |position| position as u32 + 1)
}

/// An encoded key of this width.
#[inline(always)]
pub(in super::super) fn watched<E: EncodedKey>(key: &E, width: usize) -> WatchedKey {
    key.for_bytes(width, WatchedKey::of)
}

#[inline(always)]
pub(in super::super) fn watched_range<E: EncodedKey>(range: &Encoded<E>, width: usize) -> (WatchedKey, WatchedKey) {
    (watched(&range.low, width), watched(&range.high, width))
}
