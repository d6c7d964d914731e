//! Batches of reads by io_uring.
//!
//! Each thread has a ring of its own, made for its first batch: then no lock is needed, and the kernel does the work of
//! completions only while the thread waits for them. A batch is handed over and waited for by one system call.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use io_uring::{IoUring, opcode, types};

use super::batched_reads::{failure, read_one};
use super::files::ReadRequest;
use rustix::io::Errno;

/// Reads of a ring at the same time.
const ENTRIES: usize = 64;
/// The pause after a failed wait.
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static RING: RefCell<ThreadRing> = const { RefCell::new(ThreadRing::Untried) };
}

enum ThreadRing {
    Untried,
    Refused,
    Open(Box<IoUring>),
}

fn ring() -> io::Result<IoUring> {
    let entries = ENTRIES as u32;
    // Since Linux 6.1.
    let tuned = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    tuned.or_else(|_| IoUring::new(entries))
}

/// Whether the system gives this thread a ring.
pub(super) fn is_allowed() -> bool {
    ring().is_ok()
}

/// Does all of these reads of a file; false if this thread gets no ring, and nothing has happened.
pub(super) fn read(file: BorrowedFd<'_>, path: &Path, reads: &mut [ReadRequest<'_>]) -> bool {
    RING.with_borrow_mut(|state| {
        if let ThreadRing::Untried = state {
            *state = ring().map_or(ThreadRing::Refused, |ring| ThreadRing::Open(Box::new(ring)));
        }
        let ThreadRing::Open(ring) = state else { return false };
        reads.chunks_mut(ENTRIES).for_each(|batch| read_batch(ring, file, path, batch));
        true
    })
}

/// At most as many reads as the ring has entries. Does not return while the kernel may still write to a buffer.
fn read_batch(ring: &mut IoUring, file: BorrowedFd<'_>, path: &Path, reads: &mut [ReadRequest<'_>]) {
    let descriptor = types::Fd(file.as_raw_fd());
    for (at, read) in reads.iter_mut().enumerate() {
        let length = u32::try_from(read.buffer.len()).expect("a read is shorter than 4 GiB");
        let entry = opcode::Read::new(descriptor, read.buffer.as_mut_ptr(), length).offset(read.offset).build();
        // SAFETY: the buffer is borrowed mutably by `reads`, and this function ends only when all entries are complete;
        // the file is open as long as it is borrowed.
        let pushed = unsafe { ring.submission().push(&entry.user_data(at as u64)) };
        pushed.expect("the ring is empty, and has room for a batch");
    }
    let mut left = reads.len();
    loop {
        for done in ring.completion() {
            left -= 1;
            let ReadRequest { offset, buffer, result } = &mut reads[done.user_data() as usize];
            *result = match done.result() {
                got if got >= 0 => Ok(got as usize),
                error => Err(Errno::from_raw_os_error(-error)),
            }
            .or_else(|error| match error {
                // As if nothing had been read yet.
                Errno::INTR | Errno::AGAIN => Ok(0),
                error => Err(failure(path, error)),
            })
            .and_then(|got| {
                // A short read is continued; at the end of the file that finds nothing more.
                let more = read_one(file, path, &mut buffer[got..], *offset + got as u64)?;
                Ok(got + more)
            });
        }
        if left == 0 {
            return;
        }
        match ring.submit_and_wait(left) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // No memory for a request, perhaps: what was handed over must be waited for, in any case.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
