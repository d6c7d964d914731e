//! The Looking Glass: a conventional engine, its components taken out one after the other, and what each of them cost.
//!
//! Paper: Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found There*, SIGMOD
//! 2008. Claim: of the instructions that Shore spends on a TPC-C transaction, a tenth to a third each go to B-tree
//! keys, logging, locking, latching and the buffer manager; what is left, "useful work", is a sixtieth; and no single
//! one makes the difference.
//!
//! Here: the classic engine on each stack of [`glassbox::stacks`], the rows of the engine in memory where no pages are
//! left, and the lab's hand-written B+-tree kernel at the end; with the paper's mix (New-Order of ten items and Payment
//! by number, within the home warehouse), size (5 warehouses) and length (40,000 transactions a point).
//!
//! What differs: the engine is ours, written so that components can be taken out by the compiler, where Shore was
//! edited. Instructions are counted by callgrind rather than by the processor, because virtual machines hide its
//! counters; cycles cannot be had that way, so time stands in their place. An attribution that the paper could not make
//! stands beside the difference of neighbouring stacks: by the inlined functions that an instruction belongs to.
//!
//! Everything that was measured becomes a [`Points`](crate::points::Points); figures, tables and sentences are made of
//! those alone, so that they can be made again from a file of results.

mod accesses;
mod child;
mod components;
mod counting;
mod explain;
mod figure1;
mod figure5;
mod figure6;
mod figure7;
mod figure8;
mod goals;
pub mod ladder;
mod methods;
pub mod paper;
mod section;
mod subject;
mod systems;
pub mod tables;
mod throughput;
mod timing;
mod work;

pub use accesses::count_accesses;
pub use child::run_child;
pub use counting::count;
pub use explain::sentences;
pub use section::section;
pub use systems::System;
pub use timing::{Plan, measure, memory_bytes};
pub use work::Workload;

#[cfg(test)]
mod tests;
