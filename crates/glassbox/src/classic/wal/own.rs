//! What a transaction may have to take back: its own records, newest last.

use super::record::LogRecord;
use crate::log::Lsn;

/// A buffer that grew beyond this many bytes for one transaction is not kept for the next.
const KEPT_BYTES: usize = 1 << 20;

/// A stack of updates that can be undone, as stored, one behind the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct OwnRecords {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    lsn: Lsn,
}

impl OwnRecords {
    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Where a record that comes next is to be made; it is there for nobody until [`OwnRecords::keep`].
    #[inline]
    pub(super) fn draft(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Where a draft made now will begin.
    #[inline]
    pub(super) fn draft_start(&self) -> usize {
        self.bytes.len()
    }

    /// The draft that began at `start`.
    #[inline]
    pub(super) fn drafted(&self, start: usize) -> &[u8] {
        &self.bytes[start..]
    }

    /// Forgets the draft that began at `start`.
    #[inline]
    pub(super) fn drop_draft(&mut self, start: usize) {
        self.bytes.truncate(start);
    }

    /// Makes the draft that began at `start` the newest record.
    #[inline]
    pub(super) fn keep(&mut self, start: usize, lsn: Lsn) {
        self.places.push(Place { start, lsn });
    }

    /// Appends a record that was read from the log.
    pub(crate) fn push(&mut self, record: &[u8], lsn: Lsn) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.keep(start, lsn);
    }

    /// The LSN of the newest.
    pub(crate) fn newest_lsn(&self) -> Option<Lsn> {
        self.places.last().map(|place| place.lsn)
    }

    /// The newest one's bytes.
    pub(super) fn newest(&self) -> Option<&[u8]> {
        self.places.last().map(|place| &self.bytes[place.start..])
    }

    /// Whether the newest one was made in a nested action; such an action has not ended, or its records were gone.
    pub(crate) fn ends_nested(&self) -> bool {
        use super::record::Body;
        let newest = self.newest().map(|bytes| LogRecord::decode(bytes).expect("own records are sound").body);
        matches!(newest, Some(Body::Update { nested: true, .. }))
    }

    /// The LSN of the newest of the oldest `count`: where what is to be undone ends when the others are gone.
    pub(super) fn lsn_below(&self, count: usize) -> Lsn {
        count.checked_sub(1).map_or(Lsn::NONE, |at| self.places[at].lsn)
    }

    /// Keeps the oldest `count` only.
    #[inline]
    pub(super) fn truncate(&mut self, count: usize) {
        if let Some(place) = self.places.get(count) {
            self.bytes.truncate(place.start);
            self.places.truncate(count);
        }
    }

    /// Keeps those up to `lsn` only.
    pub(crate) fn truncate_behind(&mut self, lsn: Lsn) {
        self.truncate(self.places.partition_point(|place| place.lsn <= lsn));
    }

    /// Forgets all.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            *self = Self::default();
        }
    }
}
