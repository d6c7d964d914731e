//! Instructions per transaction of each system, by parts of the program: by the means of [`count`](crate::count).

mod child;
mod counting;
mod parts;

use super::systems::System;

pub use crate::count::version;
pub use child::run_child;
pub use counting::count;

/// Instructions of a system, per transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Which.
    pub system: System,
    /// Transactions that were counted.
    pub transactions: usize,
    /// All instructions.
    pub total: f64,
    /// By part, the same parts in the same order for all systems; they sum to the total.
    pub parts: Vec<(&'static str, f64)>,
    /// By function of the source, the most costly first: its file and name. What it calls that belongs to nobody is
    /// included.
    pub functions: Vec<(String, f64)>,
    /// Of all, what was executed in `memcpy` and its kin: included in the parts that called it.
    pub copying: f64,
    /// Of all, what was executed in the allocator: included in the parts that called it.
    pub allocating: f64,
}
