//! `glassbox torture`: kills a working process again and again, and checks that its promises hold.
//!
//! Tests with a simulated disk stop at every write; this one is coarser, with real processes and files. A child process
//! runs a workload on a real directory and reports through a pipe the transactions that it will send and those that
//! were acknowledged; the parent kills it with SIGKILL at a random moment, and starts the next child on the same
//! directory. That child recovers, and checks before it continues:
//!
//! - every acknowledged transaction is there, and no transaction that was never sent;
//! - every transaction is there completely or not at all;
//! - indexes agree with their tables.
//!
//! One child in four is killed so early that it is still recovering; children write checkpoints all the time, so some
//! are killed during those. SIGKILL cannot show the effect of a power failure on bytes that were written but not
//! forced.

mod arguments;
mod bank;
mod child;
mod message;
mod parent;
mod tpcc;

pub use arguments::TortureArguments;
pub use child::TortureChildArguments;
pub use child::run as run_child;
pub use parent::run;
