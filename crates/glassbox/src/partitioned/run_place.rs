//! Where the calls of a partition run, and what the threads that leave and run them tell each other: see
//! [`cores`](super::cores).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::thread::{self, Thread};

/// The number of no core.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Where the calls of a partition run; read by every submitter and rarely written.
#[repr(align(128))]
pub(super) struct RunPlace {
    /// The number of the core; [`NOWHERE`]: none yet.
    core: AtomicU32,
    /// How often in a row other threads ran what was left for the core's.
    helped: AtomicU32,
    /// A thread waits for a call in the inbox.
    is_awaited: AtomicBool,
    /// A thread waits for the token, for a call on several partitions.
    is_claimed: AtomicBool,
    /// The partition's own thread, if it has one, and whether it is asleep or about to be.
    thread: OnceLock<Thread>,
    is_asleep: AtomicBool,
}

impl RunPlace {
    pub(super) fn new() -> Self {
        let (core, helped) = (AtomicU32::new(NOWHERE), AtomicU32::new(0));
        let [is_awaited, is_claimed, is_asleep] = [const { AtomicBool::new(false) }; 3];
        Self { core, helped, is_awaited, is_claimed, thread: OnceLock::new(), is_asleep }
    }

    /// The number of the core, or [`NOWHERE`].
    #[inline(always)]
    pub(super) fn core(&self) -> u32 {
        self.core.load(Ordering::Relaxed)
    }

    /// Moves the partition from one core to another, unless another thread has moved it; whether it did.
    pub(super) fn set_core(&self, from: u32, to: u32) -> bool {
        let is_moved = self.core.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_moved {
            self.helped.store(0, Ordering::Relaxed);
        }
        is_moved
    }

    /// Notes that a thread of another core ran what was left; how often in a row.
    pub(super) fn count_help(&self) -> u32 {
        self.helped.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes that a thread of the core looks into the inboxes; whether one of their calls was awaited.
    #[inline(always)]
    pub(super) fn looked(&self) -> bool {
        if self.helped.load(Ordering::Relaxed) != 0 {
            self.helped.store(0, Ordering::Relaxed);
        }
        let is_awaited = self.is_awaited();
        if is_awaited {
            self.is_awaited.store(false, Ordering::Relaxed);
        }
        is_awaited
    }

    /// Whether a thread waits for a call in an inbox.
    #[inline(always)]
    pub(super) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// Makes this thread the partition's own.
    pub(super) fn adopt(&self) {
        // It has none yet.
        let _ = self.thread.set(thread::current());
    }

    /// Sleeps until a call is left, unless `has_work`.
    pub(super) fn sleep(&self, has_work: impl Fn() -> bool) {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !has_work() {
            thread::park();
        }
        self.is_asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the partition's own thread, if it has one that sleeps: something was left for it.
    ///
    /// The thread says that it is asleep, then looks for calls; the caller leaves a call, then looks whether the thread
    /// is asleep. With a fence between the two on both sides, at least one sees the other.
    #[inline]
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            fence(Ordering::SeqCst);
            if self.is_asleep.load(Ordering::Relaxed) {
                thread.unpark();
            }
        }
    }

    /// Tells the holder of the token that a thread waits for it, or does not any more.
    pub(super) fn claim(&self, is_claimed: bool) {
        self.is_claimed.store(is_claimed, Ordering::Relaxed);
    }

    /// Whether a thread waits for the token, for a call on several partitions.
    #[inline(always)]
    pub(super) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Relaxed)
    }

    /// Asks the threads of the core to look into the inbox soon.
    pub(super) fn hurry(&self) {
        if !self.is_awaited.load(Ordering::Relaxed) {
            self.is_awaited.store(true, Ordering::Relaxed);
        }
    }
}
