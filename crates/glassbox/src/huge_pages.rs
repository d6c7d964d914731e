//! Prefaults huge pages in the background, and knows the size of the machine's memory.
//!
//! The system allocates and zeroes a page at its first access. The transaction that inserts the first row of a huge
//! page would wait until two mebibytes are zeroed: 0.1 to 2 ms, when a transaction takes 2 us, and a fifth of all time
//! where rows are only added. So an allocator requests the next huge pages when it begins one, and a background thread
//! has the system make them present. If the thread is late or its list is full, the page fault happens at the first
//! access as usual.
//!
//! One thread serves all databases of the process. It starts with the first database, sleeps while there are no
//! requests, and never ends.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, Once, PoisonError};
use std::time::Duration;

use rustix::mm::{Advice, madvise};

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Memory is present ahead by one part in this many of the memory in use: early enough on a busy machine.
const AHEAD: usize = 16;

/// Maximum bytes present ahead.
const MAX_AHEAD_BYTES: usize = 16 * HUGE_PAGE_BYTES;

/// Maximum pending requests: as many regions as several databases may begin at about the same time.
const MAX_ASKED: usize = 256;

/// Assumed where the system does not report its memory.
const UNKNOWN_MEMORY_BYTES: usize = 16 << 30;

/// The machine's memory, read once: a simulator needs it thousands of times a second.
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

/// Whether an allocation of this many bytes would succeed now. The memory is not touched.
pub(crate) fn would_give(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// Requested addresses, the latest last.
static ASKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static MORE: Condvar = Condvar::new();
static STARTED: Once = Once::new();

/// Starts the thread unless it runs. The first request does not start it, because a transaction must not allocate.
pub(crate) fn start() {
    STARTED.call_once(|| {
        ASKED.lock().unwrap_or_else(PoisonError::into_inner).reserve(MAX_ASKED);
        // Without the thread, pages become present at their first access.
        let _ = std::thread::Builder::new().name("glassbox-memory".to_owned()).spawn(work);
    });
}

/// The end of the memory that should be present, aligned to huge pages, when memory up to `used` is in use.
pub(crate) fn until(used: usize) -> usize {
    (used / AHEAD).min(MAX_AHEAD_BYTES).saturating_add(used).next_multiple_of(HUGE_PAGE_BYTES)
}

/// Requests the huge page at this address.
pub(crate) fn ask(address: usize) {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    // The list has its capacity from the start and never grows.
    if asked.len() < asked.capacity() {
        asked.push(address);
        PENDING.store(true, Ordering::Relaxed);
        MORE.notify_one();
    }
}

/// Whether pages are requested and not present yet.
static PENDING: AtomicBool = AtomicBool::new(false);
/// Whether threads called [`assist`] a moment ago.
static ASSISTED: AtomicBool = AtomicBool::new(false);
/// How long the background thread leaves requests to threads that assist.
const ASSISTED_FOR: Duration = Duration::from_millis(5);

/// Makes a requested page present, if there is one. To be called, now and then, by a thread that holds nothing that
/// others wait for, where all cores are busy: the background thread would suspend a thread that does.
#[inline]
pub(crate) fn assist() {
    if !ASSISTED.load(Ordering::Relaxed) {
        ASSISTED.store(true, Ordering::Relaxed);
    }
    if PENDING.load(Ordering::Relaxed) {
        make_next_present();
    }
}

#[cold]
fn make_next_present() {
    let next = {
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (!asked.is_empty()).then(|| asked.remove(0));
        PENDING.store(!asked.is_empty(), Ordering::Relaxed);
        next
    };
    next.into_iter().for_each(make_present);
}

fn work() {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if !asked.is_empty() && ASSISTED.swap(false, Ordering::Relaxed) {
            let wait = MORE.wait_timeout_while(asked, ASSISTED_FOR, |asked| !asked.is_empty());
            asked = wait.unwrap_or_else(PoisonError::into_inner).0;
        } else if !asked.is_empty() {
            // Oldest first: it is needed first.
            let address = asked.remove(0);
            PENDING.store(!asked.is_empty(), Ordering::Relaxed);
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
    // SAFETY: this changes no contents of any memory. If the page was unmapped meanwhile, the system refuses, or makes
    // a later mapping of the same address present.
    let _ = unsafe { madvise(address as *mut c_void, HUGE_PAGE_BYTES, Advice::LinuxPopulateWrite) };
}
