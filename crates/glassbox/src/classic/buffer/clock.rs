//! Page replacement: the clock (Corbató 1968), second chance.
//!
//! A hand goes round the frames. It spares a page that was fixed since its last visit, and evicts any other. So a page
//! stays if it is used at least once a round. A page that is fixed only once, as by a scan, is evicted in the first
//! round, because the fix that read it does not count.
//!
//! Keeping pages in the order of their last use (LRU) needs a list that every fix changes; the clock only needs the
//! count of fixes, which exists anyway. The policy is a separate type and works on counts, so that
//! [`simulate`](super::simulate) can replay a recorded run through it with any number of frames.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum rounds: one that spares, one that evicts, one for interference by other threads.
const ROUNDS: usize = 3;
/// Maximum number of frames checked ahead of the hand.
const MAX_AHEAD: usize = 2048;

/// The result of choosing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimResult {
    /// The caller has claimed it.
    Taken,
    /// It cannot be claimed now.
    Refused,
    /// Another task has to be done first.
    Stop,
}

/// See the file.
pub(super) struct ClockSweep {
    hand: AtomicU64,
    /// The number of fixes of each frame's page at the hand's last visit.
    seen: Box<[AtomicU64]>,
}

impl ClockSweep {
    pub fn new(frames: usize) -> Self {
        Self { hand: AtomicU64::new(0), seen: (0..frames).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Records that the frame got a page, with one fix.
    pub fn arrived(&self, frame: usize) {
        self.seen[frame].store(1, Ordering::Relaxed);
    }

    /// Moves the hand to a frame whose page will be evicted. `uses` gives the number of fixes of a frame's page, `None`
    /// if it is fixed now; `take` claims a frame. `None` if no frame could be claimed.
    pub fn victim(
        &self,
        mut uses: impl FnMut(usize) -> Option<u64>,
        mut take: impl FnMut(usize) -> ClaimResult,
    ) -> Option<usize> {
        for _ in 0..ROUNDS * self.seen.len() {
            let frame = self.frame(self.hand.fetch_add(1, Ordering::Relaxed));
            let Some(uses) = uses(frame) else { continue };
            if !self.is_idle(frame, uses) {
                self.seen[frame].store(uses, Ordering::Relaxed);
                continue;
            }
            match take(frame) {
                ClaimResult::Taken => return Some(frame),
                ClaimResult::Refused => {}
                ClaimResult::Stop => return None,
            }
        }
        None
    }

    /// Whether the page of a frame, fixed `uses` times so far, was not used since the hand's last visit.
    pub fn is_idle(&self, frame: usize, uses: u64) -> bool {
        self.seen[frame].load(Ordering::Relaxed) == uses
    }

    /// The quarter of the frames that the hand reaches next, as steps of the hand; [`ClockSweep::frame`] maps a step to
    /// its frame.
    pub fn ahead(&self) -> Range<u64> {
        let hand = self.hand.load(Ordering::Relaxed);
        hand..hand + self.seen.len().div_ceil(4).min(MAX_AHEAD) as u64
    }

    /// The frame at a step of the hand.
    pub fn frame(&self, step: u64) -> usize {
        (step % self.seen.len() as u64) as usize
    }
}
