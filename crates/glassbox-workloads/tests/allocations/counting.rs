//! An allocator that counts what the threads allocate that are watched.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what is allocated while the thread is watched.
struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if WATCHED.get() {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs code, watching it or looking away.
pub fn watched<O>(watch: bool, code: impl FnOnce() -> O) -> O {
    let before = WATCHED.replace(watch);
    let output = code();
    WATCHED.set(before);
    output
}

/// Allocations of this thread so far, while it was watched.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}
