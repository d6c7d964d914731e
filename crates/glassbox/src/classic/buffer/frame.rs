//! The header of a frame: which page it holds, who uses it, and from where on the log is needed for it.
//!
//! Problem: a page that is in memory must be found and kept there by a few instructions, while another thread may be
//! about to put another page in its place. A lock around both makes every fix wait for every other. Here a fix is the
//! latch's one atomic operation, and the frame is then asked whether it holds the page that was wanted.
//!
//! *The page does not change under a latch.* A frame gets another page, or loses its page, only while it is latched
//! exclusively: by the thread that has claimed it, or that could not read its page. So a thread that has it latched, in
//! either mode, and then finds that it is the page it wants, keeps it by that alone. If it is not, the page table was
//! out of date, and he looks again.
//!
//! *A waiter pins first.* Latches are taken in the order of what they protect, so a thread must not wait for a latch
//! without knowing its page. A thread that finds the latch taken adds a pin to a word of the frame:
//!
//! ```text
//! bits 0-29   pins: how many wait for the latch, or, where there are no latches, have fixed the page
//! bit 30      ALONE: fixed to be changed, where there are no latches
//! bit 31      CLAIMED: a thread uses the frame for another page
//! ```
//!
//! Who wants the frame sets CLAIMED by an exchange that succeeds only while there are no pins, takes the latch if that
//! means no waiting, changes the page, and clears CLAIMED. Who pins looks at the word as it was: if it was CLAIMED, he
//! takes the pin back and knows nothing. If not, his pin lies between two claims in the order of the word, and the next
//! claim does not succeed before he unpins; so the page is that of the claim before, whose change of `page` he sees,
//! because all changes of the word are additions and exchanges and pass on what was released by the claim's end. One
//! exception: a page that could not be read leaves the frame while others are pinned and wait for its latch; so a
//! waiter checks once more which page it is.
//!
//! Rejected: a pin for every user, in addition to the latch: two more atomic operations for each fix, which say nothing
//! new. *Uses* are counted without an atomic addition: of several who fix a page to read it in the same moment some may
//! not be counted. They are statistics, and tell whether the page was used lately.
//!
//! *Dirty.* `rec_lsn` is the position from which on the log is needed to bring back what changed since the page was
//! last copied to be written; `writing_lsn` is the same for the copy being written now. Both are CLEAN when nothing is
//! needed, and only then may the frame be claimed: a claim looks at them once it has the latch, and sees what was
//! stored under every latch before. A copy is made under the shared latch; `writing_lsn` is set before `rec_lsn` is
//! cleared, so who reads them in the opposite order finds the older of the two in one of them until it is on disk.

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

/// The number of a page that there is none of.
pub(super) const NO_PAGE: PageId = PageId(u32::MAX);
/// Nothing in the log is needed.
const CLEAN: u64 = u64::MAX;

/// The result of an attempt to fix a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fix {
    /// It is fixed; whether that meant waiting for the latch.
    Fixed { waited: bool },
    /// The frame holds another page, or is about to.
    Other,
    /// It would have meant waiting for the latch.
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
    /// 1: the page was found sound since it was read. Changed under its latch; so a thread that finds it 1 sees sound
    /// bytes.
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
    /// The page it holds. Certain while it is latched, or claimed by the caller.
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

    /// As [`Frame::fix`] to read, for writing the page out: it does not count as a use.
    pub fn fix_to_copy(&self, page: PageId, wait: bool) -> Fix {
        self.fix_uncounted(page, false, wait)
    }

    #[inline(always)]
    fn fix_uncounted(&self, page: PageId, exclusive: bool, wait: bool) -> Fix {
        if !L::CONCURRENT {
            return self.fix_alone(page, exclusive);
        }
        // Not to hold up those who use another page; certain is only what is found below.
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

    /// Lets go of what was fixed to read.
    #[inline(always)]
    pub fn unfix_shared(&self) {
        self.latch.release_shared();
        self.unpin_alone(PIN);
    }

    /// Lets go of what was fixed to change.
    #[inline(always)]
    pub fn unfix_exclusive(&self) {
        self.latch.release_exclusive();
        self.unpin_alone(ALONE + PIN);
    }

    /// Goes on reading what was fixed to change.
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

    /// Fixes without latches: what the only thread has fixed itself may be in the way, and nothing else.
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

    /// How often the page was fixed since it came; `None` while it is fixed or the frame is claimed.
    pub fn uses_if_unfixed(&self) -> Option<u64> {
        let is_unfixed = self.word.load(Ordering::Relaxed) == 0 && self.latch.is_free();
        is_unfixed.then(|| self.uses())
    }

    /// How often the page was fixed since it came.
    pub fn uses(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// Claims the frame if its page is not fixed and clean. Gives the page, and how often it was fixed.
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

    /// Says which page the claimed frame will hold.
    pub fn prepare(&self, page: PageId) {
        self.page.store(page.0, Ordering::Relaxed);
        self.sound.store(0, Ordering::Relaxed);
    }

    /// Ends the claim of what was prepared: it is fixed by the caller, to be changed.
    pub fn publish(&self) {
        self.uses.store(1, Ordering::Relaxed);
        let fixed = if L::CONCURRENT { 0 } else { ALONE + PIN };
        self.word.fetch_add(fixed.wrapping_sub(CLAIMED), Ordering::Release);
    }

    /// Ends the claim of what was prepared, in vain: the frame is empty.
    pub fn give_up(&self) {
        self.forget();
        self.latch.release_exclusive();
        self.word.fetch_sub(CLAIMED, Ordering::Release);
    }

    /// The frame holds no page any more. It is claimed, or latched exclusively.
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

    /// The last note about the page, or that it is not known to be sound.
    #[inline(always)]
    pub fn is_sound(&self) -> bool {
        self.sound.load(Ordering::Relaxed) != 0
    }

    /// Says whether the page is known to be sound. Latched.
    pub fn note_sound(&self, is_sound: bool) {
        self.sound.store(u32::from(is_sound), Ordering::Relaxed);
    }

    /// From where on the log is needed; `None` when the page is on disk as it is here.
    pub fn needed_from(&self) -> Option<Lsn> {
        let changed = self.rec_lsn.load(Ordering::Acquire);
        let needed = changed.min(self.writing_lsn.load(Ordering::Acquire));
        (needed != CLEAN).then_some(Lsn(needed))
    }

    /// Whether there is something to be written. Certain while it is latched.
    pub fn is_changed(&self) -> bool {
        self.rec_lsn.load(Ordering::Relaxed) != CLEAN
    }

    /// The page was copied and will be written. Latched shared; only one copy is under way at a time.
    pub fn begin_write(&self) {
        assert_eq!(self.writing_lsn.load(Ordering::Relaxed), CLEAN, "a page is written twice at the same time");
        self.writing_lsn.store(self.rec_lsn.load(Ordering::Relaxed), Ordering::Relaxed);
        self.rec_lsn.store(CLEAN, Ordering::Release);
    }

    /// The copy is on disk for certain.
    pub fn end_write(&self) {
        self.writing_lsn.store(CLEAN, Ordering::Release);
    }
}
