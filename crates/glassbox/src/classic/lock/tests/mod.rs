//! Tests of the lock manager.

#[cfg(not(shuttle))]
mod model;
mod modes;
mod names;
