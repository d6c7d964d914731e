//! The Looking Glass: a conventional engine, its components removed one after the other, and the cost of each.
//!
//! Paper: Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found There*, SIGMOD
//! 2008. Claim: of the instructions that Shore spends on a TPC-C transaction, a tenth to a third each go to B-tree
//! keys, logging, locking, latching and the buffer manager; the rest, "useful work", is a sixtieth; and no single
//! component makes the difference.
//!
//! Here: the classic engine on each stack of [`glassbox::research::stacks`], with the rows of the main-memory engine
//! where no pages remain, and the lab's hand-written B+-tree kernel at the end; with the paper's mix (New-Order of ten
//! items and Payment by number, within the home warehouse), size (5 warehouses) and length (40,000 transactions a
//! point).
//!
//! Differences: the engine is ours, and its components are removed at compile time, where Shore was edited.
//! Instructions are counted by callgrind rather than by the processor, because virtual machines hide its counters;
//! cycles cannot be counted that way, so the processor's counter is read where there is one, and time
//! replaces them elsewhere. In addition to the difference of neighbouring stacks,
//! there is an attribution that the paper could not make: by the inlined functions that an instruction belongs to.
//!
//! What the paper could not do: each component is left out of the full stack alone, and locks and latches in both
//! orders ([`LadderSystem::one_left_out`]).
//!
//! All results are [`Points`](crate::points::Points); figures, tables and sentences are made of those alone, so that
//! they can be reproduced from a file of results.

mod accesses;
mod alone;
mod attribution;
mod btrees;
mod claims;
mod components;
mod explain;
mod instructions;
pub mod ladder;
mod page_sizes;
pub mod paper;
mod schema;
mod section;
mod shares;
mod subject;
mod switches;
mod systems;
pub mod tables;
mod taxes;
mod throughput;
mod timing;

pub use crate::workload::Workload;
pub use accesses::count_accesses;
pub use alone::OneStack;
pub use claims::{outcomes, table as claims};
pub use explain::sentences;
pub use instructions::{count, run_child};
pub use page_sizes::table as page_sizes;
pub use schema::put_schema;
pub use section::section;
pub use systems::LadderSystem;
pub use taxes::{orders, table as taxes};
pub use timing::{LadderPlan, checked_stacks, measure, measure_left_out, memory_bytes};

#[cfg(test)]
mod tests;
