//! Limits: the performance of the machine when it does nothing but the work itself, and how close Glassbox gets to it.
//!
//! Paper: Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found There*, SIGMOD
//! 2008, sections 4 and 5: their mix of New-Order and Payment, and their claim that a bare kernel (their last bar) does
//! the same work in a small fraction of a database's instructions. The difference here: the kernel is not a stripped
//! database but written by hand, and it prefetches.
//!
//! Two measures. *Throughput* ([`measure()`]): every system executes the same inputs on the same data, round after
//! round, in one process, in an order that changes; a share is formed within a round, so that a slow moment of the
//! machine affects both sides. *Instructions* ([`instructions`]): of the executing thread alone, counted by valgrind's
//! callgrind, hence nearly exact; and by part of the program.

mod checks;
mod engine;
pub mod instructions;
mod measure;
mod parts;
pub mod systems;

pub use measure::{MeasuredSystem, Round, ThroughputPlan, measure, memory_bytes};
