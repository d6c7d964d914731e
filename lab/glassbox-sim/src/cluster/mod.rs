//! A cluster in virtual time: the state machines of `glassbox-cluster`, single-threaded, on links and processors with
//! stated costs.
//!
//! Nothing here is measured: a run depends on its seed and its [`Costs`] alone, and is the same each time. Figures made
//! from it say that they are simulated.

mod batch;
mod canary;
pub mod checks;
mod client;
mod costs;
mod disk;
mod event;
mod faults;
pub mod forgetting;
mod link;
mod microbenchmarks;
mod node;
mod processors;
mod settings;
mod tpcc;
mod workload;
mod world;

pub use client::{Done, Finished};
pub use costs::Costs;
pub use glassbox_workloads::ALL;
pub use glassbox_workloads::contention::{Contention, ContentionCall, ContentionClient};
pub use glassbox_workloads::micro::{Load, Micro};
pub use link::Link;
pub use microbenchmarks::ModelLoad;
pub use settings::{Bug, Settings};
pub use tpcc::Tpcc;
pub use workload::{CallOf, Caller, OutputOf, Workload};
pub use world::{Measured, World};
