//! The machine's cores: on which one a thread runs.

#[cfg(not(target_os = "linux"))]
use std::sync::atomic::{AtomicU32, Ordering};

/// The core on which this thread runs.
#[cfg(target_os = "linux")]
#[inline(always)]
pub(crate) fn current_core() -> u32 {
    // SAFETY: it reads no memory of this program.
    unsafe { libc::sched_getcpu() }.cast_unsigned()
}

/// A number for this thread: where the operating system does not tell the core, threads keep theirs.
#[cfg(not(target_os = "linux"))]
pub(crate) fn current_core() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: u32 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    NUMBER.with(|number| *number % cores)
}

/// Keeps this thread on one core, where `threads` of the kind do not outnumber the cores; else the operating system
/// decides better.
pub(crate) fn keep_on_core(number: usize, threads: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if threads <= cores.len() {
        core_affinity::set_for_current(cores[number]);
    }
}
