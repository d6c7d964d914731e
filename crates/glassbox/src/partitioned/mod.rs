//! The main-memory engine: partitions, each owned by one thread at a time.

pub(crate) mod memory;
