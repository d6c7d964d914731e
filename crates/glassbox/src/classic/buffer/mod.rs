//! The buffer pool: pages of a file in frames of memory.
//!
//! Problem: the database is larger than memory, a page must be in memory to be used, must stay there while it is, and
//! must not reach the disk before the log that explains it; and most pages that are wanted are in memory already, so
//! finding one must cost next to nothing. The naive way is a table of pages behind a lock, in which every fix looks and
//! changes a list of what was used last: then the pool is what all threads wait for. Here:
//!
//! 1. A page in memory is found in an array by its number ([`table`]) and latched, which also keeps it where it is
//!    ([`frame`]): one atomic operation. No lock, no list, no hash.
//! 2. A page that is missing takes the frame of another, chosen by a clock ([`clock`]), and is read once however many
//!    want it ([`fix`]).
//! 3. A dirty page is copied and written in a batch ([`clean`], [`batch`]): the log first, then a copy of each page to
//!    another file, then the pages in place, so that no crash leaves one torn ([`double`]). The frame knows from where
//!    on the log is needed for it, and checkpoints ask for that.
//! 4. Writing ahead of need is left to a thread of its own ([`background`]), which a pool can do without.
//!
//! Invariants: a page is in at most one frame. While it is fixed, it stays in its frame. A page that is not on disk as
//! it is in memory does not leave memory. Every change on disk is described by the log on disk. After a crash and
//! [`repair`], each page is whole: as written by the last batch that was forced, or by the one before.
//!
//! Where memory suffices for everything, the pool can be taken out: [`Resident`].
//!
//! Rejected: pointers to frames in place of page numbers inside pages (pointer swizzling; LeanStore, Leis et al. 2018):
//! quicker still, but then the pool must know what pages mean. Memory mapping of the file: the system writes pages when
//! it likes, and the write-ahead rule cannot be kept. A hash table for pages: numbers are dense.

mod background;
mod batch;
mod clean;
mod clock;
mod double;
mod fix;
mod frame;
mod frames;
mod guard;
mod memory;
mod pool;
mod resident;
mod simulate;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod volume;
mod write_ahead;

pub(crate) use background::BackgroundWriter;
pub(crate) use double::{DOUBLE, repair};
pub(crate) use pool::{BufferPool, PoolConfig};
pub(crate) use resident::Resident;
pub(crate) use simulate::Simulated;
pub(crate) use stats::PoolStats;
pub(crate) use volume::{PAGES, check_file};
pub(crate) use write_ahead::{NoLog, WriteAhead};
