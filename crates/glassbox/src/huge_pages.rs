//! Makes memory present before it is needed; knows how much there is.
//!
//! The system gives a page, zeroed, when it is first touched; so whoever inserts the row that is first on a huge page
//! waits until two mebibytes are zeroed: 0.1 to 2 ms, when a transaction takes 2 us, and a fifth of all time where rows
//! are only added. So who gives memory out asks for the next huge pages when he begins one, and a thread of the
//! process, which has nothing else to do, has the system make them present. Should it come too late, or the list be
//! full, the page is made when it is touched, as any other.
//!
//! One thread for all databases of the process, started with the first of them, never ended: it sleeps while nobody
//! asks.

use std::ffi::c_void;
use std::sync::{Condvar, LazyLock, Mutex, Once, PoisonError};

use rustix::mm::{Advice, madvise};

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The part of what is used, as one in so many, by which memory is present ahead: time enough on a busy machine.
const AHEAD: usize = 16;

/// But at most so much.
const MOST_AHEAD_BYTES: usize = 16 * HUGE_PAGE_BYTES;

/// Pages asked for and not made yet: as many as regions of several databases may begin at about the same time.
const MOST: usize = 256;

/// Assumed where the system does not say how much memory it has.
const UNKNOWN_MEMORY_BYTES: usize = 16 << 30;

/// The machine's memory; a simulator asks for it thousands of times a second.
static MEMORY_BYTES: LazyLock<usize> = LazyLock::new(|| {
    #[cfg(target_os = "linux")]
    let bytes = {
        let info = rustix::system::sysinfo();
        (info.totalram as usize).saturating_mul(info.mem_unit as usize)
    };
    #[cfg(not(target_os = "linux"))]
    let bytes = 0;
    if bytes == 0 { UNKNOWN_MEMORY_BYTES } else { bytes }
});

/// The machine's memory in bytes.
pub(crate) fn memory_bytes() -> usize {
    *MEMORY_BYTES
}

/// Whether the system would give a block of so many bytes at this moment. The block is not touched.
pub(crate) fn would_give(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// Addresses, the latest last.
static ASKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static MORE: Condvar = Condvar::new();
static STARTED: Once = Once::new();

/// Starts the thread, if it was not yet; not when it is first needed, for a transaction must not allocate.
pub(crate) fn start() {
    STARTED.call_once(|| {
        ASKED.lock().unwrap_or_else(PoisonError::into_inner).reserve(MOST);
        // Without the thread, pages are made when they are touched.
        let _ = std::thread::Builder::new().name("glassbox-memory".to_owned()).spawn(work);
    });
}

/// How far memory should be present when it is used up to `used`, all of which is present or soon will be: on a huge
/// page's end.
pub(crate) fn until(used: usize) -> usize {
    (used / AHEAD).min(MOST_AHEAD_BYTES).saturating_add(used).next_multiple_of(HUGE_PAGE_BYTES)
}

/// Asks for the huge page at this address.
pub(crate) fn ask(address: usize) {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    // The list has its room from the start.
    if asked.len() < asked.capacity() {
        asked.push(address);
        MORE.notify_one();
    }
}

fn work() {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if !asked.is_empty() {
            // The oldest first: it is needed first.
            let address = asked.remove(0);
            drop(asked);
            make_present(address);
            asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        } else {
            asked = MORE.wait(asked).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Has the system make the huge page at `address` present, zeroed, if nothing is there yet.
fn make_present(address: usize) {
    // SAFETY: this reads and writes no contents, whosever memory it is. It may have been given back: then the system
    // refuses, or what lies there now becomes present.
    let _ = unsafe { madvise(address as *mut c_void, HUGE_PAGE_BYTES, Advice::LinuxPopulateWrite) };
}
