//! Batches of reads by io_uring.
//!
//! Each thread has a ring of its own, made for its first batch: then no lock is needed, and the kernel does the work of
//! completions only while the thread waits for them. A batch is handed over and waited for by one system call.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, types};

use super::batched_reads::read_one;
use super::files::ReadRequest;

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

/// Whether the system gives this thread a ring that can read.
pub(super) fn is_allowed() -> bool {
    let mut known = Probe::new();
    let probed = ring().and_then(|ring| ring.submitter().register_probe(&mut known));
    probed.is_ok() && known.is_supported(opcode::Read::CODE)
}

/// Does all of these reads of a file; false if this thread gets no ring that works: then all are still to be done.
pub(super) fn read(file: BorrowedFd<'_>, path: &Path, reads: &mut [ReadRequest<'_>]) -> bool {
    RING.with_borrow_mut(|state| {
        if let ThreadRing::Untried = state {
            *state = ring().map_or(ThreadRing::Refused, |ring| ThreadRing::Open(Box::new(ring)));
        }
        let ThreadRing::Open(ring) = state else { return false };
        let done = reads.chunks_mut(ENTRIES).all(|batch| read_batch(ring, file, path, batch));
        if !done {
            *state = ThreadRing::Refused;
        }
        done
    })
}

/// At most as many reads as the ring has entries; false if the kernel took none of them. Does not return while it may
/// still write to a buffer.
fn read_batch(ring: &mut IoUring, file: BorrowedFd<'_>, path: &Path, reads: &mut [ReadRequest<'_>]) -> bool {
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
            // After an error or a short read the rest is read alone, which says what the matter is; at the end of the
            // file it finds nothing more.
            let got = usize::try_from(done.result()).unwrap_or(0);
            *result = read_one(file, path, &mut buffer[got..], *offset + got as u64).map(|more| got + more);
        }
        if left == 0 {
            return true;
        }
        match ring.submit_and_wait(left) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) if left == reads.len() && ring.submission().len() == left => return false,
            // Reads that were handed over must be waited for, in any case.
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
