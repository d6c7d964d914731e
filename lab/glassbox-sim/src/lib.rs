//! Simulation: production's clusters in virtual time, with faults and checkers, and a queueing model of deterministic
//! execution and two-phase locking.

pub mod cluster;
pub mod determinism;
