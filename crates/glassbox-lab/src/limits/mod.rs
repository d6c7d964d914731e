//! Limits: what the machine can do when nothing but the work itself is left, and how near Glassbox comes to it.
//!
//! Paper: Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found There*, SIGMOD
//! 2008, sections 4 and 5: their mix of New-Order and Payment, and their claim that a bare kernel (their last bar) does
//! the same work in a small fraction of a database's instructions. What differs here: the kernel is not what is left of
//! a stripped database but is written by hand, and prefetches; our engine is compared with it from above.
//!
//! Two measures. *Throughput* ([`measure()`]): every system executes the same inputs on the same data, round after
//! round, in one process, in an order that changes; a share is formed within a round, so that a slow moment of the
//! machine hits both sides. *Instructions* ([`count`]): of the executing thread alone, counted by valgrind's callgrind,
//! hence all but exact; and by parts of the program, which says where they go.

mod checks;
pub mod count;
pub(crate) mod engine;
pub mod goals;
pub mod kernel;
pub(crate) mod kernels;
pub(crate) mod measure;
mod quiet;
pub mod systems;

pub use crate::Watch;
pub use measure::{Measured, Plan, Run, measure, memory_bytes};
