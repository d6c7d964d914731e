//! A cluster in virtual time: the state machines of `glassbox-cluster`, single-threaded, on links and processors with
//! stated costs.
//!
//! Nothing here is measured: a run depends on its seed and its [`Costs`] alone, and is the same each time. Figures made
//! from it say that they are simulated.

mod batch;
mod canary;
pub mod checks;
mod client;
mod contention;
mod costs;
mod disk;
mod faults;
mod link;
mod micro;
mod node;
mod processors;
mod settings;
mod tpcc;
mod workload;
mod world;

pub use client::{Done, Finished};
pub use contention::{Contention, ContentionCall, ContentionClient};
pub use costs::Costs;
pub use link::Link;
pub use micro::Micro;
pub use settings::{ALL, Bug, Load, Settings};
pub use tpcc::Tpcc;
pub use workload::{CallOf, Caller, OutputOf, Workload};
pub use world::{Measured, World};
