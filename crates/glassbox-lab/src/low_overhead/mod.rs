//! Low overhead concurrency control: what partitions do while they wait for each other, simulated.
//!
//! Paper: Jones, Abadi, Madden, *Low Overhead Concurrency Control for Partitioned Main Memory Databases*, SIGMOD 2010.
//! Claim: for partitions that run one transaction at a time, speculation beats locking and blocking as long as few
//! transactions abort and few take several rounds; locking is best for those that take several; blocking only where
//! hardly any transaction is on several partitions.
//!
//! Here: its microbenchmark (Figures 4 to 7), its TPC-C (8 and 9), its model against the simulation (10), and its
//! tables, on the state machines of [`glassbox_cluster`] in the virtual time of [`glassbox_sim::cluster`], with the
//! paper's constants.
//!
//! What the paper leaves to others, several coordinators, has a figure of its own.
//!
//! What differs: nothing is measured on a machine. What the paper leaves open had to be chosen, so that its stated
//! facts hold: [`Settings::of_the_paper`](glassbox_sim::cluster::Settings::of_the_paper) and
//! [`Costs::of_the_paper`](glassbox_sim::cluster::Costs::of_the_paper) say what and why. Where a fact does not hold
//! nevertheless, its [`Check`] says so.

mod auto;
mod checks;
mod coordinators;
mod draw;
mod figure10;
mod figure4;
mod figure5;
mod figure6;
mod figure7;
pub(crate) mod figure8;
pub(crate) mod figure9;
mod lines;
pub mod model;
mod section;
mod simulate;
mod table1;
mod table2;
pub mod tables;
pub(crate) mod tpcc;

pub use checks::{CHECKS, Check, checks, put as put_checks, sentences};
pub(crate) use lines::{colour, percent};
pub use section::section;
pub use simulate::{Plan, simulate};
pub use tpcc::TpccPlan;

#[cfg(test)]
mod tests;
