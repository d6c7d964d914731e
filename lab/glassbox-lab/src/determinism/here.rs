//! Two partitions on this machine: real runs of both systems, and the simulator's prediction of them.
//!
//! Here: production's schemes under the microbenchmark of [`glassbox_workloads::micro`], on one thread and with one for
//! each machine; the same state machines in the virtual time of [`glassbox_sim::cluster`]. Two costs are fitted for
//! each system: a transaction on one partition to the real throughput without distributed ones, a fragment to that with
//! nothing else. The throughput at all shares between is a prediction, and it is compared.

use std::time::Duration;

use glassbox_cluster::run::Shape;
use glassbox_cluster::{DeadlockRule, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{ALL, Costs, Link, Load, Settings, World};

use super::plot::Plot;
use crate::claim::{self, Claim, goal};
use crate::measurement::{Progress, Spread};
use crate::points::Points;
use crate::real::{CLIENTS, Threading, Trial, run};
use crate::section::{Figure, Section, Table};

/// In results, the experiment: on this machine, with its predictions.
pub const EXPERIMENT: &str = "determinism-here";
const ONE: &str = "Two partitions, one thread";
const MANY: &str = "Two partitions, threads";
const THROUGHPUT: &str = "throughput";
const SYSTEMS: [(&str, SchemeKind); 4] = [
    ("deterministic, hash", SchemeKind::Deterministic(SchedulerKind::OrderedLocks)),
    ("deterministic, VLL", SchemeKind::Deterministic(SchedulerKind::Vll)),
    ("two-phase", SchemeKind::TwoPhase(DeadlockRule::Graph)),
    ("two-phase, no-wait", SchemeKind::TwoPhase(DeadlockRule::NoWait)),
];
const FIGURES: [(&str, Threading); 2] = [(ONE, Threading::One), (MANY, Threading::Many)];
/// Steps towards a fitted cost.
const FITTED: usize = 8;
/// The delay of a message between threads: a little less than a round trip's half between two that are awake.
const BETWEEN_THREADS_NS: u64 = 3_000;

/// The extent of the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HerePlan {
    /// Shares of transactions on two partitions, in percent, from 0 to 100.
    pub shares: Vec<u64>,
    /// Measurements of each, interleaved.
    pub rounds: usize,
    /// The warm-up of each.
    pub warm_up: Duration,
    /// The measured time of each.
    pub time: Duration,
    /// Virtual time of each prediction, and a fifth of it before.
    pub virtual_us: u64,
    /// Seed of the inputs.
    pub seed: u64,
}

impl HerePlan {
    /// The full measurement, or a quick one.
    pub fn new(quick: bool, seed: u64) -> Self {
        let ms = Duration::from_millis;
        if quick {
            let (shares, virtual_us) = (vec![0, 20, 50, 100], 20_000);
            return Self { shares, rounds: 1, warm_up: ms(20), time: ms(80), virtual_us, seed };
        }
        let (shares, virtual_us) = (vec![0, 5, 10, 20, 30, 50, 75, 100], 100_000);
        Self { shares, rounds: 5, warm_up: ms(100), time: ms(300), virtual_us, seed }
    }
}

fn predicted(system: &str) -> String {
    format!("{system}, simulated")
}

fn load(percent: u64) -> Load {
    Load { several: percent * ALL / 100, ..Load::default() }
}

/// Measures all systems, and predicts them; on an interrupt, the results so far.
///
/// # Errors
/// When a cluster fails, or a check fails afterwards.
pub fn measure(plan: &HerePlan, watch: &dyn Progress) -> anyhow::Result<Points> {
    let mut points = Points::default();
    let cells: Vec<_> =
        FIGURES.iter().flat_map(|figure| plan.shares.iter().map(move |share| (*figure, *share))).collect();
    let mut rates = vec![[const { Vec::new() }; SYSTEMS.len()]; cells.len()];
    for round in 0..plan.rounds {
        for (at, ((figure, threads), share)) in cells.iter().enumerate() {
            if watch.interrupted() {
                return Ok(points);
            }
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &format!("{figure}, {share} %"));
            for (rates, (_, scheme)) in rates[at].iter_mut().zip(SYSTEMS) {
                let (shape, load, threads) = (Shape::new(scheme, 2), load(*share), *threads);
                let (auto, seed, &HerePlan { warm_up, time, .. }) = (false, plan.seed + round as u64, plan);
                rates.push(
                    run(&Trial { shape, threads, auto, load, clients: CLIENTS, warm_up, time, seed })?.per_second,
                );
            }
        }
    }
    for (((figure, _), share), rates) in cells.iter().zip(rates) {
        for (rates, (system, _)) in rates.into_iter().zip(SYSTEMS) {
            let spread = Spread::of(rates);
            points.put(figure, system, *share as f64, THROUGHPUT, spread.median, "1/s");
            points.0.last_mut().expect("it was added").spread = spread.middle_half();
        }
    }
    for (figure, threads) in FIGURES {
        for (system, scheme) in SYSTEMS {
            predict(plan, (figure, threads), (system, scheme), &mut points);
        }
    }
    Ok(points)
}

/// Fits the costs of a system, and adds its predictions.
fn predict(
    plan: &HerePlan,
    (figure, threads): (&str, Threading),
    (system, scheme): (&str, SchemeKind),
    points: &mut Points,
) {
    let rate = |share: u64| points.at(figure, system, share as f64, THROUGHPUT).map(|point| point.value);
    let (Some(none), Some(all)) = (rate(0), rate(100)) else { return };
    let simulated = |costs: &Costs, share: u64| {
        let (link, processors) = match threads {
            Threading::One => (Link::of(0), 1),
            Threading::Many => (Link::of(BETWEEN_THREADS_NS), all_processors()),
        };
        let settings = Settings::of_the_paper(scheme, load(share), plan.seed);
        let processors = Some(processors);
        let settings = Settings { clients: CLIENTS, costs: *costs, link, processors, ..settings };
        let mut world = World::new(settings);
        world.keep_history(false);
        world.run_us(plan.virtual_us / 5);
        world.run_us(plan.virtual_us).per_second
    };
    let mut costs = Costs {
        single_ns: 0,
        single_undo_ns: 0,
        fragment_ns: 0,
        shared_message_ns: 0,
        decide_ns: 0,
        locking_thousandths: 0,
        fragment_locking_thousandths: 0,
        stopped_ns: 0,
        undo_ns: 0,
        coordinator_message_ns: 0,
        client_ns: 0,
        client_message_ns: 0,
        participant_message_ns: 0,
        push_ns: 0,
    };
    let single = fit(none, |ns| simulated(&Costs { single_ns: ns, single_undo_ns: ns, ..costs }, 0));
    (costs.single_ns, costs.single_undo_ns) = (single, single);
    costs.fragment_ns = fit(all, |ns| simulated(&Costs { fragment_ns: ns, ..costs }, 100));
    points.put(figure, system, 0.0, "single", costs.single_ns as f64, "ns");
    points.put(figure, system, 100.0, "fragment", costs.fragment_ns as f64, "ns");
    for share in &plan.shares {
        points.put(figure, &predicted(system), *share as f64, THROUGHPUT, simulated(&costs, *share), "1/s");
    }
}

/// The cost with which a system has this throughput, which falls with the cost, at most as fast as its inverse.
fn fit(per_second: f64, simulated: impl Fn(u64) -> f64) -> u64 {
    let mut ns = 1e9 / per_second;
    for _ in 0..FITTED {
        ns = (ns * simulated(ns as u64) / per_second).clamp(10.0, 1e7);
    }
    ns as u64
}

fn all_processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

const fn plot(figure: &'static str, title: &'static str) -> Plot {
    Plot {
        figure,
        title,
        caption: "The microbenchmark of twelve reads and writes, without conflicts; the simulated curves are fitted at \
                  0 and 100 %.",
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit: "% of transactions on two partitions",
        x_names: &[],
    }
}

const PLOTS: [Plot; 2] = [plot(ONE, "measured and predicted"), plot(MANY, "measured and predicted, two cores")];

/// The question of the section.
const QUESTION: &str = "What do the deterministic system and two-phase locking make on this machine, and does the \
                        simulator predict it?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("deterministic, hash and VLL", "the deterministic system with one of its two schedulers"),
    ("two-phase", "two-phase locking with two-phase commit; a graph of waits finds deadlocks"),
    ("two-phase, no-wait", "the same, in which a transaction restarts instead of waiting for a lock"),
    ("simulated", "the same state machines in virtual time, with two fitted costs for each system"),
];
/// How it is measured.
const LEAD: &str = "Production's clusters of two partitions in one process, and the same in virtual time.";

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let rate = |system: &str, share: f64| points.at(ONE, system, share, THROUGHPUT).map(|point| point.value);
    let gain = |share| Some(rate(SYSTEMS[0].0, share)? / rate(SYSTEMS[2].0, share)?);
    let none = gain(0.0)?;
    let all = gain(100.0)?;
    let claims = claims(points);
    let met = claims.iter().filter(|claim| claim.holds()).count();
    Some(format!(
        "On one thread the deterministic system (hash) makes {none:.2} times the transactions of two-phase locking \
         where all are on one partition, and {all:.2} times as many where all are on two. Of {} curves, the simulator \
         predicts {met} to 15 %.",
        claims.len()
    ))
}

/// The section of a report.
pub fn section(points: &Points) -> Section {
    let mut figures: Vec<Figure> = PLOTS.iter().filter_map(|plot| plot.draw_as(points, false)).collect();
    let table = claims_table(points);
    figures.push(Figure::of_table("Simulated over measured", "The worst of all shares between 0 and 100 %.", table));
    Section {
        id: EXPERIMENT.to_owned(),
        title: "Deterministic execution on this machine".to_owned(),
        question: QUESTION,
        is_supplement: true,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: String::new(),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: String::new(),
        notes: Vec::new(),
        figures,
    }
}

fn claims_table(points: &Points) -> Table {
    claim::table("predictions", &claims(points)).unwrap_or_else(|| Table::new(&["predictions"], Vec::new()))
}

/// All tables, for the terminal.
pub fn tables(points: &Points) -> Vec<Table> {
    let mut tables: Vec<Table> = PLOTS.iter().filter_map(|plot| plot.table_as(points, false)).collect();
    tables.push(claims_table(points));
    tables
}

/// For each system, the worst prediction.
pub fn claims(points: &Points) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (figure, _) in FIGURES {
        for (system, _) in SYSTEMS {
            let of = |row: &str, x: f64| points.at(figure, row, x, THROUGHPUT).map(|point| point.value);
            let xs = points.0.iter().filter(|it| it.figure == figure && it.row == system && it.metric == THROUGHPUT);
            let ratios = xs.filter_map(|it| Some(of(&predicted(system), it.x)? / it.value));
            let worst = ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
            claims.extend(goal((figure, system), "0.85 to 1.15", worst, (0.85, 1.15), "times"));
        }
    }
    claims
}

/// Adds the claims to the results.
pub fn put_claims(points: &mut Points) {
    claim::put(&claims(points), points);
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::PROCESSORS;
    use crate::measurement::Silent;

    #[test]
    fn a_cost_is_fitted_to_a_rate() {
        for ns in [80, 3_000, 400_000] {
            let fitted = fit(1e9 / ns as f64, |ns| 1e9 / ns as f64);
            assert!(fitted.abs_diff(ns) <= ns / 100 + 1, "{fitted} for {ns}");
        }
    }

    /// Too short for its numbers.
    #[test]
    fn every_system_is_run_and_predicted() {
        let _busy = PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = Duration::from_millis;
        let plan =
            HerePlan { shares: vec![0, 50, 100], rounds: 1, warm_up: ms(10), time: ms(40), virtual_us: 2_000, seed: 1 };
        let mut points = measure(&plan, &Silent).unwrap();
        put_claims(&mut points);
        assert_eq!((claims(&points).len(), tables(&points).len(), section(&points).figures.len()), (8, 3, 3));
        for claim in claims(&points) {
            assert!((0.05..20.0).contains(&claim.here), "{claim:?}");
        }
    }
}
