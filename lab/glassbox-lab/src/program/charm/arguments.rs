//! The arguments of `glassbox-lab charm`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox_lab::charm::{CharmPart, CharmPlan, GridPlan};

use crate::program::report::DIRECTORY;
use crate::program::shared::seconds;

/// Measure what it is worth to fetch a transaction's pages before it takes locks (Charm)
///
/// TPC-C on the classic engine, on disks of stated latencies: two-phase locking and the policies of two-stage
/// execution, by sessions, by the share of transactions that need the disk, by computation, with the paper's disks and
/// processor, modelled, and with those of today. Prints every table of the paper with its numbers beside those
/// measured, and each claim with its verdict. Writes a page and its numbers to the directory of results. Fails if a run
/// does, or, unless it is quick, if a claim differs from the paper without a known reason. With --grid, it measures
/// hybrid execution against the best of the other policies in many situations instead, and fails if it is too slow in
/// one of them.
#[derive(Args)]
pub struct CharmArguments {
    /// Measure less: one short round of warehouses of a tenth of their size; about four minutes
    #[arg(long)]
    quick: bool,
    /// Measure the grid instead: every combination of locks, sessions, pools and latencies; about an hour and a half
    #[arg(long, conflicts_with = "part")]
    pub grid: bool,
    /// Measure only the cells of the grid whose names have all of these parts, such as "page locks,16 sessions,pool 5
    /// %,1 ms"
    #[arg(long, value_name = "PARTS", requires = "grid", value_delimiter = ',')]
    cells: Vec<String>,
    /// Measure only one part
    #[arg(long, value_enum, value_name = "PART")]
    part: Option<PartName>,
    /// Seconds of each run [default: 3, or 1.5 in the grid, or 0.5 if --quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Rounds [default: 3, or 7 in the grid, or 1 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Parent directory of temporary databases
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Directory of the page and the results: charm.html, charm.jsonl, or charm-grid.html, charm-grid.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of the transactions' inputs and the disks
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
}

/// A part of the experiment.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    /// The paper's tables and figures, with its disks and processor
    Paper,
    /// Today's disks and processor
    Here,
    /// The gain with and without locks of leaves of indexes, with the paper's disks and processor
    Leaves,
}

impl PartName {
    fn of_plan(self) -> CharmPart {
        match self {
            Self::Paper => CharmPart::Paper,
            Self::Here => CharmPart::Here,
            Self::Leaves => CharmPart::Leaves,
        }
    }
}

impl CharmArguments {
    /// The measurement.
    pub fn plan(&self) -> CharmPlan {
        CharmPlan {
            is_quick: self.quick,
            seconds: self.seconds.unwrap_or(if self.quick { 0.5 } else { 3.0 }),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 3 }),
            part: self.part.map(PartName::of_plan),
            dir: self.dir.clone(),
            seed: self.seed,
        }
    }

    /// The measurement of the grid.
    pub fn grid_plan(&self) -> GridPlan {
        GridPlan {
            is_quick: self.quick,
            seconds: self.seconds.unwrap_or(if self.quick { 0.5 } else { 1.5 }),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 7 }),
            only: self.cells.iter().map(|part| part.trim().to_owned()).collect(),
            dir: self.dir.clone(),
            seed: self.seed,
        }
    }
}
