//! What a transaction overwrote, so that it can be put back.
//!
//! Kept only for transactions that may abort after a write. One buffer per partition, reused, so it allocates only
//! while it grows. An entry is the row as it was, then a header that says what to do with it; undoing reads entries
//! from the end. Undoing in exact reverse order gives every row its old place again, because places are reused last in,
//! first out.

use smallvec::{SmallVec, smallvec};

use crate::partitioned::storage::memory::RowId;
use crate::partitioned::storage::table::Table;
use crate::record::{Record, digest};

/// A row's bytes as they are in memory, then [`Header`].
#[derive(Debug, Default)]
pub(crate) struct UndoBuffer {
    /// 16-byte words, so that every row is aligned.
    words: Vec<u128>,
}

/// Puts one change back, or gives its digest. The first pointer is the `Table<R>`, the second the row as it was (unused
/// after an insert).
type Act = unsafe fn(*mut (), RowId, *const (), ActKind) -> u64;

/// What an [`Act`] does.
#[derive(Clone, Copy, PartialEq)]
enum ActKind {
    /// Puts the change back; 0.
    Restore,
    /// Gives the digest of the change: of the row as it is now, or of a row that was removed.
    Digest,
}

/// Tells removed rows from others in digests.
const REMOVED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The digest of a row of a table.
fn digest_of<R: Record>(row: &R) -> u64 {
    let mut bytes: SmallVec<[u8; 1024]> = smallvec![0; R::ROW_WIDTH];
    row.store(&mut bytes);
    digest(digest(0, R::TABLE.as_bytes()), &bytes)
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    act: Act,
    table: *mut (),
    row: RowId,
    /// Words of the row before this header.
    words: u32,
    /// The work that remains for the commit of the transaction.
    finish: Option<Finish>,
}

/// Ends one change. The pointer is the `Table<R>`.
type Finish = unsafe fn(*mut (), RowId);

const HEADER_WORDS: usize = size_of::<Header>().div_ceil(16);
const _: () = assert!(align_of::<Header>() <= 16);

// SAFETY: the pointers in it are to tables of the partition that owns it, which moves between threads with it.
unsafe impl Send for UndoBuffer {}

impl UndoBuffer {
    /// Forgets everything: the transaction commits.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// Notes that `row` is about to be changed in place. Gives the copy that was kept.
    #[inline(always)]
    pub(crate) fn updating<R: Record>(&mut self, table: &mut Table<R>, id: RowId) -> &R {
        unsafe fn act<R: Record>(table: *mut (), id: RowId, before: *const (), kind: ActKind) -> u64 {
            if kind == ActKind::Digest {
                // SAFETY: as below, and the caller only reads.
                return digest_of(unsafe { &*table.cast::<Table<R>>() }.rows.get(id));
            }
            // SAFETY: `undo` and `digest` pass what was pushed with this function: a live Table<R> and an aligned R.
            let (table, before) = unsafe { (&mut *table.cast::<Table<R>>(), &*before.cast::<R>()) };
            let after = *table.rows.get(id);
            table.preserve(id);
            *table.rows.get_mut(id) = *before;
            if R::INDEXES > 0 {
                table.reindex_back(&after, id);
            }
            0
        }
        let row: *const R = table.rows.get(id);
        let table: *mut Table<R> = table;
        let header = Header { act: act::<R>, table: table.cast(), row: id, words: words_of::<R>(), finish: None };
        // SAFETY: the copy was written a moment ago, and the borrow keeps the buffer as it is.
        unsafe { &*self.push(row, header) }
    }

    /// Notes that a row was added.
    #[inline(always)]
    pub(crate) fn inserted<R: Record>(&mut self, table: &mut Table<R>, id: RowId) {
        unsafe fn act<R: Record>(table: *mut (), id: RowId, _before: *const (), kind: ActKind) -> u64 {
            if kind == ActKind::Digest {
                // SAFETY: as above.
                return digest_of(unsafe { &*table.cast::<Table<R>>() }.rows.get(id));
            }
            // SAFETY: as above.
            unsafe { &mut *table.cast::<Table<R>>() }.remove(id);
            0
        }
        let table: *mut Table<R> = table;
        let header = Header { act: act::<R>, table: table.cast(), row: id, words: 0, finish: None };
        self.push(std::ptr::null::<R>(), header);
    }

    /// Notes that a row is about to be removed.
    #[inline(always)]
    pub(crate) fn deleting<R: Record>(&mut self, table: &mut Table<R>, id: RowId) {
        unsafe fn act<R: Record>(table: *mut (), id: RowId, before: *const (), kind: ActKind) -> u64 {
            // SAFETY: as above.
            let before = unsafe { &*before.cast::<R>() };
            if kind == ActKind::Digest {
                return digest_of(before) ^ REMOVED;
            }
            // SAFETY: as above.
            unsafe { &mut *table.cast::<Table<R>>() }.put_back(before, id);
            0
        }
        let row: *const R = table.rows.get(id);
        let table: *mut Table<R> = table;
        let header = Header { act: act::<R>, table: table.cast(), row: id, words: words_of::<R>(), finish: None };
        self.push(row, header);
    }

    /// Notes that a row is about to be taken out of its indexes; it keeps its place until [`UndoBuffer::finish`], so
    /// that no transaction that runs before then gets it.
    pub(crate) fn unlinking<R: Record>(&mut self, table: &mut Table<R>, id: RowId) {
        unsafe fn act<R: Record>(table: *mut (), id: RowId, _before: *const (), kind: ActKind) -> u64 {
            if kind == ActKind::Digest {
                // SAFETY: as above.
                return digest_of(unsafe { &*table.cast::<Table<R>>() }.rows.get(id)) ^ REMOVED;
            }
            // SAFETY: as above.
            unsafe { &mut *table.cast::<Table<R>>() }.relink(id);
            0
        }
        unsafe fn finish<R: Record>(table: *mut (), id: RowId) {
            // SAFETY: as above.
            unsafe { &mut *table.cast::<Table<R>>() }.rows.remove(id);
        }
        let table: *mut Table<R> = table;
        let finish = Some(finish::<R> as Finish);
        self.push(std::ptr::null::<R>(), Header { act: act::<R>, table: table.cast(), row: id, words: 0, finish });
    }

    /// Ends the transaction for good.
    pub(crate) fn finish(&mut self) {
        let mut end = self.words.len();
        while let Some(header_at) = end.checked_sub(HEADER_WORDS) {
            // SAFETY: entries end with a header, and the tables live, as in `undo`.
            unsafe {
                let header = self.words.as_ptr().add(header_at).cast::<Header>().read();
                if let Some(finish) = header.finish {
                    finish(header.table, header.row);
                }
                end = header_at - header.words as usize;
            }
        }
        self.clear();
    }

    /// One number for all changes, equal if they are: of rows as they are now, which later changes have left alone.
    pub(crate) fn digest(&self) -> u64 {
        let (mut end, mut all) = (self.words.len(), 0_u64);
        while let Some(header_at) = end.checked_sub(HEADER_WORDS) {
            // SAFETY: entries end with a header, and the tables live, as in `undo`; they are only read.
            unsafe {
                let header = self.words.as_ptr().add(header_at).cast::<Header>().read();
                end = header_at - header.words as usize;
                let before = self.words.as_ptr().add(end).cast();
                all = all.wrapping_add((header.act)(header.table, header.row, before, ActKind::Digest));
            }
        }
        all
    }

    /// The old rows that were kept so far; from here on they go to `next`.
    pub(crate) fn take(&mut self, next: Self) -> Self {
        std::mem::replace(self, next)
    }

    #[inline(always)]
    fn push<R>(&mut self, row: *const R, header: Header) -> *const R {
        let at = self.words.len();
        let total = header.words as usize + HEADER_WORDS;
        self.words.reserve(total);
        // SAFETY: `reserve` made room for `total` words from `at`; the row has at most `header.words` words and is not
        // part of this buffer; R and Header are aligned to at most 16 bytes (asserted), as words are. The words are
        // initialised as far as they are ever read, as a row or a header.
        unsafe {
            let start = self.words.as_mut_ptr().add(at);
            if header.words > 0 {
                row.copy_to_nonoverlapping(start.cast::<R>(), 1);
            }
            start.add(header.words as usize).cast::<Header>().write(header);
            self.words.set_len(at + total);
            start.cast::<R>()
        }
    }

    /// Puts everything back, last first.
    #[cold]
    pub(crate) fn undo(&mut self) {
        while let Some(header_at) = self.words.len().checked_sub(HEADER_WORDS) {
            // SAFETY: entries end with a header; the row's words are before it. The tables live as long as their
            // partition, whose token the caller holds, and no reference into them is alive while a transaction is
            // undone.
            unsafe {
                let header = self.words.as_ptr().add(header_at).cast::<Header>().read();
                let row_at = header_at - header.words as usize;
                (header.act)(header.table, header.row, self.words.as_ptr().add(row_at).cast(), ActKind::Restore);
                self.words.set_len(row_at);
            }
        }
    }
}

const fn words_of<R>() -> u32 {
    const { assert!(align_of::<R>() <= 16, "a record may be aligned to at most 16 bytes") };
    size_of::<R>().div_ceil(16) as u32
}
