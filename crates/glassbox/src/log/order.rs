//! The order of the ring: who writes where, and up to where everybody has written.
//!
//! Problem: many threads append at once, records must be in one order without holes, and a thread that appends must
//! not wait for another. A lock around the copy makes everybody wait for a thread that was descheduled inside it. So
//! reserving and copying are apart: one atomic addition to `head` reserves `[start, end)`, then the record is copied.
//! What is below `head` may then still have holes; the flusher must know up to where there are none.
//!
//! Each appender has a slot with a number `pending`: a position from which on it may be copying, [`IDLE`] if it is not.
//! An append does, in this order:
//!
//! ```text
//!   A1  pending = head          (Release)     a lower bound of what A2 will return
//!   A2  start = head += size    (AcqRel)
//!   A3  pending = start         (Release)     the exact place
//!   A4  wait until end - tail <= capacity; copy the record
//!   A5  pending = IDLE          (Release)
//! ```
//!
//! and the flusher:
//!
//! ```text
//!   F1  h = head                (Acquire)
//!   F2  complete = max(tail, min(h, pending of every slot))   (Acquire)
//! ```
//!
//! *Everything below `complete` is copied, and the flusher sees it.* Take a record at `[start, end)` with
//! `start < complete`. Then `start < h`, so F1 read A2's addition or a later one; additions form one release sequence,
//! so A2, and A1 before it, happen before F2. F2 therefore reads from that slot A1's store or a later one. A1's and
//! A3's values are at most `start`, and the minimum would not have exceeded `start`: so F2 read A5's store or one that
//! follows it in the same slot. These are Release stores made after the copy, F2 is an Acquire load: the copy happens
//! before what the flusher does next. Values of `pending` and `head` are boundaries of records, so `complete` is one.
//!
//! The maximum with `tail` is there because the bound of A1 may be old: between reading `head` and storing it, others
//! can
//! append and the flusher can flush them, and then the bound is below `tail`, where everything is copied anyway.
//!
//! *Nothing is overwritten that is still needed.* A4 reads `tail` with Acquire; the flusher stores it with Release when
//! it has finished with the bytes below.
//!
//! *Nobody waits for ever.* Of the appenders waiting in A4, take the one with the lowest `start`. All below it have
//! copied, so the flusher gets to `start`; and a record fits the ring. This is why A3 is there: with the lower bound
//! of A1 alone, others could reserve a whole ring between A1 and A2, and the record could wait for itself.
//!
//! The slot of an append that gave up in A4 (the log is poisoned) stays at `start`: the flusher never passes it.
//!
//! This file moves no bytes, so that the argument can be checked by trying every interleaving and every value the
//! memory model allows: `tests/interleavings.rs`.

#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// `pending` of an appender that is not copying.
const IDLE: u64 = u64::MAX;

/// A value with cache lines of its own (two: processors fetch them in pairs).
#[repr(align(128))]
pub(super) struct Padded<T>(pub T);

struct Slot {
    pending: AtomicU64,
    /// What this appender last knew of `tail + capacity`: it looks at `tail`, which every flush moves, only when it
    /// must. Used by the appender alone.
    limit: AtomicU64,
    taken: AtomicBool,
}

/// The numbers of a ring.
pub(super) struct Order {
    capacity: u64,
    head: Padded<AtomicU64>,
    tail: Padded<AtomicU64>,
    slots: Box<[Padded<Slot>]>,
}

/// The right to append through one slot. There is at most one for each slot.
pub(super) struct RingSlot(usize);

impl Order {
    pub fn new(capacity: u64, start: u64, appenders: usize) -> Self {
        let slot = |_| {
            let (pending, limit) = (AtomicU64::new(IDLE), AtomicU64::new(0));
            Padded(Slot { pending, limit, taken: AtomicBool::new(false) })
        };
        let (head, tail) = (Padded(AtomicU64::new(start)), Padded(AtomicU64::new(start)));
        Self { capacity, head, tail, slots: (0..appenders).map(slot).collect() }
    }

    /// Takes a slot that nobody has.
    pub fn take_slot(&self) -> Option<RingSlot> {
        let free = |slot: &Padded<Slot>| !slot.0.taken.swap(true, Ordering::Acquire);
        self.slots.iter().position(free).map(RingSlot)
    }

    /// Gives a slot back. One whose append gave up stays taken.
    pub fn give_back(&self, slot: &mut RingSlot) {
        let slot = &self.slots[slot.0].0;
        if slot.pending.load(Ordering::Relaxed) == IDLE {
            slot.taken.store(false, Ordering::Release);
        }
    }

    /// Where the next record will begin.
    pub fn head(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    /// Below this, everything is durable and its room is free.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// Frees the room below `to`. The flusher has finished with it.
    pub fn advance_tail(&self, to: u64) {
        debug_assert!(to >= self.tail());
        self.tail.0.store(to, Ordering::Release);
    }

    /// Below this, everything is copied (F1, F2).
    pub fn complete(&self) -> u64 {
        let head = self.head.0.load(Ordering::Acquire);
        let pending = self.slots.iter().map(|slot| slot.0.pending.load(Ordering::Acquire));
        pending.fold(head, u64::min).max(self.tail())
    }

    /// A1 to A4: reserves `size` positions, which are the caller's alone until [`Order::finish`]. `wait_for(t)` is
    /// called
    /// when there is no room and returns when `tail >= t`, or with an error if that will never be.
    #[inline]
    pub fn reserve<E>(
        &self,
        slot: &mut RingSlot,
        size: u64,
        wait_for: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        debug_assert!(size <= self.capacity);
        let slot = &self.slots[slot.0].0;
        slot.pending.store(self.head.0.load(Ordering::Relaxed), Ordering::Release);
        let start = self.head.0.fetch_add(size, Ordering::AcqRel);
        slot.pending.store(start, Ordering::Release);
        if start + size > slot.limit.load(Ordering::Relaxed) {
            self.make_room(slot, start + size, wait_for)?;
        }
        Ok(start)
    }

    /// A5: what was reserved is copied.
    #[inline]
    pub fn finish(&self, slot: &mut RingSlot) {
        self.slots[slot.0].0.pending.store(IDLE, Ordering::Release);
    }

    #[cold]
    fn make_room<E>(&self, slot: &Slot, end: u64, wait_for: impl FnOnce(u64) -> Result<(), E>) -> Result<(), E> {
        if self.tail() + self.capacity < end {
            wait_for(end - self.capacity)?;
        }
        let limit = self.tail() + self.capacity;
        assert!(end <= limit, "no room after waiting for it");
        slot.limit.store(limit, Ordering::Relaxed);
        Ok(())
    }
}
