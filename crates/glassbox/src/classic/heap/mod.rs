//! Heap files: records in no order, each found by its record id.
//!
//! Problem: indexes, locks and the log name records, so a record must keep its name while others beside it come, go and
//! move. Naming it by its offset would be the least code, but then nothing could ever be moved to join free room. So
//! pages are slotted ([`slotted`]; Gray and Reuter 1993, §14.3.1): the name is the page and the slot, and the slot says
//! where the bytes are.
//!
//! **Ghosts.** A transaction that deletes a record may still be rolled back, and then the record must find its slot and
//! its room again, whatever others did in the page meanwhile. So a deleted record stays, marked as a ghost: no
//! reader is given it, but slot and bytes are kept. Whether the deleting transaction has ended is what the lock of
//! the record says; so an insert that could use a ghost's place asks its caller, who tries to take that lock without
//! waiting ([`HeapFile::insert`]). The same question is asked about a slot that was never used, so that the new record
//! is locked before any other transaction can see it. An undone insert leaves a ghost, too.
//!
//! **Where to insert.** A list of pages tells which pages the file has and which of them have room ([`list`]). Reading
//! it at each insert would make all inserts wait for one page. So what it says is kept in memory too ([`room`]), with a
//! few target pages: an insert takes the first target whose latch it gets without waiting. One thread so fills one page
//! after the other, and as many threads as collide use as many pages. What the list says about room is a hint: a wrong
//! one costs a visit in vain, or room that is found again when more records of the page are deleted. It is logged
//! nevertheless, to be as true after a crash as before, and so that redo gives the same bytes; it changes only when a
//! page becomes full or has an eighth of its slots free again, so that costs little.
//!
//! Rejected: giving heap pages back to the space map when they hold only ghosts. A stale record id could then name
//! a page of another store.

mod change;
mod difference;
mod file;
mod insert;
mod list;
mod room;
mod rows;
mod slotted;
#[cfg(test)]
mod tests;

pub(crate) use change::HeapChange;
#[cfg(test)]
pub(crate) use difference::next as next_range;
pub(crate) use file::HeapFile;
pub(crate) use list::ListChange;
pub(crate) use rows::OnPage;
