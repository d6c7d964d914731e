//! The constants of the simulator's table of costs, measured on this machine.
//!
//! The state machines are given the messages that they would get, one thread alone, and the time is taken that they
//! need: of a transaction on one partition, of a fragment, of a decision, of what a coordinator does with a message.
//! Locks are taken among those of others. What the queues cost is what a client and a partition that always have
//! something to do need beyond that, as two threads and on one; what those of a transaction on two partitions have to
//! carry besides is what all need beyond it on one thread, with nothing else to do. What a round trip really takes is
//! measured between threads: a client calls, on one partition or on two, and waits, and nobody else does anything.
//!
//! What is not in it: waking whoever sleeps, but for the round trip; caches that more than two threads share; what
//! takes longer the more transactions are under way.

mod draw;
mod machines;
mod round;
mod round_trip;
pub mod tables;

use glassbox_sim::cluster::{Costs, Link};
use serde::{Deserialize, Serialize};

use crate::points::{Point, Points};
use crate::spread::Spread;
use crate::watch::Watch;

pub use round_trip::INJECTED_US;

/// In results, the experiment.
pub const EXPERIMENT: &str = "calibrate";
/// In results, the table of costs.
pub const COSTS: &str = "costs";
/// In results, the same of TPC-C.
pub const COSTS_OF_TPCC: &str = "costs, TPC-C";
/// In results, those of the microbenchmark where everybody works on one thread.
pub const COSTS_ON_ONE_THREAD: &str = "costs, one thread";
/// In results, the same where messages are held up: when each is to arrive is looked up.
pub const COSTS_ON_ONE_THREAD_LATE: &str = "costs, one thread, held up";
/// In results, what round trips take.
pub const ROUND_TRIP: &str = "round trip";

/// In results, the calls that are waited for between threads: on one partition and on two, by a coordinator.
const CALLS: [&str; 2] = ["between threads", "between threads, on two partitions"];
const ALL_COSTS: [&str; 4] = [COSTS, COSTS_OF_TPCC, COSTS_ON_ONE_THREAD, COSTS_ON_ONE_THREAD_LATE];

/// The tables of costs that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostTables {
    /// Of the microbenchmark.
    #[serde(flatten)]
    pub micro: Costs,
    /// Of TPC-C.
    pub tpcc: Costs,
    /// Of the microbenchmark where everybody works on one thread: messages cost less.
    pub on_one_thread: Costs,
    /// The same where messages are held up, so that somebody looks at the clock for each.
    pub on_one_thread_late: Costs,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Times that everything is measured, interleaved.
    pub rounds: usize,
    /// Batches of each kind of work in a round.
    pub batches: usize,
    /// Calls that are waited for, of each round trip, in a round.
    pub calls: usize,
}

impl Plan {
    /// Everything, or a first look.
    pub const fn new(quick: bool) -> Self {
        if quick {
            Self { rounds: 3, batches: 40, calls: 100 }
        } else {
            Self { rounds: 11, batches: 400, calls: 1_000 }
        }
    }
}

/// Measures, and adds to `points`.
///
/// # Errors
/// When the engine fails.
pub fn calibrate(plan: &Plan, watch: &dyn Watch, points: &mut Points) -> anyhow::Result<()> {
    let mut rounds: [Vec<round::Round>; 4] = Default::default();
    let mut round_trips = vec![[const { Vec::new() }; CALLS.len()]; INJECTED_US.len()];
    for round in 0..plan.rounds {
        if watch.interrupted() {
            break;
        }
        watch.step(round, plan.rounds, "calibrating");
        for (all, one) in rounds.iter_mut().zip(machines::measure(plan.batches)?) {
            all.push(one);
        }
        for (all, injected_us) in round_trips.iter_mut().zip(INJECTED_US) {
            for (all, partitions) in all.iter_mut().zip([1, 2]) {
                all.push(round_trip::measure(partitions, injected_us, plan.calls)?);
            }
        }
    }
    anyhow::ensure!(!rounds[0].is_empty(), "interrupted before anything was measured");
    for (figure, rounds) in ALL_COSTS.into_iter().zip(&rounds) {
        for (metric, unit, of) in round::METRICS {
            put(points, figure, metric, 0.0, metric, unit, Spread::of(rounds.iter().map(of)));
        }
    }
    for (all, injected_us) in round_trips.into_iter().zip(INJECTED_US) {
        for (kind, all) in CALLS.into_iter().zip(all) {
            put(points, ROUND_TRIP, kind, injected_us as f64, "reached", "µs", Spread::of(all));
        }
    }
    Ok(())
}

fn put(points: &mut Points, figure: &str, row: &str, x: f64, metric: &str, unit: &str, spread: Spread) {
    let [figure, row, metric, unit] = [figure, row, metric, unit].map(str::to_owned);
    let (value, spread) = (spread.median, spread.middle_half());
    points.0.push(Point { figure, row, x, metric, value, spread, unit });
}

/// The tables of costs that were measured; `None`: something is missing.
pub fn costs(points: &Points) -> Option<CostTables> {
    let [micro, tpcc, on_one_thread, on_one_thread_late] = ALL_COSTS.map(|it| table(points, it));
    Some(CostTables {
        micro: micro?,
        tpcc: tpcc?,
        on_one_thread: on_one_thread?,
        on_one_thread_late: on_one_thread_late?,
    })
}

fn table(points: &Points, figure: &str) -> Option<Costs> {
    let of = |metric: &str| points.value(figure, metric, metric);
    let ns = |metric: &str| of(metric).map(|ns| ns.round().max(0.0) as u64);
    Some(Costs {
        single_ns: ns("t_sp")?,
        single_undo_ns: ns("t_spS")?,
        fragment_ns: ns("fragment")?,
        decide_ns: ns("decision")?,
        locking_thousandths: ns("l")?,
        fragment_locking_thousandths: ns("l of a fragment")?,
        stopped_ns: ns("stopped")?,
        undo_ns: ns("undo")?,
        coordinator_message_ns: ns("coordinator's message")?,
        client_ns: ns("client")?,
        // The same machine does it.
        client_message_ns: ns("coordinator's message")?,
    })
}

/// What links between threads are like when this round trip is injected. A message takes half of what a call on one
/// partition takes without the work that is in it; from a coordinator and to one, a quarter of what one on two takes:
/// so many threads are awake then, and where there are fewer cores they wait for one.
pub fn link(points: &Points, injected_us: u64) -> Option<Link> {
    let costs = costs(points)?.micro;
    let one_way = |kind: &str, work_ns: u64, ways: u64| {
        let reached = points.at(ROUND_TRIP, kind, injected_us as f64, "reached")?.value * 1e3;
        Some(((reached - work_ns as f64) / ways as f64).max(injected_us as f64 * 500.0) as u64)
    };
    let on_two_ns = costs.client_ns + 8 * costs.coordinator_message_ns + costs.fragment_ns;
    let base_ns = one_way(CALLS[0], costs.single_ns + costs.client_ns, 2)?;
    Some(Link { coordinator_ns: one_way(CALLS[1], on_two_ns, 4)?, ..Link::of(base_ns) })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always;

    impl Watch for Always {
        fn step(&self, _: usize, _: usize, _: &str) {}

        fn interrupted(&self) -> bool {
            false
        }
    }

    /// How large the numbers are depends on the machine; that there are all does not.
    #[test]
    fn everything_is_measured() {
        let (mut points, mut tries) = (Points::default(), 0);
        // What is taken off for looking at the clock is a guess: on a busy machine it can be more than all there is.
        let costs = loop {
            points.0.clear();
            calibrate(&Plan { rounds: 1, batches: 3, calls: 3 }, &Always, &mut points).unwrap();
            let costs = costs(&points).expect("no number is missing");
            let is_there = |it: &Costs| it.single_ns > 0 && it.fragment_ns > 0 && it.coordinator_message_ns > 0;
            if is_there(&costs.micro) && is_there(&costs.tpcc) {
                break costs;
            }
            tries += 1;
            assert!(tries < 100, "{costs:?}");
        };
        let text = serde_json::to_string(&costs).unwrap();
        assert_eq!(serde_json::from_str::<CostTables>(&text).unwrap(), costs);
        for injected_us in INJECTED_US {
            let link = link(&points, injected_us).unwrap();
            assert!(link.base_ns.min(link.coordinator_ns) >= injected_us * 500);
        }
        assert_eq!(tables::costs(&points).rows.len(), round::METRICS.len());
        assert_eq!(tables::round_trips(&points).rows.len(), INJECTED_US.len());
    }
}
