//! Files in memory that forget what was not forced: the base of all crash tests.
//!
//! Problem: the promises of a database are about machines that stop, and a real disk hides in its cache nearly every
//! mistake one can make. These files keep, beside what a reader sees now, what a machine would find after a crash: for
//! every file the bytes at its last force and the writes since, in order; for every directory the names at its last
//! force and the creations, removals and renames since. Every operation that changes something is counted, and the
//! world can be stopped at any one of them ([`Faults`]). [`MemoryFiles::after_crash`] then gives the image that is
//! found:
//!
//! - [`Crash::Lost`]: nothing that was not forced;
//! - [`Crash::Kept`]: everything, as when only the process died but the system had written all by itself;
//! - [`Crash::Torn`]: each write kept, lost, or kept for some of its sectors only, and each directory operation kept or
//!   lost, in any combination in which the operations on one name keep their order. Disks keep sectors whole; they do
//!   not keep writes whole, nor their order.
//!
//! The operation at which the world stops is itself in doubt: a write is recorded as not forced before the error is
//! given, a force has no effect. Everything is decided by the given seed, so a failing run can be repeated.

mod dice;
mod fault;
mod file;
mod image;
mod world;

pub use dice::Dice;
pub use fault::{Crash, Faults};
pub use world::MemoryFiles;
