//! Glassbox: an OLTP database one can see through.

// The derive writes `::glassbox::record::…`; in here that name must mean this crate.
extern crate self as glassbox;

pub mod procedure;
pub mod record;

pub use glassbox_derive::Record;
