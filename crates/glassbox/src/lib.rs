//! Glassbox: an OLTP database one can see through.

pub mod io;
mod log;
pub mod procedure;
pub mod record;

pub use glassbox_derive::Record;
