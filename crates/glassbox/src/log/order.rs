//! The order of the ring: which append writes where, and up to where all have written.
//!
//! Problem: many threads append at once, records must be in one order without holes, and a thread that appends must
//! not wait for another. With a lock around the copy, all would wait for a thread that was descheduled inside it. So
//! reserving and copying are apart: one atomic addition to `head` reserves `[start, end)`, then the record is copied.
//! What is below `head` may then still have holes; the flusher must know the end of the part without holes.
//!
//! Each appender has a slot with a number `pending`: a position from which on it may be copying, [`IDLE`] if it is not.
//! An append does, in this order:
//!
//! ```text
//!   A1  pending = start = head                       (Release)
//!   A2  head: start -> start + size, else from A1    (AcqRel)      only below the limit of positions
//!   A3  wait until start + size - tail <= capacity; copy the record
//!   A4  pending = IDLE                               (Release)
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
//! `start < complete`. Then `start < h`, so F1 read A2's exchange or a later one; exchanges form one release sequence,
//! so A2, and A1 before it, happen before F2. F2 therefore reads from that slot A1's store or a later one. A1's value
//! is `start`, and the minimum would not have exceeded it: so F2 read A4's store or one that follows it in the same
//! slot. These are Release stores made after the copy, F2 is an Acquire load: the copy happens before what the flusher
//! does next. Values of `pending` and `head` are boundaries of records, so `complete` is one.
//!
//! The maximum with `tail` is there because the value of A1 may be old: between reading `head` and storing it, others
//! can append and the flusher can flush them. The value is below `tail` then, where everything is copied anyway, and
//! A2 fails.
//!
//! *No position at or above its limit is given away.* A2 compares and exchanges in one step, so appends that run at
//! the same time cannot pass the limit together. The limit says up to where the disk has room for sure (see `room`).
//! There is a second, higher one for records that roll back what is in the log already.
//!
//! *Nothing is overwritten that is still needed.* A3 reads `tail` with Acquire; the flusher stores it with Release when
//! it has finished with the bytes below.
//!
//! *No append waits for ever.* Of the appenders waiting in A3, take the one with the lowest `start`. All below it have
//! copied, so the flusher gets to `start`; and a record fits the ring.
//!
//! The slot of an append that failed in A3 (the log is poisoned) stays at `start`: the flusher never passes it.
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
    /// Bytes that rolling back would append, of what this appender has appended.
    undo_bytes: AtomicU64,
    taken: AtomicBool,
}

/// Which limit an append keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The lower one.
    Change,
    /// The higher one: the record rolls back or ends what is in the log already.
    Undo,
}

/// The end of the appended positions, and up to where it may move. Together, because an append needs both.
struct Frontier {
    next: AtomicU64,
    limits: [AtomicU64; 2],
}

/// The numbers of a ring.
pub(super) struct Order {
    capacity: u64,
    /// Whether appends may be refused soon.
    is_scarce: AtomicBool,
    head: Padded<Frontier>,
    tail: Padded<AtomicU64>,
    slots: Box<[Padded<Slot>]>,
}

/// The right to append through one slot. There is at most one for each slot.
pub(super) struct RingSlot(usize);

impl Order {
    pub fn new(capacity: u64, start: u64, appenders: usize) -> Self {
        let slot = |_| {
            let (pending, limit) = (AtomicU64::new(IDLE), AtomicU64::new(0));
            Padded(Slot { pending, limit, undo_bytes: AtomicU64::new(0), taken: AtomicBool::new(false) })
        };
        let limits = [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)];
        let (head, tail) = (Padded(Frontier { next: AtomicU64::new(start), limits }), Padded(AtomicU64::new(start)));
        Self { capacity, is_scarce: AtomicBool::new(false), head, tail, slots: (0..appenders).map(slot).collect() }
    }

    /// Takes a free slot.
    pub fn take_slot(&self) -> Option<RingSlot> {
        let free = |slot: &Padded<Slot>| !slot.0.taken.swap(true, Ordering::Acquire);
        self.slots.iter().position(free).map(RingSlot)
    }

    /// Frees a slot. One whose append failed in A3 stays taken.
    pub fn give_back(&self, slot: &mut RingSlot) {
        let slot = &self.slots[slot.0].0;
        slot.undo_bytes.store(0, Ordering::Relaxed);
        if slot.pending.load(Ordering::Relaxed) == IDLE {
            slot.taken.store(false, Ordering::Release);
        }
    }

    /// Where the next record will begin.
    pub fn head(&self) -> u64 {
        self.head.0.next.load(Ordering::Acquire)
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
        let head = self.head.0.next.load(Ordering::Acquire);
        let pending = self.slots.iter().map(|slot| slot.0.pending.load(Ordering::Acquire));
        pending.fold(head, u64::min).max(self.tail())
    }

    /// The position that appends of this purpose do not pass.
    pub fn limit(&self, purpose: Purpose) -> u64 {
        self.head.0.limits[purpose as usize].load(Ordering::Relaxed)
    }

    /// Whether there is little room below the limits.
    #[inline]
    pub fn is_scarce(&self) -> bool {
        self.is_scarce.load(Ordering::Relaxed)
    }

    /// Says whether there is.
    pub fn set_scarce(&self, is_scarce: bool) {
        if is_scarce != self.is_scarce() {
            self.is_scarce.store(is_scarce, Ordering::Relaxed);
        }
    }

    /// Sets both limits. Positions that were given away stay so, even beyond a lower limit.
    pub fn set_limits(&self, change: u64, undo: u64) {
        self.head.0.limits[Purpose::Change as usize].store(change, Ordering::Relaxed);
        self.head.0.limits[Purpose::Undo as usize].store(undo, Ordering::Relaxed);
    }

    /// Notes how many bytes rolling back would append, of what came through this slot.
    #[inline]
    pub fn set_undo_bytes(&self, slot: &mut RingSlot, bytes: u64) {
        self.slots[slot.0].0.undo_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that rolling back everything would append.
    pub fn undo_bytes(&self) -> u64 {
        self.slots.iter().map(|slot| slot.0.undo_bytes.load(Ordering::Relaxed)).sum()
    }

    /// A1 to A3: reserves `size` positions, which are the caller's alone until [`Order::finish`]. `raise_limit` is
    /// called when they would pass the limit of `purpose`, and returns when it is worth trying again. `wait_for(t)` is
    /// called when the ring is full, and returns when `tail >= t`. An error of either is passed on.
    #[inline]
    pub fn reserve<E>(
        &self,
        slot: &mut RingSlot,
        size: u64,
        purpose: Purpose,
        mut raise_limit: impl FnMut() -> Result<(), E>,
        wait_for: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        debug_assert!(size <= self.capacity);
        let slot = &self.slots[slot.0].0;
        let Frontier { next, limits } = &self.head.0;
        let mut start = next.load(Ordering::Relaxed);
        loop {
            if start + size > limits[purpose as usize].load(Ordering::Relaxed) {
                slot.pending.store(IDLE, Ordering::Release);
                raise_limit()?;
                start = next.load(Ordering::Relaxed);
                continue;
            }
            slot.pending.store(start, Ordering::Release);
            match next.compare_exchange(start, start + size, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(moved) => start = moved,
            }
        }
        if start + size > slot.limit.load(Ordering::Relaxed) {
            self.make_room(slot, start + size, wait_for)?;
        }
        Ok(start)
    }

    /// A4: what was reserved is copied.
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
