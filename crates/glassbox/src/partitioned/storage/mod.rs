//! The rows of a partition: tables with their indexes, in memory that one thread at a time owns.

pub(crate) mod any_table;
pub(crate) mod indexes;
pub(crate) mod memory;
pub(crate) mod snapshot;
pub(crate) mod table;
