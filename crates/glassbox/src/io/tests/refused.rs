//! Where the system refuses io_uring, threads read the same.

use std::io;

use crate::io::{BatchedReads, Files, RealFiles};

/// Runs this in a thread for which, and for whose children, the system refuses io_uring.
pub(crate) fn without_io_uring<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let refusing = || {
        refuse().unwrap();
        run()
    };
    std::thread::scope(|scope| scope.spawn(refusing).join().unwrap())
}

/// Installs a filter of system calls for this thread.
fn refuse() -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let call = libc::SYS_io_uring_setup as u32;
    let mut filter = [
        // The number of the call is what comes first.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: 1, k: call },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the call reads integers only.
    let alone = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its filter are valid until the call returns, which copies them.
    let filtered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if alone == 0 && filtered == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn threads_read_where_io_uring_is_refused() {
    let root = std::env::temp_dir().join(format!("glassbox-io-refused-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    without_io_uring(|| {
        let files = RealFiles::new(&root).unwrap();
        assert_eq!(files.batched_reads(), BatchedReads::Threads);
        super::behaves(&files);
    });
    std::fs::remove_dir_all(&root).unwrap();
}
