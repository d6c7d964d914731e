//! The buffer pool: pages of a file in frames of memory.
//!
//! Problem: the database is larger than memory. A page must be in memory while it is used, and must not be written to
//! disk before the log of its changes. Most accessed pages are in memory already, so a lookup must cost very little.
//! The naive way is a table of pages behind a lock, with a list of the last used pages that every fix changes: then all
//! threads wait for the pool. Here:
//!
//! 1. A page in memory is found in an array by its number ([`table`]) and latched, which also pins it ([`frame`]): one
//!    atomic operation. No lock, no list, no hash.
//! 2. A missing page replaces another one, chosen by a clock ([`clock`]), and is read once for any number of waiting
//!    threads ([`fix`]).
//! 3. A dirty page is copied and written in a batch ([`clean`], [`batch`]): the log first, then a copy of each page to
//!    another file, then the pages in place, so that no crash leaves one torn ([`double`]). The frame stores the
//!    position from which the log is needed for its page; checkpoints collect these.
//! 4. A separate, optional thread writes dirty pages before their frames are needed ([`background`]).
//!
//! Invariants: a page is in at most one frame. While it is fixed, it stays in its frame. A dirty page is not evicted.
//! Every change on disk is described by the log on disk. After a crash and [`repair`], each page is whole: as written
//! by the last batch that was forced, or by the one before.
//!
//! If memory suffices for all pages, the pool can be left out: [`Resident`].
//!
//! Rejected: pointers to frames in place of page numbers inside pages (pointer swizzling; LeanStore, Leis et al. 2018):
//! faster, but then the pool must know the contents of pages. Memory mapping of the file: the system writes pages at
//! any time, against the write-ahead rule. A hash table for pages: numbers are dense.

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
#[cfg(test)]
mod tests;
mod volume;
mod write_ahead;

pub(crate) use background::BackgroundWriter;
pub(crate) use double::{DOUBLE, repair};
pub(crate) use pool::PoolStats;
pub(crate) use pool::{BufferPool, PoolConfig, SessionRead};
pub(crate) use resident::Resident;
pub(crate) use simulate::Simulated;
pub(crate) use volume::{PAGES, check_file};
pub(crate) use write_ahead::{NoWriteAhead, WriteAhead};
