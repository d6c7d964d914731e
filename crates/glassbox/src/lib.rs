//! Glassbox: an OLTP database one can see through.

#[allow(dead_code, unused_imports)] // until the engine uses all of it
mod partitioned;
pub mod procedure;
pub mod record;

pub use glassbox_derive::Record;
