//! `Auto` on this machine: eight loads, each under every scheme and under the one that is found while it runs.

use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::Load;

use super::drive::{Threads, Trial, run};
use super::plan::{SCHEMES, put};
use super::{CLIENTS, THROUGHPUT, figure};
use crate::format;
use crate::low_overhead::percent;
use crate::points::Points;
use crate::report::Table;
use crate::spread::Spread;
use crate::watch::Watch;

/// In results, its row.
const AUTO: &str = "auto";
/// In results, `Auto` beside the best scheme.
const OF_BEST: &str = "auto, of the best";
/// Where it should be, of the best scheme; and with no injected round trip and a tenth on two partitions.
const GOALS: (f64, f64) = (0.9, 0.97);

/// A load: injected round trip in microseconds; shares in percent, of those on two partitions, those that abort, those
/// that fight for a row, and those that take two rounds.
struct Cell(u64, [u64; 4]);

const CELLS: [Cell; 8] = [
    Cell(0, [10, 0, 0, 0]),
    Cell(0, [50, 0, 0, 0]),
    Cell(40, [10, 0, 0, 0]),
    Cell(40, [10, 10, 0, 0]),
    Cell(40, [50, 0, 0, 0]),
    Cell(40, [30, 0, 0, 100]),
    Cell(200, [10, 0, 0, 0]),
    Cell(200, [10, 0, 50, 0]),
];

impl Cell {
    fn load(&self) -> Load {
        let [several, aborts, conflicts, two_rounds] = self.1.map(percent);
        Load { several, aborts, conflicts, two_rounds }
    }

    fn goal(&self) -> f64 {
        if self.0 == 0 && self.1[0] == 10 { GOALS.1 } else { GOALS.0 }
    }

    fn words(&self) -> String {
        let [several, aborts, conflicts, two_rounds] = self.1;
        let also = [(aborts, "aborts"), (conflicts, "conflicts"), (two_rounds, "in two rounds")];
        let also = also.into_iter().filter(|(share, _)| *share > 0);
        let also: Vec<_> = also.map(|(share, what)| format!(", {share} % {what}")).collect();
        format!("{}, {several} % on two{}", figure(Threads::Many, self.0), also.concat())
    }
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoPlan {
    /// Loads, the first so many.
    pub cells: usize,
    /// Times that each is measured.
    pub rounds: usize,
    /// Before anything counts, each time; and under `Auto`, which has to find out first.
    pub warm_up: (Duration, Duration),
    /// That counts, each time.
    pub time: Duration,
    /// Of the inputs.
    pub seed: u64,
}

impl AutoPlan {
    /// Everything, or a first look.
    pub const fn new(quick: bool, seed: u64) -> Self {
        let ms = Duration::from_millis;
        if quick {
            return Self { cells: 1, rounds: 2, warm_up: (ms(20), ms(300)), time: ms(80), seed };
        }
        Self { cells: CELLS.len(), rounds: 7, warm_up: (ms(100), ms(1200)), time: ms(300), seed }
    }

    /// How long it takes, about, in seconds.
    pub fn seconds(&self) -> f64 {
        let one = |warm_up: Duration| (warm_up + self.time + Duration::from_millis(25)).as_secs_f64();
        (self.cells * self.rounds) as f64 * (SCHEMES.len() as f64 * one(self.warm_up.0) + one(self.warm_up.1))
    }
}

/// Measures, and adds to `points`.
///
/// # Errors
/// When a cluster fails, or is not in order afterwards.
pub fn measure(plan: &AutoPlan, watch: &dyn Watch, points: &mut Points) -> anyhow::Result<()> {
    let cells = &CELLS[..plan.cells];
    let mut rates = vec![[const { Vec::new() }; SCHEMES.len() + 1]; cells.len()];
    let mut found = vec![Vec::new(); cells.len()];
    for round in 0..plan.rounds {
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break;
            }
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &cell.words());
            let round_trip = Duration::from_micros(cell.0);
            let trial = |scheme| Trial {
                shape: Shape { scheme, partitions: 2, replicas: 1, coordinators: 1, round_trip },
                threads: Threads::Many,
                auto: false,
                load: cell.load(),
                clients: CLIENTS,
                warm_up: plan.warm_up.0,
                time: plan.time,
                seed: plan.seed + round as u64,
            };
            for (rates, (_, scheme)) in rates[at].iter_mut().zip(SCHEMES) {
                rates.push(run(&trial(scheme))?.per_second);
            }
            // It begins with another one each time.
            let first = trial(SCHEMES[round % SCHEMES.len()].1);
            let auto = run(&Trial { auto: true, warm_up: plan.warm_up.1, ..first })?;
            rates[at][SCHEMES.len()].push(auto.per_second);
            found[at].push(auto.scheme);
        }
    }
    for ((cell, rates), found) in cells.iter().zip(&rates).zip(&found).filter(|((_, rates), _)| !rates[3].is_empty()) {
        let medians = rates.each_ref().map(|rates| Spread::of(rates.iter().copied()));
        let (statics, auto) = rates.split_at(SCHEMES.len());
        let best = (0..SCHEMES.len()).max_by(|&a, &b| medians[a].median.total_cmp(&medians[b].median));
        let best = best.expect("there are schemes");
        let name = cell.words();
        for ((row, _), spread) in SCHEMES.iter().chain(&[(AUTO, SchemeKind::Blocking)]).zip(medians) {
            put(points, &name, row, 0, (THROUGHPUT, "1/s"), spread);
        }
        put(points, &name, OF_BEST, 0, ("share", "times"), Spread::of_ratios(&auto[0], &statics[best]));
        for (row, scheme) in SCHEMES {
            let times = found.iter().filter(|it| **it == scheme).count();
            points.put(&name, AUTO, 0.0, &format!("ended with {row}"), times as f64, "times");
        }
    }
    Ok(())
}

/// All loads that were measured.
pub fn table(points: &Points) -> Table {
    let row = |cell: &Cell| {
        let name = cell.words();
        let of_best = points.get(&name, OF_BEST, "share")?;
        let rate = |row: &str| points.value(&name, row, THROUGHPUT).map_or_else(String::new, format::number);
        let spread = of_best.spread.map_or_else(String::new, |spread| format!(" ± {:.2}", spread / 2.0));
        let ended = SCHEMES.map(|(row, _)| (row, points.value(&name, AUTO, &format!("ended with {row}"))));
        let ended =
            ended.into_iter().filter_map(|(row, times)| Some(format!("{} {row}", times.filter(|it| *it > 0.0)?)));
        let met = if of_best.value >= cell.goal() { "met" } else { "MISSED" };
        let mut cells = vec![name.clone()];
        cells.extend(SCHEMES.iter().map(|(row, _)| rate(row)));
        cells.extend([rate(AUTO), ended.collect::<Vec<_>>().join(", ")]);
        cells.extend([format!("{:.2}{spread}", of_best.value), format!("{} {met}", cell.goal())]);
        Some(cells)
    };
    let header = ["real, round trip", "blocking", "speculation", "locking", AUTO, "ended with", "of the best", "goal"];
    Table { header: header.map(str::to_owned).to_vec(), rows: CELLS.iter().filter_map(row).collect() }
}
