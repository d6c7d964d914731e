//! A database's directory: what it holds, and that its files belong together.

mod checkpoint_reader;
mod manifest;
mod merge;

pub(crate) use checkpoint_reader::{Block, CheckpointFile, damaged};
pub(crate) use manifest::{MANIFEST, TEMPORARY};
pub use manifest::{CheckpointEntry, Manifest, ProcedureEntry, VolumeEntry};
pub(crate) use merge::{merge_catalog, table_ids};
