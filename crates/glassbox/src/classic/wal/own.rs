//! The records that a transaction may have to undo: its own, newest last.

use super::record::LogRecord;
use crate::classic::change::Start;
use crate::log::{BLOCK_COST, Lsn};

/// A buffer that grew beyond this many bytes for one transaction is not kept for the next.
const KEPT_BYTES: usize = 1 << 20;

/// The room that there is at least, once there is any.
const FEWEST_BYTES: usize = 4 << 10;

/// Maximum bytes that a compensation takes beyond the record that it undoes: its frame, and a block of its own. Forces
/// by other threads, or by writes of pages, can end a block after each record.
const UNDO_BYTES_PER_RECORD: u64 = 64 + BLOCK_COST;

/// A stack of updates that can be undone, as stored, one behind the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct OwnRecords {
    /// Room, of which the bytes below `end` are used.
    bytes: Vec<u8>,
    end: usize,
    places: Vec<RecordPlace>,
}

#[derive(Clone, Copy, Debug)]
struct RecordPlace {
    start: usize,
    lsn: Lsn,
}

impl OwnRecords {
    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes that rolling all of them back appends, with the record that ends it: a compensation is no longer than what
    /// it undoes, but for what frames it.
    #[inline]
    pub(super) fn undo_bytes(&self) -> u64 {
        self.end as u64 + UNDO_BYTES_PER_RECORD * (1 + self.places.len() as u64)
    }

    /// The bytes of a rollback once the draft is kept, too.
    #[inline]
    pub(super) fn undo_bytes_with_draft(&self) -> u64 {
        self.undo_bytes() + UNDO_BYTES_PER_RECORD
    }

    /// Makes a record that comes next, of three parts; it is not visible until [`OwnRecords::keep`].
    #[inline(always)]
    pub(super) fn draft(&mut self, (head, head_bytes): Start<32>, (start, start_bytes): Start<8>, rest: &[u8]) {
        // The first two are written whole, as that takes less than looking how long they are.
        let most = head.len() + start.len() + rest.len();
        if self.bytes.len() - self.end < most {
            self.grow(most);
        }
        let room = &mut self.bytes[self.end..self.end + most];
        room[..head.len()].copy_from_slice(&head);
        room[head_bytes..head_bytes + start.len()].copy_from_slice(&start);
        let behind = head_bytes + start_bytes;
        room[behind..behind + rest.len()].copy_from_slice(rest);
        self.end += behind + rest.len();
    }

    #[cold]
    fn grow(&mut self, by: usize) {
        let bytes = (self.end + by).max(2 * self.bytes.len()).max(FEWEST_BYTES);
        self.bytes.resize(bytes, 0);
    }

    /// Where a draft made now will begin.
    #[inline]
    pub(super) fn draft_start(&self) -> usize {
        self.end
    }

    /// The draft that began at `start`.
    #[inline]
    pub(super) fn drafted(&self, start: usize) -> &[u8] {
        &self.bytes[start..self.end]
    }

    /// Forgets the draft that began at `start`.
    #[inline]
    pub(super) fn drop_draft(&mut self, start: usize) {
        self.end = start;
    }

    /// Makes the draft that began at `start` the newest record.
    #[inline]
    pub(super) fn keep(&mut self, start: usize, lsn: Lsn) {
        self.places.push(RecordPlace { start, lsn });
    }

    /// Appends a record that was read from the log.
    pub(crate) fn push(&mut self, record: &[u8], lsn: Lsn) {
        let start = self.draft_start();
        self.draft(([0; 32], 0), ([0; 8], 0), record);
        self.keep(start, lsn);
    }

    /// The LSN of the newest.
    pub(crate) fn newest_lsn(&self) -> Option<Lsn> {
        self.places.last().map(|place| place.lsn)
    }

    /// The newest one's bytes.
    pub(super) fn newest(&self) -> Option<&[u8]> {
        self.places.last().map(|place| self.drafted(place.start))
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
            self.end = place.start;
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
        self.end = 0;
        self.places.clear();
        if self.bytes.len() > KEPT_BYTES {
            *self = Self::default();
        }
    }
}
