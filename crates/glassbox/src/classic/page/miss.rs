//! The policy of a thread for pages that are not in memory, and what it has read.
//!
//! A page is fixed deep inside trees and heap files, which know nothing of transactions. Whether a missing page may be
//! read now, and for whom it was read, is known above them. Only a miss asks, so this is kept by thread instead of
//! being passed through every access. So is the list of the pages that an optimistic operate stage has fixed, in an
//! array: noting one costs a few instructions, and a stage without a miss does not look at them.

use std::cell::{Cell, RefCell};

use crate::classic::ids::{PageId, StoreId};
use crate::error::Error;

/// What a fix of this thread does about a page that is not in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnMiss {
    /// It reads the page.
    #[default]
    Read,
    /// It fails with [`Error::NotInMemory`], and nothing has happened.
    Refuse,
}

/// A read of a page from disk, or a wait for another thread's read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskRead {
    pub(crate) page: PageId,
    /// The store that the page belongs to.
    pub(crate) store: StoreId,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
}

/// Maximum fixes of a run that are noted before the repetitions among them are left out.
const MAX_NOTED: usize = 2048;
/// Pages of a run after which none is noted any more. A transaction that fixes more pages can rarely pin them.
const MAX_PAGES: usize = MAX_NOTED / 2;

/// The pages that a run has fixed, with repetitions.
struct FixedPages {
    /// How many may still be noted; 0 if none is to be. The next one goes before those that were noted.
    left: Cell<usize>,
    pages: [Cell<PageId>; MAX_NOTED],
}

thread_local! {
    static FIXED: FixedPages =
        const { FixedPages { left: Cell::new(0), pages: [const { Cell::new(PageId::NONE) }; MAX_NOTED] } };
    /// Reads of the run under way, if there is one.
    static RUN: RefCell<Vec<DiskRead>> = const { RefCell::new(Vec::new()) };
    /// The session of that run.
    static SESSION: Cell<u32> = const { Cell::new(u32::MAX) };
    /// The table of the access under way, by its heap file; the volume if none is known.
    static TABLE: Cell<StoreId> = const { Cell::new(StoreId::VOLUME) };
    static RUNS: Cell<bool> = const { Cell::new(false) };
    static ON_MISS: Cell<OnMiss> = const { Cell::new(OnMiss::Read) };
    static READS: Cell<u64> = const { Cell::new(0) };
    static READ_NS: Cell<u64> = const { Cell::new(0) };
    static LAST_END_NS: Cell<u64> = const { Cell::new(0) };
}

/// Sets what this thread does from now on; returns what it did.
pub(crate) fn set(on_miss: OnMiss) -> OnMiss {
    ON_MISS.replace(on_miss)
}

/// Pages that this thread has read from disk, or waited for while another thread read them.
pub(crate) fn reads() -> u64 {
    READS.get()
}

/// The time that this thread has spent in these reads, nanoseconds.
pub(crate) fn read_ns() -> u64 {
    READ_NS.get()
}

/// Counts a read. Of reads at the same time, the time counts once.
pub(crate) fn count_read(read: DiskRead) {
    READS.set(READS.get() + 1);
    let last_end_ns = LAST_END_NS.replace(read.ended_ns);
    READ_NS.set(READ_NS.get() + read.ended_ns.saturating_sub(read.began_ns.max(last_end_ns)));
    if RUNS.get() {
        RUN.with_borrow_mut(|reads| reads.push(read));
    }
}

/// An execution of this thread, until it is dropped. It may be within one on another database, whose state comes back
/// then.
pub(crate) struct Executing(Option<OuterExecution>);

struct OuterExecution {
    reads: Vec<DiskRead>,
    session: u32,
    table: StoreId,
    on_miss: OnMiss,
    fixed: Vec<PageId>,
    notes_left: usize,
}

/// This thread begins an execution. Missing pages are read.
#[inline]
#[must_use]
pub(crate) fn execute() -> Executing {
    Executing(RUNS.replace(true).then(|| OuterExecution {
        reads: RUN.take(),
        session: SESSION.get(),
        table: TABLE.get(),
        on_miss: set(OnMiss::Read),
        fixed: FIXED.with(FixedPages::noted),
        notes_left: FIXED.with(|fixed| fixed.left.replace(0)),
    }))
}

impl Drop for Executing {
    #[inline]
    fn drop(&mut self) {
        match self.0.take() {
            None => {
                RUNS.set(false);
                set(OnMiss::Read);
                note_fixed_pages(false);
            }
            Some(OuterExecution { reads, session, table, on_miss, fixed, notes_left }) => {
                RUN.set(reads);
                SESSION.set(session);
                TABLE.set(table);
                set(on_miss);
                FIXED.with(|noted| {
                    noted.left.set(notes_left);
                    noted.pages[notes_left..].iter().zip(fixed).for_each(|(place, page)| place.set(page));
                });
            }
        }
    }
}

/// This thread begins a run of its execution in this session, without reads.
#[inline]
pub(crate) fn begin_run(session: u32) {
    SESSION.set(session);
    TABLE.set(StoreId::VOLUME);
    RUN.with_borrow_mut(Vec::clear);
}

impl FixedPages {
    fn noted(&self) -> Vec<PageId> {
        self.pages[self.left.get()..].iter().map(Cell::get).collect()
    }

    /// Keeps each of the noted pages once, and makes place for others if they are few.
    #[cold]
    #[inline(never)]
    fn leave_out_repetitions(&self) {
        let mut pages = self.noted();
        pages.sort_unstable();
        pages.dedup();
        if pages.len() <= MAX_PAGES {
            self.left.set(MAX_NOTED - pages.len());
            self.pages[self.left.get()..].iter().zip(pages).for_each(|(place, page)| place.set(page));
        }
    }
}

/// Pages that this thread fixes from now on are noted if `are_noted`; none is yet.
pub(crate) fn note_fixed_pages(are_noted: bool) {
    FIXED.with(|fixed| fixed.left.set(if are_noted { MAX_NOTED } else { 0 }));
}

/// This thread has fixed a page.
#[inline(always)]
pub(crate) fn note_fixed(page: PageId) {
    FIXED.with(|fixed| {
        if let Some(left) = fixed.left.get().checked_sub(1) {
            fixed.pages[left % MAX_NOTED].set(page);
            fixed.left.set(left);
            if left == 0 {
                fixed.leave_out_repetitions();
            }
        }
    });
}

/// The pages that were noted since that began, each once.
pub(crate) fn fixed_pages() -> Vec<PageId> {
    let mut pages = FIXED.with(FixedPages::noted);
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// The session of the execution under way.
pub(crate) fn session() -> Option<u32> {
    RUNS.get().then(|| SESSION.get())
}

/// What this thread reads from now on is of this table, which is named by its heap file; the volume if it is of any.
#[inline(always)]
pub(crate) fn set_table(table: StoreId) {
    TABLE.set(table);
}

/// The table that this thread reads.
pub(crate) fn table() -> StoreId {
    TABLE.get()
}

/// Whether the run has read.
#[inline]
pub(crate) fn has_read() -> bool {
    RUN.with_borrow(|reads| !reads.is_empty())
}

/// The run ends; `with` gets its reads, if there are any.
#[inline]
pub(crate) fn end_run(with: impl FnOnce(&[DiskRead])) {
    RUN.with_borrow_mut(|reads| {
        if !reads.is_empty() {
            with(reads);
            reads.clear();
        }
    });
}

/// Fails if this thread may not read `page` now.
pub(crate) fn check(page: PageId) -> Result<(), Error> {
    match ON_MISS.get() {
        OnMiss::Read => Ok(()),
        OnMiss::Refuse => Err(Error::NotInMemory { page: page.0 }),
    }
}

/// Reads whatever is missing, until it is dropped: for changes of structures that are not begun twice.
pub(crate) struct Reading {
    on_miss: OnMiss,
    table: StoreId,
}

/// Lets this thread read missing pages until the result is dropped.
#[must_use]
pub(crate) fn reading() -> Reading {
    Reading { on_miss: set(OnMiss::Read), table: TABLE.get() }
}

/// The same, for pages of whatever tables.
#[must_use]
pub(crate) fn reading_of_any() -> Reading {
    let reading = reading();
    TABLE.set(StoreId::VOLUME);
    reading
}

impl Drop for Reading {
    fn drop(&mut self) {
        set(self.on_miss);
        TABLE.set(self.table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_pages_are_noted_once_up_to_a_maximum_and_for_each_execution_apart() {
        let note = |pages: std::ops::Range<u32>| pages.for_each(|page| note_fixed(PageId(page)));
        let outer = execute();
        note(1..3);
        note_fixed_pages(true);
        note(5..8);
        note(6..9);
        let noted = [5, 6, 7, 8].map(PageId);
        assert_eq!(fixed_pages(), noted);
        {
            let _inner = execute();
            note(20..30);
            note_fixed_pages(true);
            note(100..100 + 2 * MAX_NOTED as u32);
            assert_eq!(fixed_pages().len(), MAX_NOTED);
            note_fixed_pages(true);
            (0..10 * MAX_NOTED as u32).for_each(|fix| note_fixed(PageId(fix % MAX_PAGES as u32)));
            note(5_000..5_001);
            assert_eq!(fixed_pages().len(), MAX_PAGES + 1, "a page that is fixed often counts once");
        }
        assert_eq!(fixed_pages(), noted);
        note(9..10);
        assert_eq!(fixed_pages().len(), 5);
        drop(outer);
        note_fixed_pages(true);
        assert_eq!(fixed_pages(), []);
        note_fixed_pages(false);
    }
}
