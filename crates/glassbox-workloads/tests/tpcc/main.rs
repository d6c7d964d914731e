//! TPC-C: its inputs, declarations, histories, consistency conditions and crashes. One program: each further one would
//! compile the engine's code for these tables again.

#[path = "../common/mod.rs"]
mod common;
mod crash;
mod declarations;
mod engine;
mod histories;
mod inputs;
mod load;
mod policies;
