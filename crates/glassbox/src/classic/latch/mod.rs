//! Latches: what keeps the bytes of a page whole while they are read or changed.
//!
//! A latch is physical and short. A holder does not wait for a disk longer than one page takes, nor for a lock
//! at all; deadlocks are prevented by the order in which latches are taken (see [`super`]), so they are not looked
//! for. There are many latches, one for each frame, and nearly all of them are free nearly always: a latch must be
//! small, and taking a free one must be one atomic operation.
//!
//! A stack that runs on one thread needs none: [`NoLatch`]. That such a stack stays on one thread is not a promise but
//! a property of the type.

#[cfg(all(loom, test))]
mod interleavings;
mod none;
mod read_write;
#[cfg(test)]
mod tests;

pub(crate) use none::NoLatch;
pub(crate) use read_write::ReadWriteLatch;

/// Held shared by any number, or exclusively by one. There are two: [`ReadWriteLatch`] and [`NoLatch`].
///
/// The holder's accesses happen before those of the threads that it excluded. A thread that acquires it a second time
/// while holding it may wait for ever.
pub(crate) trait Latch: Default + Send + 'static {
    /// Whether it keeps other threads out. If not, its user must ensure that a page which one thread
    /// fixed is not fixed twice.
    const CONCURRENT: bool;

    /// Takes it to read. Says whether that meant waiting.
    fn shared(&self) -> bool;

    /// Takes it to read unless that means waiting; says whether it was taken.
    fn try_shared(&self) -> bool;

    /// Takes it to change. Says whether that meant waiting.
    fn exclusive(&self) -> bool;

    /// Takes it to change unless that means waiting; says whether it was taken.
    fn try_exclusive(&self) -> bool;

    /// Lets go of what was taken to read.
    fn release_shared(&self);

    /// Lets go of what was taken to change.
    fn release_exclusive(&self);

    /// Goes on reading what was taken to change.
    fn downgrade(&self);

    /// Whether it is free, as far as it excludes threads at all. It may be otherwise by now.
    fn is_free(&self) -> bool;
}
