//! What transactions write to the log, and how they undo their changes.
//!
//! Problem: pages are written to disk whenever the buffer pool likes, with changes of transactions that have not
//! committed and without those of some that have. So before a page is written the log must hold, durably, how to do
//! each of its changes again and how to take it back. This is ARIES (Mohan, Haderle, Lindsay, Pirahesh and Schwarz,
//! *ARIES: a transaction recovery method*, TODS 17(1), 1992); what differs from the paper:
//!
//! 1. *Rollback never reads the log.* Each transaction keeps the records that it may have to undo, as bytes in one
//!    buffer of its own, as a stack. So the log's files are written only, until a crash.
//! 2. *The stack is the chain.* In the paper a record names the next one to be undone, and undo follows these from
//!    record to record. Here a compensation that says "go on at `n`" means: drop all that lies behind `n` from the
//!    stack. Dropping gives the same records as following, needs no random access, and recovery does the same while it
//!    reads forward.
//! 3. *A change is applied before it is logged*, under the page's exclusive latch. The difference is invisible: the
//!    page can be neither read nor written before it is unlatched. But a change that does not fit its page is found out
//!    before it is in the log, where it would stop every recovery; and if the log refuses, the change is undone.
//!
//! A transaction begins with its first change; one that only reads is not here at all.
//!
//! ```text
//! record        the records' bytes (docs/formats/wal.md)
//! forms         where records go: to the log, nowhere, or they are not even made
//! own           a transaction's stack
//! table         the running transactions, for checkpoints
//! transaction   the journal of one transaction
//! rollback      undo of a transaction
//! journal       the interface of access methods to the log of their pages
//! ```

pub(crate) mod forms;
mod journal;
mod own;
pub(crate) mod record;
pub(crate) mod rollback;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod transaction;

pub(crate) use own::OwnRecords;
