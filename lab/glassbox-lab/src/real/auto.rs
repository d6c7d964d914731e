//! `Auto` on this machine: eight loads, each under every scheme and under the advisor.

use std::time::Duration;

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Shape;
use glassbox_sim::cluster::Load;

use super::drive::{CLIENTS, Threading, Trial, run};
use super::plan::{SCHEMES, THROUGHPUT, figure, put};
use crate::low_overhead::series::percent;
use crate::measurement::{Progress, Spread};
use crate::points::Points;
use crate::section::Table;
use glassbox_workloads::format;

/// In results, its row.
const AUTO: &str = "auto";
/// In results, `Auto` over the best scheme.
const OF_BEST: &str = "auto, of the best";
/// The goals: minimum share of the best scheme, in general; without an injected round trip and with 10 % on two
/// partitions.
const GOALS: (f64, f64) = (0.9, 0.97);

/// A load: injected round trip in microseconds; shares in percent of transactions on two partitions, that abort, that
/// conflict, and that take two rounds.
struct LoadCase(u64, [u64; 4]);

const LOAD_CASES: [LoadCase; 8] = [
    LoadCase(0, [10, 0, 0, 0]),
    LoadCase(0, [50, 0, 0, 0]),
    LoadCase(40, [10, 0, 0, 0]),
    LoadCase(40, [10, 10, 0, 0]),
    LoadCase(40, [50, 0, 0, 0]),
    LoadCase(40, [30, 0, 0, 100]),
    LoadCase(200, [10, 0, 0, 0]),
    LoadCase(200, [10, 0, 50, 0]),
];

impl LoadCase {
    fn load(&self) -> Load {
        let [several, aborts, conflicts, two_rounds] = self.1.map(percent);
        Load { several, aborts, conflicts, two_rounds }
    }

    fn goal(&self) -> f64 {
        if self.0 == 0 && self.1[0] == 10 { GOALS.1 } else { GOALS.0 }
    }

    fn description(&self) -> String {
        let [several, aborts, conflicts, two_rounds] = self.1;
        let also = [(aborts, "aborts"), (conflicts, "conflicts"), (two_rounds, "in two rounds")];
        let also = also.into_iter().filter(|(share, _)| *share > 0);
        let also: Vec<_> = also.map(|(share, what)| format!(", {share} % {what}")).collect();
        format!("{}, {several} % on two{}", figure(Threading::Many, self.0), also.concat())
    }
}

/// The extent of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoPlan {
    /// The number of loads, from the first.
    pub cells: usize,
    /// Measurements of each.
    pub rounds: usize,
    /// The warm-up of each measurement; and under `Auto`, which has to choose a scheme first.
    pub warm_up: (Duration, Duration),
    /// The measured time of each.
    pub time: Duration,
    /// Seed of the inputs.
    pub seed: u64,
}

impl AutoPlan {
    /// The full measurement, or a quick one.
    pub const fn new(quick: bool, seed: u64) -> Self {
        let ms = Duration::from_millis;
        if quick {
            return Self { cells: 1, rounds: 2, warm_up: (ms(20), ms(300)), time: ms(80), seed };
        }
        Self { cells: LOAD_CASES.len(), rounds: 7, warm_up: (ms(100), ms(1200)), time: ms(300), seed }
    }

    /// The approximate duration, in seconds.
    pub fn seconds(&self) -> f64 {
        let one = |warm_up: Duration| (warm_up + self.time + Duration::from_millis(25)).as_secs_f64();
        (self.cells * self.rounds) as f64 * (SCHEMES.len() as f64 * one(self.warm_up.0) + one(self.warm_up.1))
    }
}

/// Measures, and adds the results to `points`.
///
/// # Errors
/// When a cluster fails, or a check fails afterwards.
pub fn measure(plan: &AutoPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<()> {
    let cells = &LOAD_CASES[..plan.cells];
    let mut rates = vec![[const { Vec::new() }; SCHEMES.len() + 1]; cells.len()];
    let mut found = vec![Vec::new(); cells.len()];
    for round in 0..plan.rounds {
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break;
            }
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &cell.description());
            let round_trip = Duration::from_micros(cell.0);
            let trial = |scheme| Trial {
                shape: Shape::new(scheme, 2).with_round_trip(round_trip),
                threads: Threading::Many,
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
            // It starts with another scheme in each round.
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
        let name = cell.description();
        for ((row, _), spread) in SCHEMES.iter().chain(&[(AUTO, SchemeKind::Blocking)]).zip(medians) {
            put(points, &name, row, 0, (THROUGHPUT, "1/s"), spread);
        }
        put(points, &name, OF_BEST, 0, ("share", "times"), Spread::of_ratios(&auto[0], &statics[best]));
        for (row, scheme) in outcomes() {
            let times = found.iter().filter(|it| **it == scheme).count();
            points.put(&name, AUTO, 0.0, &format!("ended with {row}"), times as f64, "times");
        }
    }
    Ok(())
}

/// The schemes with which an advisor may end.
fn outcomes() -> impl Iterator<Item = (&'static str, SchemeKind)> {
    SCHEMES.into_iter().chain([("limited speculation", SchemeKind::LimitedSpeculation)])
}

/// The measured loads.
pub fn table(points: &Points) -> Table {
    let row = |cell: &LoadCase| {
        let name = cell.description();
        let of_best = points.get(&name, OF_BEST, "share")?;
        let rate = |row: &str| points.value(&name, row, THROUGHPUT).map_or_else(String::new, format::number);
        let spread = of_best.spread.map_or_else(String::new, |spread| format!(" ± {:.2}", spread / 2.0));
        let ended = outcomes().map(|(row, _)| (row, points.value(&name, AUTO, &format!("ended with {row}"))));
        let ended = ended.filter_map(|(row, times)| Some(format!("{} {row}", times.filter(|it| *it > 0.0)?)));
        let met = if of_best.value >= cell.goal() { "met" } else { "NOT MET" };
        let mut cells = vec![name.clone()];
        cells.extend(SCHEMES.iter().map(|(row, _)| rate(row)));
        cells.extend([rate(AUTO), ended.collect::<Vec<_>>().join(", ")]);
        cells.extend([format!("{:.2}{spread}", of_best.value), format!("{} {met}", cell.goal())]);
        Some(cells)
    };
    let header = ["real, round trip", "blocking", "speculation", "locking", AUTO, "ended with", "of the best", "goal"];
    Table { header: header.map(str::to_owned).to_vec(), rows: LOAD_CASES.iter().filter_map(row).collect() }
}
