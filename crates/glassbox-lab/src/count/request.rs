//! Asking valgrind to begin and to end counting, from inside.
//!
//! Until then the program runs several times as fast as counted, which is what makes loading under valgrind bearable.
//! The instructions are those of valgrind's public header: rotations that add up to nothing, and an exchange of a
//! register with itself. Without valgrind they do nothing.

/// Callgrind's number for "begin counting", as its header has it: `'C' << 24 | 'T' << 16`, plus 4.
const START: u64 = 0x4354_0004;
/// Its number for "end counting".
const STOP: u64 = START + 1;

/// Its number for "write what was counted to a file of its own, and begin again at zero".
const DUMP: u64 = 0x4354_0000;

/// What the region is called, for callgrind. Nothing else's name may contain it.
pub(super) const REGION: &str = "counted_region";

/// Whether this processor's requests are known. Otherwise everything must be counted from the start.
pub(super) const KNOWN: bool = cfg!(target_arch = "x86_64");

/// Runs `work` as the region: under callgrind its instructions are counted, and written apart from those of other runs.
pub fn counting(work: &mut dyn FnMut()) {
    request(START);
    counted_region(work);
    request(STOP);
    request(DUMP);
}

/// Callgrind collects from this function's beginning to its end.
#[inline(never)]
fn counted_region(work: &mut dyn FnMut()) {
    work();
    // So that the call above is not the last thing and made a jump, which would end this function before it.
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
