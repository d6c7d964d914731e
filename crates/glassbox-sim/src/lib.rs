//! Tools that test Glassbox: for now the reference model; later virtual time, network, faults and checkers.

mod model;

pub use model::{ModelDatabase, ModelTransaction};
