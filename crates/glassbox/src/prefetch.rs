//! Prefetch instructions: cache lines are requested before they are needed.
//!
//! A lookup in memory is a chain of cache misses, each waiting for the one before. But the misses of *different*
//! lookups are independent, and sixteen of them together take as long as one. So a transaction that knows its keys
//! first prefetches all of them, one level at a time, and then runs. A prefetch is only a hint: a wrong address costs a
//! little bandwidth and never faults.

/// Bytes in a cache line.
pub(crate) const CACHE_LINE_BYTES: usize = 64;
/// A value with cache lines of its own (two: processors fetch them in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

/// So much of a row is prefetched at most: its front.
pub(crate) const MAX_ROW_BYTES: usize = 320;

/// Prefetches the cache line at `address` for reading.
#[inline(always)]
pub(crate) fn prefetch_read<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory in the sense of the language and faults at no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the cache line at `address` for writing: other cores give it up.
#[inline(always)]
pub(crate) fn prefetch_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `prefetch_read`; processors without the instruction do nothing.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches every cache line of the `bytes` bytes from `address`.
#[inline(always)]
pub(crate) fn prefetch_span<T>(address: *const T, bytes: usize) {
    let first = address.cast::<u8>();
    let mut offset = 0;
    while offset < bytes {
        prefetch_read(first.wrapping_add(offset));
        offset += CACHE_LINE_BYTES;
    }
    // A span that starts inside a line may end in one more line; a second prefetch of a line costs less than a test.
    if bytes > 0 {
        prefetch_read(first.wrapping_add(bytes - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_may_be_prefetched() {
        for address in [0, 1, 63, usize::MAX] {
            prefetch_read(address as *const u8);
            prefetch_span(address as *const u64, 0);
            prefetch_span(address as *const u64, 200);
        }
    }
}
