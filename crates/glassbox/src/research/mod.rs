//! The engine's parts by themselves: for experiments, tools and clusters, and not needed to use a database.
//!
//! - [`stacks`]: the classic engine without some of its components;
//! - [`shard`]: one partition, driven by messages; [`journal`]: its log on disk;
//! - [`inspect`]: a database read from its files;
//! - `fuzzing`: the decoders, for a fuzzer.
//!
//! Its interface changes more often than that of the rest.

#[doc(hidden)]
pub mod fuzzing;
pub mod shard;
pub mod stacks;

/// A database read from its files, without opening it.
pub mod inspect {
    pub use crate::inspect::*;
    pub use crate::manifest::{CheckpointEntry, Manifest, ProcedureEntry, VolumeEntry};
}

/// The journal of a [`Shard`](shard::Shard): its log and its rows on disk.
pub mod journal {
    pub use crate::journal::*;
}
