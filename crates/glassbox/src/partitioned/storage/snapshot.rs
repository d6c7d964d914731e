//! The part of a table that a checkpoint still has to see as it was.
//!
//! A checkpoint wants every row as of one moment, while transactions go on. Stopping them would take as long as writing
//! the database; copying the pages that change (fork) costs page faults on the path of transactions. Instead: the
//! checkpointer walks the arena in small slices under the partition's token, and a transaction that changes or removes
//! a row that the walk has not reached keeps the row's old bytes first, once (copy on update). The test for "has the
//! walk passed here" is one comparison with a cursor that is at the end of the numbers when no checkpoint runs.
//!
//! Invariant: at any moment, rows kept + rows walked + rows in `cursor..end` that are live and not marked = the rows of
//! the moment the snapshot began. A row added since is either at or past `end`, or in a place that is marked.

use crate::partitioned::storage::memory::{RowId, Rows};
use crate::record::Record;

/// Size of the pieces in which changed rows are kept.
const PIECE_BYTES: usize = 64 << 10;

/// Which rows a checkpoint still has to see.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Rows below were walked. `u32::MAX`: no checkpoint, or it is done with this table.
    cursor: u32,
    /// Rows from here on were added since it began.
    end: u32,
    /// Bit per row: kept already, or not part of the snapshot.
    marked: Vec<u64>,
    /// Stored form of rows that were changed before the walk reached them, in pieces, so that growing copies nothing.
    kept: Vec<Vec<u8>>,
}

impl Snapshot {
    pub(crate) const fn none() -> Self {
        Self { cursor: u32::MAX, end: 0, marked: Vec::new(), kept: Vec::new() }
    }

    /// Fixes the rows as they are now.
    pub(crate) fn begin(&mut self, slots: u32) {
        *self = Self { cursor: 0, end: slots, marked: vec![0; (slots as usize).div_ceil(64)], kept: Vec::new() };
    }

    /// Whether a checkpoint may still need rows as they are.
    #[inline(always)]
    pub(crate) fn is_under_way(&self) -> bool {
        self.cursor != u32::MAX
    }

    /// Whether the row must be kept before it changes.
    #[inline(always)]
    pub(crate) fn needs(&self, id: RowId) -> bool {
        id.get() >= self.cursor
    }

    /// Keeps a row that is about to change or go, if the snapshot has it and has not kept it.
    #[cold]
    pub(crate) fn preserve<R: Record>(&mut self, id: RowId, row: &R) {
        if self.cursor != u32::MAX && id.get() < self.end && self.mark(id) {
            if self.kept.last().is_none_or(|piece| piece.len() + R::ROW_WIDTH > piece.capacity()) {
                self.kept.push(Vec::with_capacity(PIECE_BYTES.max(R::ROW_WIDTH)));
            }
            let piece = self.kept.last_mut().expect("pushed if there was none");
            let at = piece.len();
            piece.resize(at + R::ROW_WIDTH, 0);
            row.store(&mut piece[at..]);
        }
    }

    /// Notes a row added since the snapshot began, which may be in the place of one that was free or is gone.
    #[inline(always)]
    pub(crate) fn inserted(&mut self, id: RowId) {
        if self.needs(id) && self.cursor != u32::MAX && id.get() < self.end {
            self.mark(id);
        }
    }

    /// Marks a row; whether it was not marked before.
    fn mark(&mut self, id: RowId) -> bool {
        let (word, bit) = (id.get() as usize / 64, 1 << (id.get() % 64));
        let fresh = self.marked[word] & bit == 0;
        self.marked[word] |= bit;
        fresh
    }

    /// Appends the stored form of rows to `out` until it has `most` bytes or nothing is left; whether nothing is left.
    pub(crate) fn slice<R: Record>(&mut self, rows: &Rows<R>, most: usize, out: &mut Vec<u8>) -> bool {
        if self.cursor == u32::MAX {
            return true;
        }
        if let Some(piece) = self.kept.pop() {
            out.extend_from_slice(&piece);
        }
        // Dead places cost time too: a slice is bounded in places as well as in bytes.
        let stop = self.end.min(self.cursor.saturating_add(1 << 16));
        while self.cursor < stop && out.len() < most {
            let id = RowId::new(self.cursor);
            let marked = self.marked[self.cursor as usize / 64] >> (self.cursor % 64) & 1 == 1;
            if !marked && rows.is_live(id) {
                let at = out.len();
                out.resize(at + R::ROW_WIDTH, 0);
                rows.get(id).store(&mut out[at..]);
            }
            self.cursor += 1;
        }
        let done = self.cursor == self.end && self.kept.is_empty();
        if done {
            *self = Self::none();
        }
        done
    }
}
