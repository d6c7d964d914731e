//! The classic engine: a conventional disk-based engine as Shore was, of parts that can be taken out.
//!
//! Rows are records in the slotted pages of heap files, found by B+-trees on pages; pages are brought to memory by a
//! buffer pool; every change of a page is a [`Change`](change::Change), logged before the page is written (ARIES, Mohan
//! et al. 1992); transactions lock what they read and write.
//!
//! The rooms below this one, lowest first. Each knows only those before it:
//!
//! ```text
//! ids, page                    numbers, and the header that all pages share
//! change, row_buffer           changes of pages that can be logged; room for one row of any type
//! latch, buffer                the buffer pool
//! space, heap, tree            the contents of pages: their owners, records, ordered keys
//! directory                    the heap files and trees of a database
//! lock                         locks of records
//! wal, recovery                the log's records; redo and undo after a crash
//! stack, engine, transaction   the components of an engine; sessions; runs of procedures
//! two_stage                    pages read and pinned before a transaction acquires locks
//! ```
//!
//! A latch is physical and short: it keeps the bytes of a page whole while they are read or changed. A lock is logical
//! and long: it keeps a transaction's records from others until it ends. A thread that holds a latch never waits for a
//! lock: the access methods ask their caller whether they may go on, release all latches when not, and restart.
//! The order in which latches are taken: a tree's pages from the root down and from left to right, then pages of heaps,
//! then those of the space map; so no circle of waits arises.

// Builds that try interleavings leave out most tests, and what only those use.
#![cfg_attr(any(loom, shuttle), allow(dead_code, unused_imports, unfulfilled_lint_expectations))]

pub(crate) mod buffer;
pub(crate) mod change;
pub(crate) mod directory;
pub(crate) mod engine;
pub(crate) mod heap;
pub(crate) mod ids;
pub(crate) mod latch;
pub(crate) mod lock;
pub(crate) mod page;
pub(crate) mod recovery;
mod row_buffer;
pub(crate) mod space;
pub(crate) mod stack;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transaction;
pub(crate) mod tree;
pub(crate) mod two_stage;
pub(crate) mod wal;

pub(crate) use buffer::{DOUBLE, PAGES, check_file, repair};
pub(crate) use directory::StoreKind;
pub(crate) use engine::Engine;
pub(crate) use engine::conversion::{StoredTable, store_name};
pub(crate) use engine::open::{OpenedVolume, PAGES_PER_SESSION};
pub(crate) use lock::{LockName, Wait, WaitEnd};
pub(crate) use page::is_page_size;
pub(crate) use stack::{Stack, StackLogs};
pub use two_stage::ExecutionClass;
pub(crate) use two_stage::{Closures, ProcedureStages, StageSums};
/// A transaction of a database.
pub(crate) type ClassicTransaction<'e> = transaction::StackTransaction<'e, stack::Standard>;
