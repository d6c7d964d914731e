//! Workloads written once against [`Transaction`](glassbox::procedure::Transaction), so that every engine, stack and
//! scheme runs the same code.

pub mod contention;
pub mod format;
pub mod micro;
pub mod tpcc;
mod up_to;

pub use up_to::UpTo;

/// Everything, in the unit in which loads state shares: one million.
pub const ALL: u64 = 1_000_000;
