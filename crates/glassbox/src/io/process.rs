//! The process that opened a database: a child made by `fork` must not use it.
//!
//! Problem: a child of `fork` has a copy of the memory, but shares the files and the locks with its parent, and has
//! none of the parent's threads. A call in the child would write its records over the parent's, a drop would release
//! the parent's lock, and would wait for threads that do not exist. Asking the system for the process's number before
//! each call would cost a system call.
//!
//! So the C library counts forks: a handler that runs in each child, before `fork` returns there, adds one to
//! [`FORKS`]. An [`OpeningProcess`] keeps the count of its own process, and a comparison costs one load. The
//! [files of the system](super::RealFiles) compare before every operation, so that nothing in a child can reach them;
//! the database compares at the beginning of each call, so that a call in a child does not wait for locks of memory
//! that threads of the parent held at the fork.
//!
//! A lock of a file belongs to the open file, which parent and child share: the system releases it when the last copy
//! is closed, and a child would keep it after its parent's end. So the handler also closes the child's copies of the
//! locked files ([`LOCKED`]).
//!
//! Rejected: a page that the kernel wipes in children (`MADV_WIPEONFORK`) would also notice a `fork` that bypasses the
//! C library, but it closes no files. Such a child must not use the C library's threads and locks anyway.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Forks between the first process and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Descriptors of locked files; -1: none. A process with more locked files than this keeps the other locks in its
/// children until they end.
static LOCKED: [AtomicI32; 512] = [const { AtomicI32::new(-1) }; 512];

/// A process, as the opener of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpeningProcess {
    forks: u32,
    id: u32,
}

impl OpeningProcess {
    /// This process.
    ///
    /// # Panics
    /// When the C library has no memory for the handler of `fork`.
    pub(crate) fn current() -> Self {
        static REGISTERED: OnceLock<()> = OnceLock::new();
        REGISTERED.get_or_init(register);
        Self { forks: FORKS.load(Ordering::Relaxed), id: std::process::id() }
    }

    /// Whether this process is the one, and not a child of it.
    #[inline(always)]
    pub(crate) fn is_current(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.forks
    }

    /// Refuses a change of files that a parent of this process has opened.
    pub(super) fn check(self) -> Result<(), io::Error> {
        if self.is_current() { Ok(()) } else { Err(self.refusal()) }
    }

    #[cold]
    fn refusal(self) -> io::Error {
        io::Error::other(format!("process {} opened it, and this is a child of that; open it after the fork", self.id))
    }

    /// The number that the system gave it.
    pub(crate) fn id(self) -> u32 {
        self.id
    }
}

fn register() {
    // SAFETY: the handler runs in a child while that has one thread, and only stores atomics and closes files, which
    // the system allows there.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    assert_eq!(refused, 0, "the C library has no memory for a handler of fork");
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for locked in &LOCKED {
        let descriptor = locked.swap(-1, Ordering::Relaxed);
        if descriptor >= 0 {
            // SAFETY: the descriptor is a locked file's. Its owner in this copy of the memory sees that the process is
            // another one, and does not use or close it.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Has the children of this process close their copies of a locked file; false when there is no room to remember it.
pub(super) fn close_in_children(descriptor: i32) -> bool {
    let remember = |slot: &AtomicI32| slot.compare_exchange(-1, descriptor, Ordering::Relaxed, Ordering::Relaxed);
    LOCKED.iter().any(|slot| remember(slot).is_ok())
}

/// Ends that: to be called before the file is closed.
pub(super) fn keep_in_children(descriptor: i32) {
    let forget = |slot: &AtomicI32| slot.compare_exchange(descriptor, -1, Ordering::Relaxed, Ordering::Relaxed);
    let _ = LOCKED.iter().any(|slot| forget(slot).is_ok());
}
