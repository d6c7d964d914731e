//! Where there is room in a heap file, as far as this process knows. Nothing here is needed to be right: only the page
//! itself says whether a record fits.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::classic::ids::PageId;

/// How many pages may be inserted to at the same time before inserts wait for each other.
pub(crate) const TARGETS: usize = 8;

/// Hints about the free room in a heap file.
pub(crate) struct Room {
    /// The pages that are inserted to.
    pub(crate) targets: [TargetPage; TARGETS],
    /// The last page of the list, or one that was.
    tail: AtomicU32,
    open: Mutex<Open>,
}

/// A page that is inserted to; on a cache line of its own, because each belongs to another thread.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct TargetPage(AtomicU32);

/// The pages that may have room.
#[derive(Default)]
struct Open {
    /// All of them, each with whether it is in the queue. The others are targets, or with an insert that tries them.
    known: HashMap<PageId, bool>,
    queue: VecDeque<PageId>,
}

impl TargetPage {
    /// The page; [`PageId::NONE`] if there is none.
    #[inline(always)]
    pub(crate) fn page(&self) -> PageId {
        PageId(self.0.load(Ordering::Relaxed))
    }

    /// Makes it none if it still is this one.
    pub(crate) fn clear(&self, page: PageId) {
        let _ = self.0.compare_exchange(page.0, PageId::NONE.0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Room {
    /// With the last page of the list and the pages that may have room.
    pub(crate) fn new(tail: PageId, open: impl IntoIterator<Item = PageId>) -> Self {
        let room =
            Self { targets: Default::default(), tail: AtomicU32::new(tail.0), open: Mutex::new(Open::default()) };
        open.into_iter().for_each(|page| {
            room.note(page);
        });
        room
    }

    pub(crate) fn tail(&self) -> PageId {
        PageId(self.tail.load(Ordering::Relaxed))
    }

    pub(crate) fn set_tail(&self, tail: PageId) {
        self.tail.store(tail.0, Ordering::Relaxed);
    }

    /// Makes `page` the target; the one before it waits in the queue.
    #[inline(always)]
    pub(crate) fn set_target(&self, target: &TargetPage, page: PageId) {
        if target.page() == page {
            return;
        }
        let before = PageId(target.0.swap(page.0, Ordering::Relaxed));
        if before != PageId::NONE && before != page {
            self.put_back(before);
        }
    }

    /// Takes a page from the queue, to try it. Hand it on by [`Room::set_target`], [`Room::put_back`] or
    /// [`Room::forget`].
    pub(crate) fn take(&self) -> Option<PageId> {
        let mut open = self.open();
        while let Some(page) = open.queue.pop_front() {
            // It may have become full while it was in the queue and a target at once.
            if let Some(queued) = open.known.get_mut(&page) {
                *queued = false;
                return Some(page);
            }
        }
        None
    }

    /// The page that [`Room::take`] would probably give.
    pub(crate) fn first(&self) -> Option<PageId> {
        self.open().queue.front().copied()
    }

    /// Puts a page that is known to the end of the queue.
    pub(crate) fn put_back(&self, page: PageId) {
        let mut open = self.open();
        if let Some(queued @ false) = open.known.get_mut(&page) {
            *queued = true;
            open.queue.push_back(page);
        }
    }

    /// A page has room. Returns whether that is news.
    pub(crate) fn note(&self, page: PageId) -> bool {
        let mut open = self.open();
        let is_new = !open.known.contains_key(&page);
        if is_new {
            open.known.insert(page, true);
            open.queue.push_back(page);
        }
        is_new
    }

    /// A page that was just made has room, and a thread inserts into it.
    pub(crate) fn note_new(&self, page: PageId) {
        self.open().known.insert(page, false);
    }

    /// A page is full. Called while it is latched, so that what is noted later is true later.
    pub(crate) fn forget(&self, page: PageId) {
        self.open().known.remove(&page);
    }

    /// Whether a page may have room.
    pub(crate) fn is_known(&self, page: PageId) -> bool {
        self.open().known.contains_key(&page)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // A thread that panicked left hints, and any hints will do.
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
