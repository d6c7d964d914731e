//! Files in memory that lose unforced changes at a crash: the base of all crash tests.
//!
//! Problem: the promises of a database are about crashes, and the cache of a real disk hides nearly every mistake.
//! These files keep, in addition to the visible state, the state after a crash: for every file the bytes at its last
//! force and the writes since, in order; for every directory the names at its last force and the creations, removals
//! and renames since. Every operation that changes something is counted, and a crash can be injected at any of them
//! ([`Faults`]). [`MemoryFiles::after_crash`] then gives the files as found after the crash:
//!
//! - [`Crash::Lost`]: nothing that was not forced;
//! - [`Crash::Kept`]: everything, as when only the process died but the system had written all by itself;
//! - [`Crash::Torn`]: each write kept, lost, or kept for some of its sectors only, and each directory operation kept or
//!   lost, in any combination in which the operations on one name keep their order. Disks keep sectors whole; they do
//!   not keep writes whole, nor their order.
//!
//! The operation at which the crash happens is itself in doubt: a write is recorded as unforced before it returns the
//! error; a force has no effect. The given seed decides everything, so a failing run can be repeated.

mod dice;
mod file;
mod image;
mod world;

pub use dice::Dice;
pub use image::Crash;
pub use world::{Faults, MemoryFiles};
