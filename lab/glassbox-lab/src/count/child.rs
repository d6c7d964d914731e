//! The child of a measurement: what it is to run, and its requests to valgrind to begin and to end counting.
//!
//! Until the first request the program runs several times as fast as counted, which makes loading under valgrind
//! bearable. The instructions of a request are those of valgrind's public header: rotations that cancel each other, and
//! an exchange of a register with itself. Without valgrind they have no effect.

use glassbox_workloads::tpcc::Scale;
use std::path::PathBuf;

/// One system, and the transactions that are counted. `S` is the experiment's type of systems.
#[derive(Debug, Clone)]
pub struct Child<S> {
    /// The system.
    pub system: S,
    /// Size of the data.
    pub scale: Scale,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Counted transactions, of each workload if there are several.
    pub transactions: usize,
    /// Seed of the inputs.
    pub seed: u64,
    /// The parent directory of a database that keeps files.
    pub dir: PathBuf,
}

/// Callgrind's number for "start counting", as in its header: `'C' << 24 | 'T' << 16`, plus 4.
const START: u64 = 0x4354_0004;
/// Its number for "stop counting".
const STOP: u64 = START + 1;

/// Its number for "write the counts to a new file, and restart at zero".
const DUMP: u64 = 0x4354_0000;

/// The region's function, for callgrind. No other function's name may contain it.
pub(super) const REGION: &str = "counted_region";

/// Whether requests are implemented for this processor. Otherwise everything is counted from the start.
pub(super) const KNOWN: bool = cfg!(target_arch = "x86_64");

/// Runs `work` as the region: under callgrind its instructions are counted, and written to a file.
pub fn counting(work: &mut dyn FnMut()) {
    request(START);
    counted_region(work);
    request(STOP);
    request(DUMP);
}

/// Runs each of `work` as the region in a thread of its own, all at the same time; once in a child, as callgrind writes
/// what other threads than the first have counted when the child ends.
pub fn counting_threads(work: Vec<Box<dyn FnOnce() + Send + '_>>) {
    request(START);
    std::thread::scope(|scope| {
        for work in work {
            let mut work = Some(work);
            scope.spawn(move || counted_region(&mut || work.take().expect("it runs once")()));
        }
    });
    request(STOP);
}

/// Callgrind counts from the entry to the exit of this function.
#[inline(never)]
fn counted_region(work: &mut dyn FnMut()) {
    work();
    // Prevents a tail call, which would exit this function before `work`.
    std::hint::black_box(());
}

#[cfg(target_arch = "x86_64")]
fn request(number: u64) {
    let arguments = [number, 0, 0, 0, 0, 0];
    // SAFETY: the rotations sum to 128 bits and the exchange is of one register, so no register changes; under valgrind
    // `rdx` takes its answer, which is declared, and the six numbers at `rax` are read.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") 0_u64 => _,
            out("rdi") _,
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_number: u64) {}
