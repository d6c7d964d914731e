//! Latches: what keeps the bytes of a page whole while they are read or changed.
//!
//! A latch is physical and short. Nobody who holds one waits for a disk longer than one page takes, and nobody waits
//! for a lock; deadlocks are prevented by the order in which latches are taken (see [`super`]), so they are not looked
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
/// What is done while it is held happens before what is done by those who are kept out meanwhile. Whoever takes it
/// again while holding it may wait for ever.
pub(crate) trait Latch: Default + Send + 'static {
    /// Whether it keeps other threads out. If not, whoever uses it must see to it himself that what one thread fixed
    /// is not fixed twice.
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

    /// Whether nobody holds it, as far as it keeps anybody out. It may be otherwise by now.
    fn is_free(&self) -> bool;
}
