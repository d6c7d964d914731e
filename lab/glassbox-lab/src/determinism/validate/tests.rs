//! The model is within its bounds; a cost that only one of the two is charged with is found out.

use std::sync::PoisonError;

use glassbox_sim::determinism::ServiceTimes;

use super::points::GROUPS;
use super::*;
use crate::PROCESSORS;
use crate::claim::Outcome;
use crate::determinism::tests::Steps;

/// Long enough for throughput without conflicts.
fn small() -> ValidationPlan {
    ValidationPlan { warm_up_ms: 60, measured_ms: 60, rows: 20_000, ..ValidationPlan::new(true, 1) }
}

fn simulated(plan: &ValidationPlan, group: &'static PointGroup) -> Points {
    let _busy = PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner);
    run(plan, &[group], &Steps::all())
}

fn outcomes(points: &Points) -> Vec<Outcome> {
    claims(points).iter().map(Claim::outcome).collect()
}

#[test]
fn model_and_production_agree_where_processors_are_the_limit() {
    let points = simulated(&small(), &GROUPS[0]);
    assert_eq!(outcomes(&points), [Outcome::Own; 3]);
    let figures = section(&points).figures;
    assert!(figures.len() == 2 && figures.iter().all(|figure| figure.title.ends_with("(simulated)")));
    assert_eq!(tables(&points).iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [3, 3]);
}

/// A cost that the model alone is charged with.
#[test]
fn a_model_with_other_costs_than_production_is_found_out() {
    let times = ServiceTimes::default();
    let found = |modelled: ServiceTimes, group: &'static PointGroup| {
        outcomes(&simulated(&ValidationPlan { modelled, ..small() }, group))
    };
    let locks =
        ServiceTimes { lock_ns: times.lock_ns * 6 / 5, lock_vll_ns: times.lock_vll_ns * 6 / 5, ..times.clone() };
    assert_eq!(found(locks, &GROUPS[0]), [Outcome::Unexplained; 3], "locks that cost 20 % more");
    let records = ServiceTimes { record_ns: times.record_ns * 6 / 5, ..times.clone() };
    assert_eq!(found(records, &GROUPS[0]), [Outcome::Unexplained; 3], "records that cost 20 % more");
    let messages = ServiceTimes { message_ns: 3 * times.message_ns, ..times };
    assert_eq!(found(messages, &GROUPS[1]), [Outcome::Unexplained; 3], "messages that cost three times as much");
}
