//! Instructions of the executing thread, and to whom they belong.
//!
//! Time is noisy, instructions are not: callgrind counts them by running the program on a simulated processor. The
//! program runs itself under it: the *child* loads the data and warms up without being counted and then runs one
//! function, the *region*, whose instructions callgrind collects, of this thread alone. A child may run the region
//! several times; each run has a profile of its own.
//!
//! To whom an instruction belongs cannot be told by its function, since nearly all is inlined into a few. So callgrind
//! tells costs by address, and the debugging information tells the stack of inlined functions at an address: the
//! innermost frame that lies in a file of a known part owns the instruction ([`Parts`]). What belongs to nobody by that
//! (`memcpy`, the allocator, the standard library's own functions) is charged to those who called it. The sum of the
//! parts is the total. The same is done for the calls that a transaction makes ([`Calls`]), by functions instead of
//! files.
//!
//! Rejected: `#[inline(never)]` at the borders of parts, which adds a sixth to what is measured; and counters in the
//! program, which cost more than the parts that they would count. What a part's absence would save is another question:
//! the compiler shares work between neighbours, so a difference of up to a third is to be expected for tiny parts.
//!
//! What differs from a run in earnest: valgrind runs one thread at a time, so a thread that waits for the log's force
//! does more of the forcing itself; and instructions of the system's kernel are not counted.

mod attribute;
mod child;
mod counting;
mod parts;
mod profile;
mod request;
mod valgrind;

pub use child::Child;
pub use counting::{Counting, Regions};
pub use parts::{Calls, Parts};
pub use request::counting;
pub use valgrind::version;

/// Instructions of one run of the region, by transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// All instructions.
    pub total: f64,
    /// By part, the same parts in the same order wherever the same [`Parts`] are asked for; they sum to the total.
    pub parts: Vec<(&'static str, f64)>,
    /// By call, in the order of the [`Calls`]; they sum to the total. Empty if no calls were asked for.
    pub calls: Vec<(&'static str, f64)>,
    /// By function of the source, the most costly first: its file and name. What it calls that belongs to nobody is
    /// included.
    pub functions: Vec<(String, f64)>,
    /// Of all, what was executed in `memcpy` and its kin: included in the parts that called it.
    pub copying: f64,
    /// Of all, what was executed in the allocator: included in the parts that called it.
    pub allocating: f64,
}
