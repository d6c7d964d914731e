//! The operating system's files and clock, behind traits.
//!
//! Problem: a database that promises durability must be tested against machines that stop between any two operations
//! and against disks that fail. Calling the operating system from everywhere makes that impossible. So this module is
//! the only one that touches files and clocks, and everything above it is given [`Files`] and [`Clock`]:
//! [`RealFiles`] in production, [`MemoryFiles`] in tests, which forgets what was not forced, [`Overlay`] for tools,
//! which changes nothing on disk.
//!
//! The traits are object-safe. A virtual call costs nanoseconds and is made once per log write, never per transaction.

mod clock;
mod error;
mod files;
mod memory;
mod overlay;
mod real;
#[cfg(test)]
mod tests;

pub use clock::{Clock, ManualClock, RealClock};
pub use error::IoError;
pub use files::{DirectoryLock, File, Files};
pub use memory::{Crash, Dice, Faults, MemoryFiles};
pub use overlay::Overlay;
pub use real::RealFiles;
