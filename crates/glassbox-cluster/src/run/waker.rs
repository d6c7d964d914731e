//! How another thread wakes one that sleeps in `poll`: with a byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The side of who sleeps.
#[derive(Debug)]
pub(super) struct Woken {
    /// Can be read from when it is to wake.
    pub(super) stream: UnixStream,
    was: bool,
}

/// Both sides; the other one wakes.
pub(super) fn waker() -> std::io::Result<(Woken, impl Fn() + Send + 'static)> {
    let (writes, stream) = UnixStream::pair()?;
    writes.set_nonblocking(true)?;
    stream.set_nonblocking(true)?;
    // Full: it has been woken and has not looked yet.
    Ok((Woken { stream, was: false }, move || drop((&writes).write(&[0]))))
}

impl Woken {
    /// Takes what was sent.
    pub(super) fn hear(&mut self) {
        // More than this wakes it once more.
        self.was |= matches!(self.stream.read(&mut [0; 64]), Ok(1..));
    }

    /// Whether it was woken since this was asked before.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.was)
    }
}
