//! Scaling: how each engine grows with cores, compared with as many processes side by side.
//!
//! TPC-C on 1, 2, 4, ... and all cores. The processes side by side, each with a database of its own on one core's share
//! of the warehouses, share nothing but the machine; so they show what the hardware gives, and the difference is what
//! the engine loses to what its threads share. Two more answers to where it goes: core time per transaction, used and
//! unused, with the waits and messages that the engine counts; and instructions per transaction by part of the program.
//!
//! All of it by `glassbox tpcc` in processes of its own, as a user would run it. They load first and then start at the
//! same moment. Rounds are interleaved, and ratios are formed within a round.
//!
//! Differences from an uncounted run: valgrind runs one thread at a time, so a thread never meets another within a
//! critical section, and counted waits are those for other threads' turns. Instructions are counted for the partitioned
//! engine without a log and for the classic one, as logs are forced by threads of their own.

mod figures;
mod instructions;
mod measure;
mod plan;
mod systems;
pub mod tables;
#[cfg(test)]
mod tests;

pub use figures::section;
pub use instructions::{count, run_child};
pub use measure::{TpccProcess, measure};
pub use plan::{ScalingPlan, numbers_of_cores};
pub use systems::{CountedRun, ScaledForm, ScaledSystem};

/// In results, the experiment.
pub const EXPERIMENT: &str = "scaling";
