//! What the engine and TPC-C's procedures allocate while they run: nothing. A program of its own, for its allocator.

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod engine;
mod tpcc;
