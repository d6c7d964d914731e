//! Deterministic execution: a sequencer orders inputs, and every partition executes them in that order.
//!
//! *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*, VLDB 2014, section 2.
//!
//! ```text
//! client ── Submit ──> sequencer: assigns time and place; makes the epoch durable
//!                          │ Inputs
//!             ┌────────────┴────────────┐
//!         partition 0 <── Exchange ──> partition 1     locks in the order of the log; rows and votes
//!             └────────────┬────────────┘
//!                          └── Answer ──> client       one of each participant
//! ```
//!
//! An input is durable before a partition receives it, and a partition's rows follow from the inputs. So there is no
//! two-phase commit: a participant that fails executes the same inputs again. Participants exchange votes only about
//! transactions that may abort.

mod bases;
mod comparing;
pub(crate) mod epoch_log;
mod executing;
pub(crate) mod executor;
mod follower;
mod halting;
pub(crate) mod hot_backup;
mod input_log;
mod linking;
pub(crate) mod merge;
mod peers;
mod reconnaissance;
mod running;
pub(crate) mod sequencer;
#[cfg(test)]
mod tests;
pub(crate) mod throttle;
