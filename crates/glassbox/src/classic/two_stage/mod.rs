//! Two-stage execution (Lilja and others, *Charm*, USENIX ATC 2001): first fetch, then operate.
//!
//! Problem: a transaction that reads the disk while it holds locks makes all others that need these locks wait for its
//! disk. So a transaction runs twice. The *fetch stage* takes no locks, changes nothing and logs nothing: it reads the
//! pages that the transaction will need, and pins them. The *operate stage* runs it as ever, and finds every page in
//! memory, unless another transaction has changed what it needs since (a *mis-prefetch*, which reads under locks).
//!
//! ```text
//! Conventional   operate
//! TwoStage       fetch, operate                                                               (the paper's TSTE)
//! Optimistic     operate; at the first missing page undo, release the locks, pin the pages    (OTSTE)
//!                touched so far, and go on from that access in the fetch stage, or from the
//!                beginning if rows were changed; then operate from the beginning
//! Hybrid         one of these, for each procedure by what its executions cost                 (HTSTE)
//! ```
//!
//! The stage is a state of the transaction, not a type: so the body of a procedure is compiled once, and can go from
//! one stage to the other within a run (`transaction/fetch.rs`).
//!
//! *The fetch stage sees its own writes* (`transaction/dry_run.rs`), so it takes the path that the operate stage will.
//!
//! *What the fetch stage reads may be inconsistent*, because it takes no locks: rows of different moments, or none
//! where an index names one. Each row is whole, because its page is latched. So whatever the procedure answers, stops
//! with or panics with is ignored, and after a number of accesses every access fails.
//!
//! *Latches.* The paper locks inner nodes in the fetch stage, because Berkeley DB has no other means to keep a page of
//! a tree whole. Here latches do that, on all pages, so the fetch stage needs no lock at all.
//!
//! *Pages of an optimistic stage.* Only their numbers are noted (`page/miss.rs`), and they are pinned at the
//! conversion; those that have left memory since are read again, without locks. So a stage without a miss pins nothing.
//!
//! *Pins never stop a transaction.* A transaction pins at most its part of half of the frames, and all together leave
//! every session the frames that it needs at the same time ([`PinBudget`]). Beyond that, pages are read but not pinned.

mod chooser;
mod classes;
mod counts;
mod execute;
mod pins;
#[cfg(test)]
mod tests;

pub(crate) use chooser::{CLASSES, ClassCosts};
pub use classes::ExecutionClass;
pub(crate) use classes::{Closures, ProcedureStages};
pub(crate) use counts::{StageCounts, StageSums};
pub(crate) use execute::{EndedStage, Stages, ThreadWaits};
pub(crate) use pins::{BATCH, PinBudget, Pinning, Pins};

/// What a run of a transaction does at an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It locks, reads what is missing, and changes.
    Operate,
    /// The same, until a page is missing: then it becomes a fetch stage.
    Optimistic,
    /// It reads without locks, pins what it reads, and changes nothing.
    Fetch,
}
