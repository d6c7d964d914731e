//! Memory: rows and index nodes side by side in one mapping per type.
//!
//! A cache miss in this mix is two misses if the translation of the page is not cached either: 5 warehouses are 350 MB,
//! or 85,000 pages of 4 KiB, but 170 of 2 MiB. So a [`Slab`] maps its whole address range at once, aligned to 2 MiB,
//! and asks for huge pages. It only grows, at its end, and never moves: a row's number ([`Row`]) is valid as long as
//! its slab, takes four bytes in an index, and becomes an address by one multiplication.
//!
//! `unsafe` rests on two facts. A `Row<T>` is only made by [`Slab::push`] (or by [`Row::known`], whose caller promises
//! the same), so it is below the slab's length; and no slab is indexed with the rows of another one, because a kernel
//! has one slab for each type and exposes no `Row`. Privacy ensures the second: everything here is visible inside the
//! kernel only.

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// The size of the machine's pages that hold the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// 4 KiB, even where the system would give more by itself.
    Small,
    /// 2 MiB where the system has them.
    Huge,
}

/// The number of a `T` in its slab: assigned by [`Slab::push`], ascending from 0, never reused.
pub struct Row<T>(u32, PhantomData<fn() -> T>);

impl<T> Clone for Row<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Row<T> {}

impl<T> Row<T> {
    /// The row of this number.
    ///
    /// # Safety
    /// `number` is below the length of the slab the row will be used on.
    #[inline(always)]
    pub(super) unsafe fn known(number: u32) -> Self {
        Self(number, PhantomData)
    }

    /// Its number.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// The row `by` places on.
    ///
    /// # Safety
    /// As for [`Row::known`].
    #[inline(always)]
    pub(super) unsafe fn plus(self, by: u32) -> Self {
        Self(self.0 + by, PhantomData)
    }
}

/// All values of one type, side by side, in the order in which they came.
pub(super) struct Slab<T> {
    base: NonNull<T>,
    len: u32,
    capacity: u32,
    mapping: NonNull<c_void>,
    mapped: usize,
    owns: PhantomData<T>,
}

impl<T: Copy> Slab<T> {
    /// An empty slab that reserves addresses for `capacity` values; memory is allocated when they are written.
    pub(super) fn new(capacity: usize, pages: Pages) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= HUGE) };
        let too_large =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("{capacity} rows are too many for a slab"));
        let capacity = u32::try_from(capacity).map_err(|_| too_large())?;
        let bytes = (capacity as usize).checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        let bytes = bytes.checked_next_multiple_of(HUGE).ok_or_else(too_large)?.max(HUGE);
        let mapped = bytes + HUGE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice overlaps no other memory.
        let mapping =
            unsafe { mmap_anonymous(ptr::null_mut(), mapped, access, MapFlags::PRIVATE | MapFlags::NORESERVE) }?;
        // SAFETY: `align_offset` of a byte pointer is below HUGE, and the mapping is longer than that.
        let start = unsafe { mapping.byte_add(mapping.cast::<u8>().align_offset(HUGE)) };
        let advice = match pages {
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: `bytes` bytes from `start` lie in the mapping just made; the advice changes no contents. A system
        // without huge pages refuses it, and the data then lies on small ones: slower, never wrong.
        let _ = unsafe { madvise(start, bytes, advice) };
        let (Some(base), Some(mapping)) = (NonNull::new(start.cast::<T>()), NonNull::new(mapping)) else {
            unreachable!("the system never maps page zero unasked");
        };
        Ok(Self { base, len: 0, capacity, mapping, mapped, owns: PhantomData })
    }

    /// Adds a value at the end.
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) -> Row<T> {
        self.push_each::<1>(|_| value)
    }

    /// Adds `N` values at the end. Returns the row of the first; the others follow it.
    #[inline(always)]
    pub(super) fn push_each<const N: usize>(&mut self, mut value: impl FnMut(usize) -> T) -> Row<T> {
        let first = self.len;
        assert!(self.capacity - first >= N as u32, "the kernel was sized for fewer rows: raise its Sizing");
        for i in 0..N {
            // SAFETY: `first + N` is at most the capacity, for which the mapping has room.
            unsafe { self.base.add(first as usize + i).write(value(i)) };
        }
        self.len = first + N as u32;
        Row(first, PhantomData)
    }

    /// Has the system allocate the memory of the next `more` values now, rather than at the first access to each page.
    pub(super) fn touch(&self, more: usize) {
        let to = (self.len as usize + more).min(self.capacity as usize) * size_of::<T>();
        let from = (self.len as usize * size_of::<T>()).next_multiple_of(HUGE);
        if from < to {
            // SAFETY: the range lies in the mapping, and the advice changes no contents. A system that does not know it
            // refuses it.
            let _ = unsafe { madvise(self.base.as_ptr().byte_add(from).cast(), to - from, Advice::LinuxPopulateWrite) };
        }
    }

    /// The value at `row`.
    #[inline(always)]
    pub(super) fn get(&self, row: Row<T>) -> &T {
        debug_assert!(row.0 < self.len);
        // SAFETY: rows are below the length (see above), and all below the length is written.
        unsafe { self.base.add(row.0 as usize).as_ref() }
    }

    /// The value at `row`, to be changed.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, row: Row<T>) -> &mut T {
        debug_assert!(row.0 < self.len);
        // SAFETY: as in `get`; and `self` is borrowed alone.
        unsafe { self.base.add(row.0 as usize).as_mut() }
    }

    /// Prefetches the cache line at byte `offset` of `row`.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: Row<T>, offset: usize) {
        prefetch(self.base.as_ptr().wrapping_add(row.0 as usize).wrapping_byte_add(offset));
    }

    /// All values, in the order of their rows.
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: the values from `base` up to the length are written and not borrowed for change.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len as usize) }
    }
}

/// Has the system provide so many bytes of memory, and releases them, so that the next allocation gets them at once.
///
/// # Errors
/// When the system refuses the memory.
pub fn touch_and_release(bytes: usize) -> io::Result<()> {
    let lines = bytes.div_ceil(64);
    Slab::<[u8; 64]>::new(lines, Pages::Huge).map(|slab| slab.touch(lines))
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        // SAFETY: the slab made this mapping, and nothing borrows from it any more. A failure would leak it, no more.
        let _ = unsafe { munmap(self.mapping.as_ptr(), self.mapped) };
    }
}

/// Prefetches the cache line of `at`. It is a hint: no address is invalid.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86-64, and a prefetch of any address has no effect but time.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
