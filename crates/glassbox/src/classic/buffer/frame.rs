//! The header of a frame: its page, its users, and the position from which the log is needed for the page.
//!
//! Problem: a page in memory must be found and pinned by a few instructions, while another thread may be about to
//! replace it. A lock around both makes every fix wait for every other. Here a fix is the latch's one atomic operation,
//! followed by a test whether the frame has the requested page.
//!
//! *The page does not change under a latch.* A frame gets another page, or loses its page, only while it is latched
//! exclusively: by the thread that has claimed it, or that could not read its page. So a thread that has latched the
//! frame, in either mode, and then finds the requested page in it, has pinned the page by the latch alone. If it finds
//! another page, the page table was outdated, and the thread retries.
//!
//! *A waiter pins first.* Latches are acquired in the order of the pages that they protect, so a thread must not wait
//! for a latch without knowing its page. A thread that finds the latch held adds a pin to a word of the frame:
//!
//! ```text
//! bits 0-29   pins: threads that wait for the latch, or, without latches, fixes of the page
//! bit 30      ALONE: fixed exclusively, without latches
//! bit 31      CLAIMED: a thread uses the frame for another page
//! ```
//!
//! A claiming thread sets CLAIMED by an exchange that succeeds only while there are no pins, acquires the latch if that
//! needs no wait, changes the page, and clears CLAIMED. A pinning thread reads the former word: if it was CLAIMED, the
//! thread removes the pin and has learnt nothing. If not, its pin is between two claims in the modification order of
//! the word, and the next claim does not succeed before the pin is removed. So the page is that of the former claim.
//! The thread sees that claim's change of `page`, because all changes of the word are atomic read-modify-writes, which
//! continue the release sequence of the claim's end. One exception: a page whose read failed is removed from the frame
//! while other threads have pins and wait for its latch; so a waiter checks the page again.
//!
//! *Pages that are pinned without a fix.* A thread that has latched the frame may add a pin and keep it after it has
//! released the latch: then no claim succeeds, and the page stays. A pin beside a claim under way is refused.
//!
//! Rejected: a pin for every user, in addition to the latch: two more atomic operations for each fix, without new
//! information. *Uses* are counted without an atomic addition: shared fixes at the same moment may be counted once.
//! They are statistics, and show whether the page was used recently.
//!
//! *Dirty.* `rec_lsn` is the position from which the log is needed to redo the changes since the last copy of the page
//! for a write; `writing_lsn` is the same for the copy being written now. Both are CLEAN if no log is needed, and only
//! then may the frame be claimed: a claim reads them after it has the latch, and sees all values stored under earlier
//! latches. A copy is made under the shared latch; `writing_lsn` is set before `rec_lsn` is cleared. So a thread that
//! reads them in the opposite order finds the older position in one of them until the copy is on disk.

#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::log::Lsn;

const PIN: u32 = 1;
const PINS: u32 = ALONE - 1;
const ALONE: u32 = 1 << 30;
const CLAIMED: u32 = 1 << 31;

/// The page number that no page has.
pub(super) const NO_PAGE: PageId = PageId(u32::MAX);
const SOUND: u32 = 1;
const ARRIVING: u32 = 2;
/// No log is needed.
const CLEAN: u64 = u64::MAX;

/// The result of an attempt to fix a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fix {
    /// It is fixed; the flag says whether the thread waited for the latch.
    Fixed { waited: bool },
    /// The frame holds another page, or is about to.
    Other,
    /// The latch was not available without a wait.
    Busy,
}

/// See the file.
#[repr(align(64))]
pub(super) struct Frame<L> {
    word: AtomicU32,
    page: AtomicU32,
    latch: L,
    /// Fixes since the frame got its page.
    uses: AtomicU64,
    rec_lsn: AtomicU64,
    writing_lsn: AtomicU64,
    /// SOUND: the page was found valid since it was read. ARRIVING: its bytes are being read. Changed under its latch;
    /// so a thread that reads SOUND sees valid bytes.
    sound: AtomicU32,
}

impl<L: Latch> Default for Frame<L> {
    fn default() -> Self {
        Self {
            word: AtomicU32::new(0),
            page: AtomicU32::new(NO_PAGE.0),
            latch: L::default(),
            uses: AtomicU64::new(0),
            rec_lsn: AtomicU64::new(CLEAN),
            writing_lsn: AtomicU64::new(CLEAN),
            sound: AtomicU32::new(0),
        }
    }
}

impl<L: Latch> Frame<L> {
    /// Its page. Stable while the frame is latched, or claimed by the caller.
    #[inline(always)]
    pub fn page(&self) -> PageId {
        PageId(self.page.load(Ordering::Relaxed))
    }

    /// Fixes `page` if this is the frame that holds it. With `wait`, waits for the latch.
    #[inline(always)]
    pub fn fix(&self, page: PageId, exclusive: bool, wait: bool) -> Fix {
        let fixed = self.fix_uncounted(page, exclusive, wait);
        if let Fix::Fixed { .. } = fixed {
            self.uses.store(self.uses.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        fixed
    }

    /// As a shared [`Frame::fix`], for writing the page: it does not count as a use.
    pub fn fix_to_copy(&self, page: PageId, wait: bool) -> Fix {
        self.fix_uncounted(page, false, wait)
    }

    #[inline(always)]
    fn fix_uncounted(&self, page: PageId, exclusive: bool, wait: bool) -> Fix {
        if !L::CONCURRENT {
            return self.fix_alone(page, exclusive);
        }
        // An early test, so that users of another page are not delayed; the test below is the authoritative one.
        if self.page() != page {
            return Fix::Other;
        }
        let taken = if exclusive { self.latch.try_exclusive() } else { self.latch.try_shared() };
        if taken {
            self.if_still(page, exclusive, false)
        } else if wait {
            self.wait_to_fix(page, exclusive)
        } else {
            Fix::Busy
        }
    }

    /// The latched frame, if it holds this page; else the latch is released.
    #[inline(always)]
    fn if_still(&self, page: PageId, exclusive: bool, waited: bool) -> Fix {
        if self.page() == page {
            return Fix::Fixed { waited };
        }
        if exclusive {
            self.latch.release_exclusive();
        } else {
            self.latch.release_shared();
        }
        Fix::Other
    }

    #[cold]
    fn wait_to_fix(&self, page: PageId, exclusive: bool) -> Fix {
        let mut fixed = Fix::Other;
        if self.word.fetch_add(PIN, Ordering::Acquire) & CLAIMED == 0 && self.page() == page {
            let waited = if exclusive { self.latch.exclusive() } else { self.latch.shared() };
            fixed = self.if_still(page, exclusive, waited);
        }
        self.word.fetch_sub(PIN, Ordering::Release);
        fixed
    }

    /// Keeps the page, which the caller has fixed, in this frame until [`Frame::unpin`]; false while another thread
    /// claims the frame, and without latches, where pins are fixes.
    pub fn pin(&self) -> bool {
        if !L::CONCURRENT {
            return false;
        }
        // A thread that is claiming the frame may get the latch after this one has released it, whatever is pinned.
        let is_claimed = self.word.fetch_add(PIN, Ordering::Acquire) & CLAIMED != 0;
        if is_claimed {
            self.unpin();
        }
        !is_claimed
    }

    /// Keeps `page` in this frame until [`Frame::unpin`], although the caller has not fixed it; false if the frame does
    /// not hold it, or is about to get it, and without latches.
    pub fn pin_unfixed(&self, page: PageId) -> bool {
        if !L::CONCURRENT || self.page() != page {
            return false;
        }
        // As a waiter does. A page leaves a frame in which it was pinned only when it could not be read.
        let is_claimed = self.word.fetch_add(PIN, Ordering::Acquire) & CLAIMED != 0;
        let is_there = !is_claimed && self.page() == page && !self.is_arriving();
        if !is_there {
            self.unpin();
        }
        is_there
    }

    /// Removes one pin.
    pub fn unpin(&self) {
        self.word.fetch_sub(PIN, Ordering::Release);
    }

    /// Releases a shared fix.
    #[inline(always)]
    pub fn unfix_shared(&self) {
        self.latch.release_shared();
        self.unpin_alone(PIN);
    }

    /// Releases an exclusive fix.
    #[inline(always)]
    pub fn unfix_exclusive(&self) {
        self.latch.release_exclusive();
        self.unpin_alone(ALONE + PIN);
    }

    /// Downgrades an exclusive fix to a shared one.
    pub fn downgrade(&self) {
        self.latch.downgrade();
        self.unpin_alone(ALONE);
    }

    #[inline(always)]
    fn unpin_alone(&self, what: u32) {
        if !L::CONCURRENT {
            self.word.store(self.word.load(Ordering::Relaxed) - what, Ordering::Relaxed);
        }
    }

    /// Fixes without latches: only the thread's own fixes can conflict.
    #[inline(always)]
    fn fix_alone(&self, page: PageId, exclusive: bool) -> Fix {
        if self.page() != page {
            return Fix::Other;
        }
        let word = self.word.load(Ordering::Relaxed);
        let in_the_way = if exclusive { PINS | ALONE } else { ALONE };
        if word & in_the_way != 0 {
            return Fix::Busy;
        }
        self.word.store(word + PIN + if exclusive { ALONE } else { 0 }, Ordering::Relaxed);
        Fix::Fixed { waited: false }
    }

    /// Number of fixes since the page was read; `None` while it is fixed or the frame is claimed.
    pub fn uses_if_unfixed(&self) -> Option<u64> {
        let is_unfixed = self.word.load(Ordering::Relaxed) == 0 && self.latch.is_free();
        is_unfixed.then(|| self.uses())
    }

    /// Number of fixes since the page was read.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Claims the frame if its page is clean and not fixed. Returns the page and its number of fixes.
    pub fn claim(&self) -> Option<(PageId, u64)> {
        self.word.compare_exchange(0, CLAIMED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        if self.latch.try_exclusive() {
            if self.needed_from().is_none() {
                return Some((self.page(), self.uses.swap(0, Ordering::Relaxed)));
            }
            self.latch.release_exclusive();
        }
        self.word.fetch_sub(CLAIMED, Ordering::Release);
        None
    }

    /// Sets the page of the claimed frame.
    pub fn prepare(&self, page: PageId) {
        self.page.store(page.0, Ordering::Relaxed);
        self.sound.store(ARRIVING, Ordering::Relaxed);
    }

    /// Records that the page's bytes are there. Latched exclusively.
    pub fn arrived(&self) {
        self.sound.store(0, Ordering::Relaxed);
    }

    /// Whether another thread is reading the page.
    pub fn is_arriving(&self) -> bool {
        self.sound.load(Ordering::Relaxed) == ARRIVING
    }

    /// Ends the claim: the caller has the new page fixed exclusively.
    pub fn publish(&self) {
        self.uses.store(1, Ordering::Relaxed);
        let fixed = if L::CONCURRENT { 0 } else { ALONE + PIN };
        self.word.fetch_add(fixed.wrapping_sub(CLAIMED), Ordering::Release);
    }

    /// Ends the claim without a page: the frame is empty.
    pub fn give_up(&self) {
        self.forget();
        self.latch.release_exclusive();
        self.word.fetch_sub(CLAIMED, Ordering::Release);
    }

    /// Removes the page from the frame, which is claimed or latched exclusively.
    pub fn forget(&self) {
        self.page.store(NO_PAGE.0, Ordering::Relaxed);
    }

    /// The log is needed from `from` on, if it was not needed before. Latched exclusively.
    #[inline(always)]
    pub fn note_change(&self, from: Lsn) {
        if self.rec_lsn.load(Ordering::Relaxed) == CLEAN {
            self.rec_lsn.store(from.0, Ordering::Relaxed);
        }
    }

    /// Whether the page is known to be valid.
    #[inline(always)]
    pub fn is_sound(&self) -> bool {
        self.sound.load(Ordering::Relaxed) == SOUND
    }

    /// Sets whether the page is known to be valid. Latched.
    pub fn note_sound(&self, is_sound: bool) {
        self.sound.store(u32::from(is_sound), Ordering::Relaxed);
    }

    /// The position from which the log is needed; `None` if the page is clean.
    pub fn needed_from(&self) -> Option<Lsn> {
        let changed = self.rec_lsn.load(Ordering::Acquire);
        let needed = changed.min(self.writing_lsn.load(Ordering::Acquire));
        (needed != CLEAN).then_some(Lsn(needed))
    }

    /// Whether the page is dirty. Stable while it is latched.
    pub fn is_changed(&self) -> bool {
        self.rec_lsn.load(Ordering::Relaxed) != CLEAN
    }

    /// Records that the page was copied and will be written. Latched shared; only one copy is in progress at a time.
    pub fn begin_write(&self) {
        assert_eq!(self.writing_lsn.load(Ordering::Relaxed), CLEAN, "a page is written twice at the same time");
        self.writing_lsn.store(self.rec_lsn.load(Ordering::Relaxed), Ordering::Relaxed);
        self.rec_lsn.store(CLEAN, Ordering::Release);
    }

    /// Records that the copy is on disk.
    pub fn end_write(&self) {
        self.writing_lsn.store(CLEAN, Ordering::Release);
    }
}
