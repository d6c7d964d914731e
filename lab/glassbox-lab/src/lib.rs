//! The laboratory: the papers' experiments, repeated, and the limits that the engine is compared with.

pub mod calibrate;
pub mod charm;
pub mod claim;
pub mod count;
pub mod determinism;
pub mod figures;
pub mod in_process;
pub mod limits;
pub mod looking_glass;
pub mod low_overhead;
mod machine;
pub mod measurement;
pub mod points;
pub mod real;
pub mod report;
pub mod scaling;
pub mod section;
mod workload;

/// Held by a test that measures real time, and by tests that keep all processors busy for seconds.
#[cfg(test)]
pub(crate) static PROCESSORS: std::sync::Mutex<()> = std::sync::Mutex::new(());
