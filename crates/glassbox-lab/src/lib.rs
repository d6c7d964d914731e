//! The laboratory: what the papers measured, measured again, and the limits to measure against.

pub mod calibrate;
mod cores;
pub mod count;
pub mod figures;
pub mod format;
pub mod in_process;
pub mod limits;
pub mod looking_glass;
pub mod low_overhead;
pub mod points;
pub mod real;
pub mod report;
pub mod spread;
mod watch;

pub use watch::Watch;
