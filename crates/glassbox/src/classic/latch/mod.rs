//! Latches: they keep the bytes of a page consistent while threads read or change them.
//!
//! A latch is physical and short. A holder does not wait for a disk longer than one page takes, nor for a lock at all;
//! the order in which latches are acquired (see [`super`]) prevents deadlocks, so there is no detection. There are many
//! latches, one for each frame, and nearly all are free nearly always: a latch must be small, and the acquisition of a
//! free one must be one atomic operation.
//!
//! A stack that runs on one thread needs no latches: [`NoLatch`]. The type, not a promise, keeps such a stack on one
//! thread.

#[cfg(all(loom, test))]
mod interleavings;
mod none;
mod read_write;
#[cfg(test)]
mod tests;

pub(crate) use none::NoLatch;
pub(crate) use read_write::ReadWriteLatch;

/// A latch, held shared by any number of threads, or exclusively by one. There are two: [`ReadWriteLatch`] and
/// [`NoLatch`].
///
/// The holder's accesses happen before those of the threads that it excluded. A thread that acquires it a second time
/// while holding it may wait for ever.
pub(crate) trait Latch: Default + Send + 'static {
    /// Whether it keeps other threads out. If not, its user must ensure that a page which one thread
    /// fixed is not fixed twice.
    const CONCURRENT: bool;

    /// Acquires it shared. Returns whether the thread waited.
    fn shared(&self) -> bool;

    /// Acquires it shared if that needs no wait; returns whether it did.
    fn try_shared(&self) -> bool;

    /// Acquires it exclusively. Returns whether the thread waited.
    fn exclusive(&self) -> bool;

    /// Acquires it exclusively if that needs no wait; returns whether it did.
    fn try_exclusive(&self) -> bool;

    /// Releases a shared latch.
    fn release_shared(&self);

    /// Releases an exclusive latch.
    fn release_exclusive(&self);

    /// Downgrades an exclusive latch to a shared one.
    fn downgrade(&self);

    /// Whether it is free, if it excludes threads at all. The answer may be outdated.
    fn is_free(&self) -> bool;
}
