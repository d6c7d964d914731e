//! *Charm* (Lilja and others, USENIX ATC 2001): what it is worth to fetch a transaction's pages before it takes locks.
//!
//! TPC-C on the classic engine, by closed-loop sessions without think time, while reads take the time of a stated disk.
//! Two kinds of numbers:
//!
//! * *With the paper's constants* (Tables 1 to 8, Figures 2 to 5): two disks of 10.5 ms and one processor that needs
//!   1.33 ms for a transaction. Glassbox runs in real time, with real locks, pages and threads; the disks and the
//!   processor are modelled, five times as fast as those of 2001, so ratios are comparable and times are multiplied.
//!   Reads one by one, by a run of the procedure, as in the paper; batches are a series beside them.
//! * *Here*: today's processor and the disks of today, with batches.
//!
//! And a grid of many more situations here, in which only hybrid execution is judged, against the best of the others.
//!
//! The paper's database was read through 128 to 512 MB of memory. Sizes are not comparable, shares are: so the pool is
//! chosen by the share of New-Order executions that need the disk, which the paper gives for each size (Table 4).
//!
//! Differences: the paper ran 10 times more than 10,000 transactions; here a cell is run for some seconds, in rounds
//! over all cells, and the median counts. The computation is all at the end of a transaction, while it holds its locks.

mod bound;
mod checks;
mod computing;
mod grid;
mod grid_verdicts;
mod instructions;
mod measure;
mod plan;
mod policy;
mod pools;
mod run;
mod section;
mod tables;
#[cfg(test)]
mod tests;

pub use checks::{claims, put_claims};
pub use grid::{GridPlan, measure_grid};
pub use grid_verdicts::{grid_sentence, is_grid_right};
pub use instructions::{count, run_child};
pub use measure::measure;
pub use plan::{CharmPart, CharmPlan};
pub use policy::CountedPolicy;
pub use section::section;
pub use tables::{all as tables, verdicts};

/// In results, the experiment.
pub const EXPERIMENT: &str = "charm";
