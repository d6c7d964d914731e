//! The grid: hybrid execution against the best of the policies, in many situations.
//!
//! A cell is a lock granularity, a number of sessions, a share of the database that fits into the pool, and the latency
//! of the disk. Each policy has a database of its own, which stays open from the warm-up to the last round, so that its
//! pool is warm and the hybrid policy knows what it has measured. Rounds go over all policies, each time beginning with
//! another one; ratios are formed within a round.
//!
//! The classes are found on the slow disk: pools are filled while the disk is fast, and then all policies begin from
//! scratch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use glassbox::Database;
use glassbox::config::Granularity;
use glassbox::io::{DiskModel, RealClock, RealFiles, SlowFiles};
use glassbox_workloads::tpcc::Kind;

use super::computing::set_execution;
use super::plan::{TENTH, WAREHOUSES};
use super::policy::Policy;
use super::run::{Bench, Execution, FINDING, PAGES_PER_SESSION, RunLength, RunSettings, copy, executions};
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};
use glassbox_workloads::tpcc::Scale;

/// In results, the figure.
pub(super) const GRID: &str = "grid";
/// In results, the throughput of the hybrid policy divided by that of the best one: the median, and the quartiles.
pub(super) const OF_BEST: [&str; 3] = ["of_best", "of_best_low", "of_best_high"];
/// In results, the pages of a pool that is too small for two stages.
pub(super) const NO_FRAMES: &str = "pool_without_frames";

/// Transactions that fill a pool.
const FILL: u64 = 8_000;
/// Seconds of the warm-up on the slow disk.
const WARM_UP: f64 = 1.0;
/// Seconds of that of the hybrid policy, which finds its classes: at least, and at most if transactions are slow; and
/// the transactions after which it has found them.
const WARM_UP_HYBRID: f64 = 10.0;
const WARM_UP_HYBRID_MAX: f64 = 75.0;
/// The part of the time between the two that cells need in the mean: in two thirds, transactions are fast enough.
const SLOW_CELLS: f64 = 1.0 / 3.0;
const FOUND_AFTER: u64 = 5_000;
/// Seconds of a cell in which nothing is measured: copies, openings, filled pools, closes.
const AROUND: f64 = 9.0;

/// The measurement of the grid.
#[derive(Debug, Clone)]
pub struct GridPlan {
    /// Whether less is measured: warehouses of a tenth of their size, fewer cells, a short warm-up.
    pub is_quick: bool,
    /// Seconds of each policy in a round.
    pub seconds: f64,
    /// Rounds of each cell.
    pub rounds: usize,
    /// Parts of the names of the cells that are measured, such as "16 sessions"; empty: all cells.
    pub only: Vec<String>,
    /// Parent directory of temporary databases.
    pub dir: PathBuf,
    /// Seed of inputs and disks.
    pub seed: u64,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GridCell {
    granularity: Granularity,
    sessions: usize,
    /// Share of the database that fits into the pool.
    pool_percent: usize,
    latency_us: u64,
}

impl GridCell {
    /// The parts of its name.
    fn parts(&self) -> [String; 4] {
        let locks = if self.granularity == Granularity::Page { "page locks" } else { "record locks" };
        let sessions = format!("{} session{}", self.sessions, if self.sessions == 1 { "" } else { "s" });
        let latency = match self.latency_us {
            us if us >= 1_000 => format!("{} ms", us / 1_000),
            us => format!("{us} µs"),
        };
        [locks.to_owned(), sessions, format!("pool {} %", self.pool_percent), latency]
    }

    fn name(&self) -> String {
        self.parts().join(", ")
    }

    fn pool_pages(&self, database_pages: usize) -> usize {
        database_pages * self.pool_percent / 100
    }

    /// Whether each session has a frame for a pinned page in a pool of this many pages, apart from those that it needs.
    fn has_frames(&self, pool_pages: usize) -> bool {
        pool_pages >= (PAGES_PER_SESSION + 1) * self.sessions
    }
}

impl GridPlan {
    fn scale(&self) -> Scale {
        if self.is_quick { Scale { warehouses: WAREHOUSES, ..TENTH } } else { Scale::full(WAREHOUSES) }
    }

    fn all(&self) -> Vec<GridCell> {
        let (sessions, pools, latencies): (&[usize], &[usize], &[u64]) = if self.is_quick {
            (&[4, 16], &[5, 30], &[1_000])
        } else {
            (&[1, 4, 16, 64], &[1, 5, 30], &[50, 1_000, 10_000])
        };
        let mut cells = Vec::new();
        for granularity in [Granularity::Page, Granularity::Record] {
            for &sessions in sessions {
                for &pool_percent in pools {
                    let of = |&latency_us: &u64| GridCell { granularity, sessions, pool_percent, latency_us };
                    cells.extend(latencies.iter().map(of));
                }
            }
        }
        cells
    }

    /// The cells whose names have all parts that are asked for.
    ///
    /// # Errors
    /// When there is none.
    fn cells(&self) -> anyhow::Result<Vec<GridCell>> {
        let mut cells = self.all();
        let mut known: Vec<String> = cells.iter().flat_map(GridCell::parts).collect();
        known.sort();
        known.dedup();
        if let Some(unknown) = self.only.iter().find(|part| !known.contains(part)) {
            bail!("no cell of the grid is named `{unknown}`: use some of {}", known.join(", "));
        }
        cells.retain(|cell| self.only.iter().all(|part| cell.parts().contains(part)));
        if cells.is_empty() {
            bail!("no cell of the grid has all of {}: name at most one of each kind", self.only.join(", "));
        }
        Ok(cells)
    }

    /// Seconds of the warm-up, and of that of the hybrid policy, at least and at most.
    fn warm_ups(&self) -> [f64; 3] {
        let seconds = [WARM_UP, WARM_UP_HYBRID, WARM_UP_HYBRID_MAX];
        seconds.map(|seconds| if self.is_quick { seconds / 5.0 } else { seconds })
    }

    /// The number of cells, and about how long they take together.
    ///
    /// # Errors
    /// When there are none.
    pub fn estimate(&self) -> anyhow::Result<(usize, Duration)> {
        let cells = self.cells()?.len();
        let [warm_up, least, most] = self.warm_ups();
        let hybrid = least + SLOW_CELLS * (most - least);
        let policies = Policy::ALL.len() as f64;
        let around = if self.is_quick { AROUND / 3.0 } else { AROUND };
        let seconds = policies * self.rounds as f64 * self.seconds + (policies - 1.0) * warm_up + hybrid + around;
        Ok((cells, Duration::from_secs_f64(seconds * cells as f64)))
    }
}

/// A policy's database in a cell.
struct Subject {
    policy: Policy,
    db: Database,
    disk: SlowFiles,
    run: RunSettings,
    /// Transactions a second, by rounds.
    rates: Vec<f64>,
}

impl Subject {
    /// Opens a copy of the loaded database, and fills its pool.
    fn open(bench: &Bench<'_>, dir: &Path, cell: &GridCell, policy: Policy) -> anyhow::Result<Self> {
        copy(bench.dir, dir).with_context(|| format!("cannot copy the database to {}", dir.display()))?;
        let model = DiskModel::fixed("a fixed latency", 64, cell.latency_us * 1_000);
        let disk = SlowFiles::new(Arc::new(RealFiles::new(dir)?), model, Arc::new(RealClock::new()), bench.seed);
        disk.disk().set_slow(false);
        let run = RunSettings {
            execution: Execution::Policy(policy.policy()),
            granularity: cell.granularity,
            disk: Some(model),
            ..RunSettings::plain(cell.pool_pages(bench.pages()?), cell.sessions)
        };
        let db = bench.open(dir, &run, Some(&disk))?;
        bench.drive(&db, &run, RunLength::Transactions(FILL))?;
        set_execution(&db, policy.policy())?;
        disk.disk().set_slow(true);
        Ok(Self { policy, db, disk, run, rates: Vec::new() })
    }

    /// Runs before the measurement.
    fn warm_up(&self, plan: &GridPlan, bench: &Bench<'_>, watch: &dyn Progress) -> anyhow::Result<()> {
        let [of_others, least, most] = plan.warm_ups();
        let began = Instant::now();
        let before = self.db.counts().committed;
        self.drive(bench, if self.policy == Policy::Hybrid { least } else { of_others })?;
        let has_found = || self.policy != Policy::Hybrid || self.db.counts().committed - before >= FOUND_AFTER;
        // Other inputs than those of the rounds.
        for inputs in FINDING.. {
            if has_found() || began.elapsed().as_secs_f64() >= most || watch.interrupted() {
                break;
            }
            self.drive(&Bench { inputs, ..*bench }, of_others)?;
        }
        Ok(())
    }

    /// Transactions a second.
    fn drive(&self, bench: &Bench<'_>, seconds: f64) -> anyhow::Result<f64> {
        let before = self.db.counts().committed;
        let (_, _, took) = bench.drive(&self.db, &self.run, RunLength::For(Duration::from_secs_f64(seconds)))?;
        Ok((self.db.counts().committed - before) as f64 / took)
    }
}

impl Drop for Subject {
    /// A database writes its pool when it is closed.
    fn drop(&mut self) {
        self.disk.disk().set_slow(false);
    }
}

/// Measures the grid; returns early on an interrupt, with the cells that are complete. Returns whether all are.
///
/// # Errors
/// When a database cannot be made or run.
pub fn measure_grid(plan: &GridPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<bool> {
    let cells = plan.cells()?;
    let dir = tempfile::Builder::new().prefix("glassbox-charm-").tempdir_in(&plan.dir);
    let dir = dir.with_context(|| format!("cannot create a directory in {}", plan.dir.display()))?;
    let loaded = dir.path().join("loaded");
    let bench = Bench { dir: &loaded, scale: plan.scale(), seed: plan.seed, inputs: 0 };
    watch.step(0, cells.len(), "loading");
    bench.load()?;
    for (at, cell) in cells.iter().enumerate() {
        let pool_pages = cell.pool_pages(bench.pages()?);
        if !cell.has_frames(pool_pages) {
            points.put(GRID, &cell.name(), 0.0, NO_FRAMES, pool_pages as f64, "pages");
            continue;
        }
        watch.step(at, cells.len(), &cell.name());
        let measured = measure_cell(plan, cell, &bench, watch).with_context(|| cell.name())?;
        let Some(subjects) = measured else { return Ok(false) };
        put(&cell.name(), &subjects, points);
    }
    Ok(true)
}

/// Measures a cell; `None` after an interrupt.
fn measure_cell(
    plan: &GridPlan,
    cell: &GridCell,
    bench: &Bench<'_>,
    watch: &dyn Progress,
) -> anyhow::Result<Option<Vec<Subject>>> {
    let mut subjects = Vec::new();
    for policy in Policy::ALL {
        let dir = bench.dir.with_file_name(policy.name());
        let subject = Subject::open(bench, &dir, cell, policy)?;
        subject.warm_up(plan, bench, watch)?;
        subjects.push(subject);
    }
    for round in 0..plan.rounds {
        // Other inputs in each round, and the same for all policies.
        let bench = Bench { inputs: 1 + round as u64, ..*bench };
        for at in 0..subjects.len() {
            if watch.interrupted() {
                return Ok(None);
            }
            let at = (at + round) % subjects.len();
            let rate = subjects[at].drive(&bench, plan.seconds)?;
            subjects[at].rates.push(rate);
        }
    }
    Ok(Some(subjects))
}

/// Puts the numbers of a cell into the results.
fn put(cell: &str, subjects: &[Subject], points: &mut Points) {
    let mut best: Option<(&Subject, f64)> = None;
    for subject in subjects {
        let spread = Spread::of(subject.rates.iter().copied());
        points.0.push(Point {
            figure: GRID.to_owned(),
            row: cell.to_owned(),
            x: 0.0,
            metric: subject.policy.name().to_owned(),
            value: spread.median,
            spread: spread.middle_half(),
            unit: "transactions/s".to_owned(),
        });
        if best.is_none_or(|(_, rate)| spread.median > rate) {
            best = Some((subject, spread.median));
        }
    }
    let hybrid = subjects.iter().find(|subject| subject.policy == Policy::Hybrid);
    if let (Some(hybrid), Some((best, _))) = (hybrid, best) {
        let ratios = Spread::of_ratios(&hybrid.rates, &best.rates);
        let values = [ratios.median, ratios.low, ratios.high];
        OF_BEST.iter().zip(values).for_each(|(metric, value)| points.put(GRID, cell, 0.0, metric, value, "ratio"));
        for (kind, executed) in Kind::ALL.into_iter().zip(executions(&hybrid.db)) {
            points.put(GRID, cell, 0.0, &class_of(kind), f64::from(executed.class as u8), "class");
        }
    }
}

/// In results, the class of a procedure under the hybrid policy: 1 to 3, as the paper numbers them.
pub(super) fn class_of(kind: Kind) -> String {
    format!("class_{}", kind.name())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{GridCell, GridPlan};

    fn plan(is_quick: bool, only: &[&str]) -> GridPlan {
        let only = only.iter().map(|part| (*part).to_owned()).collect();
        GridPlan { is_quick, seconds: 0.2, rounds: 2, only, dir: PathBuf::new(), seed: 1 }
    }

    #[test]
    fn cells_are_chosen_by_parts_of_their_names() {
        let all = plan(false, &[]).cells().unwrap();
        assert_eq!(all.len(), 72);
        let some = plan(false, &["1 session", "10 ms", "page locks"]).cells().unwrap();
        let names: Vec<String> = some.iter().map(GridCell::name).collect();
        let of = |pool| format!("page locks, 1 session, pool {pool} %, 10 ms");
        assert_eq!(names, [of(1), of(5), of(30)]);
        let unknown = plan(false, &["2 sessions"]).cells().unwrap_err().to_string();
        assert!(unknown.contains("`2 sessions`") && unknown.contains("16 sessions, "), "{unknown}");
        assert!(plan(false, &["1 ms", "10 ms"]).cells().is_err(), "no cell has both");
        // A full run ends within about an hour and three quarters.
        let full = GridPlan { seconds: 1.5, rounds: 7, ..plan(false, &[]) };
        assert!((4_000..=6_500).contains(&full.estimate().unwrap().1.as_secs()), "{:?}", full.estimate());
    }

    #[test]
    fn a_pool_without_a_frame_to_pin_is_named() {
        let all = plan(false, &[]).all();
        let of = |sessions| all.iter().find(|cell| cell.sessions == sessions).unwrap();
        assert!(!of(64).has_frames(640) && of(16).has_frames(640));
        assert!(!of(1).has_frames(12) && of(1).has_frames(13));
    }
}
