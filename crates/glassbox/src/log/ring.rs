//! The ring: records in memory, appended and not yet on disk.
//!
//! Bytes in memory, addressed by position modulo a power of two. [`Order`] gives positions to appends; this file rests
//! on the argument there and copies the records.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use super::format::{LENGTH_BYTES, framed};
use super::order::{Order, Purpose, RingSlot};

pub(super) struct Ring {
    /// Written before they are read.
    bytes: Box<[MaybeUninit<UnsafeCell<u8>>]>,
    order: Order,
}

// SAFETY: `bytes` is written only between `reserve` and `finish`, in positions that `Order` gives to one append only,
// and read only below `complete` and not below `tail`, where no append writes.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of `bytes` bytes, a power of two, whose first position is `start`. `prefault`: its memory is present at
    /// once.
    pub fn new(bytes: usize, prefault: bool, start: u64, appenders: usize) -> Self {
        assert!(bytes.is_power_of_two() && bytes >= 8 && start.is_multiple_of(8));
        let mut bytes = Box::new_uninit_slice(bytes);
        if prefault {
            // So that appends cause no page faults.
            bytes.fill_with(|| MaybeUninit::new(UnsafeCell::new(0xa5)));
        }
        let order = Order::new(bytes.len() as u64, start, appenders);
        Self { bytes, order }
    }

    pub fn capacity(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The positions of appends.
    #[inline(always)]
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Start of the next record.
    pub fn head(&self) -> u64 {
        self.order.head()
    }

    /// End of the durable positions, whose room in the ring is free.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.order.tail()
    }

    /// End of the positions below which everything is copied.
    pub fn complete(&self) -> u64 {
        self.order.complete()
    }

    /// Appends a record and returns the position after it. `raise_limit` and `wait_for` are as in [`Order::reserve`].
    #[inline(always)]
    pub fn append<E>(
        &self,
        slot: &mut RingSlot,
        record: &[u8],
        purpose: Purpose,
        raise_limit: impl FnMut() -> Result<(), E>,
        wait_for: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        let size = framed(record.len()) as u64;
        let start = self.order.reserve(slot, size, purpose, raise_limit, wait_for)?;
        // SAFETY: `[start, start + size)` belongs to this append alone, and is at most the ring's capacity beyond
        // `tail`, so no other position in use shares its bytes.
        unsafe { self.copy(start, start + size, record) };
        self.order.finish(slot);
        Ok(start + size)
    }

    /// Writes a framed record to the positions `[start, end)`, wrapping at the end of the ring.
    ///
    /// # Safety
    /// `end` is `start + framed(record.len())`, both multiples of 8; the positions belong to the caller, and no
    /// other thread reads or writes them meanwhile.
    #[inline]
    unsafe fn copy(&self, start: u64, end: u64, record: &[u8]) {
        let place = |at: u64| (at & (self.capacity() - 1)) as usize;
        let base: *mut u8 = UnsafeCell::raw_get(self.bytes.as_ptr().cast());
        let from = place(start + LENGTH_BYTES as u64);
        let first = record.len().min(self.bytes.len() - from);
        // SAFETY: eight bytes from a multiple of 8 do not wrap, so neither do the first four of them; `from + first`
        // and `record.len() - first` are at most the ring's length; the caller owns all the positions. The padding is
        // written first because its eight bytes may hold the end of the record, or all of a short one.
        unsafe {
            base.add(place(end - 8)).cast::<[u8; 8]>().write([0; 8]);
            base.add(place(start)).cast::<[u8; LENGTH_BYTES]>().write((record.len() as u32).to_le_bytes());
            base.add(from).copy_from_nonoverlapping(record.as_ptr(), first);
            if first < record.len() {
                base.copy_from_nonoverlapping(record.as_ptr().add(first), record.len() - first);
            }
        }
    }

    /// The bytes of the positions `[from, to)`, in two parts because they may wrap at the end of the ring.
    ///
    /// # Safety
    /// `tail <= from <= to <= complete`, and `tail` does not pass `from` while the slices live: the caller is the only
    /// flusher.
    pub unsafe fn slices(&self, from: u64, to: u64) -> (&[u8], &[u8]) {
        let length = (to - from) as usize;
        let start = (from & (self.capacity() - 1)) as usize;
        let first = length.min(self.bytes.len() - start);
        let base: *const u8 = UnsafeCell::raw_get(self.bytes.as_ptr().cast());
        // SAFETY: both ranges lie in the ring. Everything there is copied (`to <= complete`) and no append writes
        // there before `tail` passes it.
        unsafe {
            (std::slice::from_raw_parts(base.add(start), first), std::slice::from_raw_parts(base, length - first))
        }
    }

    /// Number of positions of the record at `from`.
    ///
    /// # Safety
    /// As for [`Ring::slices`], and `from < to`.
    pub unsafe fn first_record(&self, from: u64) -> u64 {
        // SAFETY: a record has its length and is a multiple of 8 long, so all of this is below `complete`.
        let (first, second) = unsafe { self.slices(from, from + LENGTH_BYTES as u64) };
        let byte = |at: usize| if at < first.len() { first[at] } else { second[at - first.len()] };
        framed(u32::from_le_bytes(std::array::from_fn(byte)) as usize) as u64
    }

    /// The last boundary of records in `[from, to]` that is at most `from + max_bytes`.
    ///
    /// # Safety
    /// As for [`Ring::slices`].
    pub unsafe fn cut(&self, from: u64, to: u64, max_bytes: u64) -> u64 {
        if to - from <= max_bytes {
            return to;
        }
        // SAFETY: the caller's promise.
        let (first, second) = unsafe { self.slices(from, to) };
        let byte = |at: usize| if at < first.len() { first[at] } else { second[at - first.len()] };
        let mut at = 0;
        loop {
            let length = u32::from_le_bytes(std::array::from_fn(|i| byte(at + i)));
            let next = at + framed(length as usize);
            if next as u64 > max_bytes {
                return from + at as u64;
            }
            at = next;
        }
    }
}
