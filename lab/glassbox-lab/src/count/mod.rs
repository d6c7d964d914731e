//! Instructions of the executing thread, and the parts of the program that they belong to.
//!
//! Time is noisy, instruction counts are not: callgrind counts them by running the program on a simulated processor.
//! The program runs itself under it: the *child* loads the data and warms up without being counted, and then runs one
//! function, the *region*, whose instructions callgrind counts, of the threads that run it. A child may run the region
//! several times; each run has its own profile.
//!
//! The function of an instruction does not say which part it belongs to, since nearly all code is inlined into a few
//! functions. So callgrind reports costs by address, and the debugging information gives the stack of inlined functions
//! at an address: the innermost frame in a file of a known part owns the instruction ([`PartMap`]). Instructions
//! without an owner (`memcpy`, the allocator, the standard library's own functions) are charged to their callers. The
//! parts sum to the total. Instructions are divided by the calls that a transaction makes ([`CallMap`]) in the same
//! way, by functions instead of files.
//!
//! Rejected: `#[inline(never)]` at the borders of parts, which adds a sixth to the measured code; and counters in the
//! program, which cost more than the parts that they would count. The saving by removing a part is a different
//! quantity: the compiler shares work between neighbours, so for tiny parts it may differ by up to a third.
//!
//! Differences from an uncounted run: valgrind runs one thread at a time, so a thread that waits for the log's force
//! does more of the forcing itself; and instructions of the system's kernel are not counted.

mod attribute;
mod child;
mod counting;
mod parts;
mod profile;
mod valgrind;

pub use child::{Child, counting, counting_threads};
pub use counting::{Counting, Regions};
pub use parts::{CallMap, PartMap};
pub use valgrind::{Counts, check, version};
