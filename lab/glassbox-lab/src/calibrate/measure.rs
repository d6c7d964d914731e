//! Measures all costs, round after round.

use super::costs::{ALL_COSTS, CALLS, CostSample, METRICS, ROUND_TRIP};
use super::machines::{self, INJECTED_US};
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};

/// In results, the experiment.
pub const EXPERIMENT: &str = "calibrate";
/// The extent of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalibrationPlan {
    /// Rounds, in each of which everything is measured.
    pub rounds: usize,
    /// BatchTimes of each kind of work in a round.
    pub batches: usize,
    /// Synchronous calls in a round, for each round trip.
    pub calls: usize,
}

impl CalibrationPlan {
    /// The full measurement, or a quick one.
    pub const fn new(quick: bool) -> Self {
        if quick {
            Self { rounds: 3, batches: 40, calls: 100 }
        } else {
            Self { rounds: 11, batches: 400, calls: 1_000 }
        }
    }
}

/// Measures, and adds the results to `points`.
///
/// # Errors
/// When the engine fails.
pub fn calibrate(plan: &CalibrationPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<()> {
    let mut rounds: [Vec<CostSample>; 4] = Default::default();
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
                all.push(machines::round_trip(partitions, injected_us, plan.calls)?);
            }
        }
    }
    anyhow::ensure!(!rounds[0].is_empty(), "interrupted before anything was measured");
    for (figure, rounds) in ALL_COSTS.into_iter().zip(&rounds) {
        for (metric, unit, of) in METRICS {
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

#[cfg(test)]
mod tests {
    use glassbox_sim::cluster::Costs;

    use super::super::costs::{CostTables, costs, link};
    use super::super::tables;
    use super::*;

    struct Always;

    impl Progress for Always {
        fn step(&self, _: usize, _: usize, _: &str) {}

        fn interrupted(&self) -> bool {
            false
        }
    }

    /// The values depend on the machine; their completeness does not.
    #[test]
    fn everything_is_measured() {
        let (mut points, mut tries) = (Points::default(), 0);
        // The cost of the clock is estimated: on a busy machine it may exceed the measured time.
        let costs = loop {
            points.0.clear();
            calibrate(&CalibrationPlan { rounds: 1, batches: 3, calls: 3 }, &Always, &mut points).unwrap();
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
        assert_eq!(tables::costs(&points).rows.len(), METRICS.len());
        assert_eq!(tables::round_trips(&points).rows.len(), INJECTED_US.len());
    }
}
