//! Tools that test Glassbox: a reference model, random histories, scripts that crash, damage to files, checkers.
//!
//! Each file holds one idea. Tests are in `tests/`; shared parts are here, so that other crates' tests can use them.

#[allow(missing_docs)]
pub mod check;
#[allow(missing_docs)]
pub mod damage;
#[allow(missing_docs)]
pub mod dice;
#[allow(missing_docs)]
pub mod history;
#[allow(missing_docs)]
pub mod lying;
mod model;
#[allow(missing_docs)]
pub mod procedures;
#[allow(missing_docs)]
pub mod program;
#[allow(missing_docs)]
pub mod runs;
#[allow(missing_docs)]
pub mod script;
pub mod serializability;
#[allow(missing_docs)]
pub mod steps;
#[allow(missing_docs)]
pub mod tables;

pub use model::{ModelDatabase, ModelTransaction};
