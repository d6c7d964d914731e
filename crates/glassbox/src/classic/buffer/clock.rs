//! Which page leaves when another comes: the clock (Corbató 1968), second chance.
//!
//! A hand goes round the frames. A page that was fixed since the hand last came by is spared once, another is taken. So
//! a page stays if it is used at least once a round; one that is fixed once and never again, as by a scan, leaves in
//! the first round, because the fix that brought it does not count.
//!
//! Keeping pages in the order of their last use (LRU) needs a list that every fix changes; the clock needs nothing from
//! a fix but that it is counted, which it is anyway. The policy is a type of its own and works on counts, so that a
//! recorded run can be played through it with any number of frames: [`simulate`](super::simulate).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rounds before giving up: one that spares, one that takes, one for those who interfere.
const ROUNDS: usize = 3;
/// Most frames that are looked at before the hand comes to them.
const MOST_AHEAD: usize = 2048;

/// The result of choosing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    /// It is the caller's.
    Taken,
    /// It cannot be taken now.
    Refused,
    /// There is something else to do first.
    Stop,
}

/// See the file.
pub(super) struct Clock {
    hand: AtomicU64,
    /// How often the page of each frame had been fixed when the hand last came by.
    seen: Box<[AtomicU64]>,
}

impl Clock {
    pub fn new(frames: usize) -> Self {
        Self { hand: AtomicU64::new(0), seen: (0..frames).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The frame got a page, which was fixed once by that.
    pub fn arrived(&self, frame: usize) {
        self.seen[frame].store(1, Ordering::Relaxed);
    }

    /// Moves the hand to a frame whose page is to leave. `uses` says how often the page of a frame was fixed, `None`
    /// if it is fixed now; `take` takes a frame. `None` when none could be taken.
    pub fn victim(
        &self,
        mut uses: impl FnMut(usize) -> Option<u64>,
        mut take: impl FnMut(usize) -> Take,
    ) -> Option<usize> {
        for _ in 0..ROUNDS * self.seen.len() {
            let frame = self.frame(self.hand.fetch_add(1, Ordering::Relaxed));
            let Some(uses) = uses(frame) else { continue };
            if !self.is_idle(frame, uses) {
                self.seen[frame].store(uses, Ordering::Relaxed);
                continue;
            }
            match take(frame) {
                Take::Taken => return Some(frame),
                Take::Refused => {}
                Take::Stop => return None,
            }
        }
        None
    }

    /// Whether the page of a frame, fixed `uses` times by now, was not used since the hand last came by.
    pub fn is_idle(&self, frame: usize, uses: u64) -> bool {
        self.seen[frame].load(Ordering::Relaxed) == uses
    }

    /// The frames, a quarter of them, that the hand will come to next, as steps of the hand; [`Clock::frame`] says
    /// which they are.
    pub fn ahead(&self) -> Range<u64> {
        let hand = self.hand.load(Ordering::Relaxed);
        hand..hand + self.seen.len().div_ceil(4).min(MOST_AHEAD) as u64
    }

    /// The frame at a step of the hand.
    pub fn frame(&self, step: u64) -> usize {
        (step % self.seen.len() as u64) as usize
    }
}
