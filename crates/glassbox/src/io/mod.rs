//! The operating system's files and clock, behind traits.
//!
//! Problem: a database that promises durability must be tested with crashes between any two operations and with failing
//! disks. That is impossible if every module calls the operating system. So this module alone uses files and clocks,
//! and the modules above receive [`Files`] and [`Clock`]: [`RealFiles`] in production; [`MemoryFiles`] in tests, which
//! loses unforced changes at a crash; [`Overlay`] for tools, which changes nothing on disk; [`SlowFiles`] for
//! measurements, which read as slowly as a stated disk.
//!
//! The traits are object-safe. A virtual call costs nanoseconds and is made once per log write, never per transaction.

mod batched_reads;
mod clock;
mod cores;
mod error;
mod files;
mod memory;
mod overlay;
mod process;
mod real;
mod slow;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
mod uring;

pub use batched_reads::BatchedReads;
pub use clock::{Clock, ManualClock, RealClock};
pub(crate) use cores::{current_core, keep_on_core};
pub use error::IoError;
pub use files::{DirectoryLock, File, Files, ReadRequest};
pub use memory::{Crash, Dice, Faults, MemoryFiles};
pub use overlay::Overlay;
pub(crate) use process::OpeningProcess;
pub use real::RealFiles;
pub use slow::{DiskModel, DiskQueue, Jitter, SlowDisk, SlowFiles};
