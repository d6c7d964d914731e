//! The laboratory: what the papers measured, measured again, and the limits to measure against.

pub mod limits;
