//! Low overhead concurrency control: the work of partitions while they wait for each other, simulated.
//!
//! Paper: Jones, Abadi, Madden, *Low Overhead Concurrency Control for Partitioned Main Memory Databases*, SIGMOD 2010.
//! Claim: for partitions that run one transaction at a time, speculation beats locking and blocking as long as few
//! transactions abort and few take several rounds; locking is best for those that take several; blocking only if hardly
//! any transaction is on several partitions.
//!
//! Here: its microbenchmark (Figures 4 to 7), its TPC-C (8 and 9), its model against the simulation (10), and its
//! tables, on the state machines of [`glassbox_cluster`] in the virtual time of [`glassbox_sim::cluster`], with the
//! paper's constants.
//!
//! Several coordinators, which the paper leaves as future work, have a figure of their own.
//!
//! Differences: nothing is measured on a machine. Parameters that the paper leaves open were chosen so that its stated
//! facts hold: [`Settings::of_the_paper`](glassbox_sim::cluster::Settings::of_the_paper) and
//! [`Costs::of_the_paper`](glassbox_sim::cluster::Costs::of_the_paper) list them with the reasons. If a fact does not
//! hold nevertheless, its [`Claim`] says so.

mod auto;
mod checks;
mod coordinators;
mod depth;
mod draw;
mod figure10;
mod figure4;
mod figure5;
mod figure6;
mod figure7;
pub(crate) mod figure8;
pub(crate) mod figure9;
pub mod model;
mod other_schemes;
mod overlap;
pub(crate) mod plan;
mod section;
pub(crate) mod series;
mod simulate;
mod table1;
mod table2;
mod ticks;
pub(crate) mod tpcc;

pub use crate::claim::{CHECKS, Claim};
pub use checks::{claims, outcomes, put as put_claims, sentences};
pub use plan::{SimulationPlan, TpccPlan};
pub use section::{other_tables, section, throughput_tables, tpcc_tables};
pub use simulate::{figures, simulate};

#[cfg(test)]
mod tests;
