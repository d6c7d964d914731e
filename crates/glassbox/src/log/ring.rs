//! The ring: where records wait for the disk.
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
//!   F2  complete = min(h, pending of every slot)   (Acquire)
//! ```
//!
//! *Everything below `complete` is copied, and the flusher sees it.* Take a record at `[start, end)` with
//! `start < complete`. Then `start < h`, so F1 read A2's addition or a later one; additions form one release sequence,
//! so A2, and A1 before it, happen before F2. F2 therefore reads from that slot A1's store or a later one. A1's and
//! A3's values are at most `start`, and the minimum would not have exceeded `start`: so F2 read A5's store or one that
//! follows it in the same slot. These are Release stores made after the copy, F2 is an Acquire load: the copy happens
//! before what the flusher does next. Values of `pending` and `head` are boundaries of records, so `complete` is one.
//!
//! *Nothing is overwritten that is still needed.* A4 reads `tail` with Acquire; the flusher stores it with Release when
//! it has finished with the bytes below.
//!
//! *Nobody waits for ever.* Of the appenders waiting in A4, take the one with the lowest `start`. All below it have
//! copied, so the flusher gets to `start`; and a record fits the ring. This is why A3 is there: with the lower bound
//! of A1 alone, others could reserve a whole ring between A1 and A2, and the record could wait for itself.
//!
//! The slot of an append that gave up in A4 (the log is poisoned) stays at `start`: the flusher never passes it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::format::{LENGTH_BYTES, framed};

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

pub(super) struct Ring {
    bytes: Box<[UnsafeCell<u8>]>,
    head: Padded<AtomicU64>,
    tail: Padded<AtomicU64>,
    slots: Box<[Padded<Slot>]>,
}

// SAFETY: `bytes` is written only through a `RingSlot`, in ranges that `head` gives to one append only, and read only
// below `complete` and not below `tail`, where no append writes: the argument above.
unsafe impl Sync for Ring {}

/// The right to append through one slot. There is at most one for each slot.
pub(super) struct RingSlot(usize);

impl Ring {
    /// A ring of `bytes` bytes, a power of two, whose first position is `start`.
    pub fn new(bytes: usize, start: u64, appenders: usize) -> Self {
        assert!(bytes.is_power_of_two());
        // Written, not only allocated, so that appending does not meet page faults. What is written is never read.
        let bytes = vec![0xa5_u8; bytes].into_iter().map(UnsafeCell::new).collect();
        let slot = |_| {
            let (pending, limit) = (AtomicU64::new(IDLE), AtomicU64::new(0));
            Padded(Slot { pending, limit, taken: AtomicBool::new(false) })
        };
        let (head, tail) = (Padded(AtomicU64::new(start)), Padded(AtomicU64::new(start)));
        Self { bytes, head, tail, slots: (0..appenders).map(slot).collect() }
    }

    pub fn capacity(&self) -> u64 {
        self.bytes.len() as u64
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
        debug_assert!(to <= self.complete());
        self.tail.0.store(to, Ordering::Release);
    }

    /// Below this, everything is copied (F1, F2).
    pub fn complete(&self) -> u64 {
        let head = self.head.0.load(Ordering::Acquire);
        let pending = self.slots.iter().map(|slot| slot.0.pending.load(Ordering::Acquire));
        pending.fold(head, u64::min)
    }

    /// Appends a record and returns the position behind it. `wait_for(t)` is called when there is no room and returns
    /// when `tail >= t`, or with an error if that will never be.
    #[inline]
    pub fn append<E>(
        &self,
        slot: &mut RingSlot,
        record: &[u8],
        wait_for: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let slot = &self.slots[slot.0].0;
        let size = framed(record.len()) as u64;
        debug_assert!(size <= self.capacity());
        slot.pending.store(self.head.0.load(Ordering::Relaxed), Ordering::Release);
        let start = self.head.0.fetch_add(size, Ordering::AcqRel);
        let end = start + size;
        slot.pending.store(start, Ordering::Release);
        if end > slot.limit.load(Ordering::Relaxed) {
            self.make_room(slot, end, wait_for)?;
        }
        let length = (record.len() as u32).to_le_bytes();
        // SAFETY: `[start, end)` was given to this append alone by the addition, and `end - tail <= capacity`, so no
        // other position of the ring that is in use shares its bytes.
        unsafe {
            self.copy(start, &length);
            self.copy(start + LENGTH_BYTES as u64, record);
            let written = start + (LENGTH_BYTES + record.len()) as u64;
            self.copy(written, &[0; 8][..(end - written) as usize]);
        }
        slot.pending.store(IDLE, Ordering::Release);
        Ok(end)
    }

    #[cold]
    fn make_room<E>(&self, slot: &Slot, end: u64, wait_for: impl FnOnce(u64) -> Result<(), E>) -> Result<(), E> {
        if self.tail() + self.capacity() < end {
            wait_for(end - self.capacity())?;
        }
        let limit = self.tail() + self.capacity();
        assert!(end <= limit, "no room after waiting for it");
        slot.limit.store(limit, Ordering::Relaxed);
        Ok(())
    }

    /// Copies `bytes` to position `at`, around the end of the ring if need be.
    ///
    /// # Safety
    /// The positions `[at, at + bytes.len())` belong to the caller, and nobody reads or writes them meanwhile.
    #[inline]
    unsafe fn copy(&self, at: u64, bytes: &[u8]) {
        let from = (at & (self.capacity() - 1)) as usize;
        let first = bytes.len().min(self.bytes.len() - from);
        let base = UnsafeCell::raw_get(self.bytes.as_ptr());
        // SAFETY: `from + first` and `bytes.len() - first` are at most the ring's length; the caller owns the
        // positions.
        unsafe {
            base.add(from).copy_from_nonoverlapping(bytes.as_ptr(), first);
            base.copy_from_nonoverlapping(bytes.as_ptr().add(first), bytes.len() - first);
        }
    }

    /// The bytes of the positions `[from, to)`, in two parts because they may go around the end of the ring.
    ///
    /// # Safety
    /// `tail <= from <= to <= complete`, and `tail` does not pass `from` while the slices live: the caller is the only
    /// flusher.
    pub unsafe fn slices(&self, from: u64, to: u64) -> (&[u8], &[u8]) {
        let length = (to - from) as usize;
        let start = (from & (self.capacity() - 1)) as usize;
        let first = length.min(self.bytes.len() - start);
        let base: *const u8 = UnsafeCell::raw_get(self.bytes.as_ptr());
        // SAFETY: both ranges lie in the ring. Everything there is copied (`to <= complete`) and no append writes
        // there before `tail` passes it.
        unsafe {
            (std::slice::from_raw_parts(base.add(start), first), std::slice::from_raw_parts(base, length - first))
        }
    }

    /// Positions that the record at `from` takes.
    ///
    /// # Safety
    /// As of [`Ring::slices`], and `from < to`.
    pub unsafe fn first_record(&self, from: u64) -> u64 {
        // SAFETY: a record has its length and is a multiple of 8 long, so all of this is below `complete`.
        let (first, second) = unsafe { self.slices(from, from + LENGTH_BYTES as u64) };
        let byte = |at: usize| if at < first.len() { first[at] } else { second[at - first.len()] };
        framed(u32::from_le_bytes(std::array::from_fn(byte)) as usize) as u64
    }

    /// The last boundary of records in `[from, to]` that is at most `from + most`.
    ///
    /// # Safety
    /// As of [`Ring::slices`].
    pub unsafe fn cut(&self, from: u64, to: u64, most: u64) -> u64 {
        if to - from <= most {
            return to;
        }
        // SAFETY: the caller's promise.
        let (first, second) = unsafe { self.slices(from, to) };
        let byte = |at: usize| if at < first.len() { first[at] } else { second[at - first.len()] };
        let mut at = 0;
        loop {
            let length = u32::from_le_bytes(std::array::from_fn(|i| byte(at + i)));
            let next = at + framed(length as usize);
            if next as u64 > most {
                return from + at as u64;
            }
            at = next;
        }
    }
}
