//! The order of the ring: the position of each append, and the end of the positions that are all copied.
//!
//! Problem: many threads append at once, records must be in one order without holes, and a thread that appends must not
//! wait for another. With a lock around the copy, all would wait for a thread that was descheduled inside it. So
//! reserving and copying are separate: one atomic exchange of `head` reserves `[start, end)`, then the record is
//! copied. The positions below `head` may still have holes; the flusher must know the end of the part without holes.
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
//! *No position at or above its limit is reserved.* A2 compares and exchanges in one step, so concurrent appends cannot
//! pass the limit together. Below the limit the disk certainly has room (see `room`). A second, higher limit is for
//! records that roll back earlier ones.
//!
//! *No needed byte is overwritten.* A3 reads `tail` with Acquire; the flusher stores it with Release when it has
//! finished with the bytes below.
//!
//! *No append waits for ever.* Consider the appender with the lowest `start` of those that wait in A3. All records
//! below it are copied, so the flusher reaches `start`; and a record fits the ring.
//!
//! The slot of an append that failed in A3 (the log is poisoned) stays at `start`: the flusher never passes it.
//!
//! This file moves no bytes, so that the argument can be checked by trying every interleaving and every value the
//! memory model allows: `tests/interleavings.rs`.

#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::prefetch::Padded;

/// `pending` of an appender that is not copying.
const IDLE: u64 = u64::MAX;

struct OrderSlot {
    pending: AtomicU64,
    /// Cached lower bound of `tail + capacity`, so that the appender reads `tail`, which every flush moves, only when
    /// the bound is reached. Used by the appender alone.
    limit: AtomicU64,
    /// Bytes that a rollback of this appender's records would append.
    undo_bytes: AtomicU64,
    taken: AtomicBool,
}

/// Which limit applies to an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The lower limit.
    Change,
    /// The higher limit: the record rolls back earlier ones, or ends their transaction.
    Undo,
}

/// The end of the appended positions, and the limits up to which it may move. Together, because an append needs both.
struct Frontier {
    next: AtomicU64,
    limits: [AtomicU64; 2],
}

/// The positions of a ring: `head`, `tail`, limits and slots.
pub(super) struct Order {
    capacity: u64,
    /// Whether appends may be refused soon.
    is_scarce: AtomicBool,
    head: Padded<Frontier>,
    tail: Padded<AtomicU64>,
    slots: Box<[Padded<OrderSlot>]>,
}

/// The right to append through one slot. There is at most one for each slot.
pub(super) struct RingSlot(usize);

impl Order {
    pub fn new(capacity: u64, start: u64, appenders: usize) -> Self {
        let slot = |_| {
            let (pending, limit) = (AtomicU64::new(IDLE), AtomicU64::new(0));
            Padded(OrderSlot { pending, limit, undo_bytes: AtomicU64::new(0), taken: AtomicBool::new(false) })
        };
        let limits = [AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)];
        let (head, tail) = (Padded(Frontier { next: AtomicU64::new(start), limits }), Padded(AtomicU64::new(start)));
        Self { capacity, is_scarce: AtomicBool::new(false), head, tail, slots: (0..appenders).map(slot).collect() }
    }

    /// Reserves a free slot.
    pub fn take_slot(&self) -> Option<RingSlot> {
        let free = |slot: &Padded<OrderSlot>| !slot.0.taken.swap(true, Ordering::Acquire);
        self.slots.iter().position(free).map(RingSlot)
    }

    /// Releases a slot. One whose append failed in A3 stays reserved.
    pub fn give_back(&self, slot: &mut RingSlot) {
        let slot = &self.slots[slot.0].0;
        slot.undo_bytes.store(0, Ordering::Relaxed);
        if slot.pending.load(Ordering::Relaxed) == IDLE {
            slot.taken.store(false, Ordering::Release);
        }
    }

    /// Start of the next record.
    pub fn head(&self) -> u64 {
        self.head.0.next.load(Ordering::Acquire)
    }

    /// End of the durable positions, whose room in the ring is free.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// Frees the room below `to`, called by the flusher once those bytes are durable.
    pub fn advance_tail(&self, to: u64) {
        debug_assert!(to >= self.tail());
        self.tail.0.store(to, Ordering::Release);
    }

    /// End of the positions below which everything is copied (F1, F2).
    pub fn complete(&self) -> u64 {
        let head = self.head.0.next.load(Ordering::Acquire);
        let pending = self.slots.iter().map(|slot| slot.0.pending.load(Ordering::Acquire));
        pending.fold(head, u64::min).max(self.tail())
    }

    /// The limit of appends with this purpose.
    pub fn limit(&self, purpose: Purpose) -> u64 {
        self.head.0.limits[purpose as usize].load(Ordering::Relaxed)
    }

    /// Whether there is little room below the limits: appends may soon be refused.
    #[inline]
    pub fn is_scarce(&self) -> bool {
        self.is_scarce.load(Ordering::Relaxed)
    }

    /// Records whether room is scarce.
    pub fn set_scarce(&self, is_scarce: bool) {
        if is_scarce != self.is_scarce() {
            self.is_scarce.store(is_scarce, Ordering::Relaxed);
        }
    }

    /// Sets both limits. Reserved positions stay reserved, even beyond a lower limit.
    pub fn set_limits(&self, change: u64, undo: u64) {
        self.head.0.limits[Purpose::Change as usize].store(change, Ordering::Relaxed);
        self.head.0.limits[Purpose::Undo as usize].store(undo, Ordering::Relaxed);
    }

    /// Records how many bytes a rollback of this slot's records would append.
    #[inline]
    pub fn set_undo_bytes(&self, slot: &mut RingSlot, bytes: u64) {
        self.slots[slot.0].0.undo_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that a rollback of all active transactions would append.
    pub fn undo_bytes(&self) -> u64 {
        self.slots.iter().map(|slot| slot.0.undo_bytes.load(Ordering::Relaxed)).sum()
    }

    /// A1 to A3: reserves `size` positions for the caller alone until [`Order::finish`]. If they would pass the limit
    /// of `purpose`, it calls `raise_limit`, which returns when another attempt is worthwhile. If the ring is full, it
    /// calls `wait_for(t)`, which returns when `tail >= t`. An error of either is returned.
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

    /// A4: the reserved positions are copied.
    #[inline]
    pub fn finish(&self, slot: &mut RingSlot) {
        self.slots[slot.0].0.pending.store(IDLE, Ordering::Release);
    }

    #[cold]
    fn make_room<E>(&self, slot: &OrderSlot, end: u64, wait_for: impl FnOnce(u64) -> Result<(), E>) -> Result<(), E> {
        if self.tail() + self.capacity < end {
            wait_for(end - self.capacity)?;
        }
        let limit = self.tail() + self.capacity;
        assert!(end <= limit, "no room after waiting for it");
        slot.limit.store(limit, Ordering::Relaxed);
        Ok(())
    }
}
