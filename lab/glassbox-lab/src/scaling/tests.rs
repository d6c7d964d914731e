//! The runs of a plan, and the tables and figures of their numbers.

use super::plan::ScaledRun;
use super::tables::{OF_SIDE_BY_SIDE, THROUGHPUT};
use super::{CountedRun, ScaledForm, ScaledSystem, ScalingPlan, numbers_of_cores, section, tables};
use crate::points::Points;

#[test]
fn powers_of_two_and_all_cores_are_measured() {
    assert_eq!(numbers_of_cores(1), [1]);
    assert_eq!(numbers_of_cores(2), [1, 2]);
    assert_eq!(numbers_of_cores(6), [1, 2, 4, 6]);
    assert_eq!(numbers_of_cores(8), [1, 2, 4, 8]);
}

#[test]
fn one_core_is_measured_once() {
    let plan = ScalingPlan {
        systems: vec![ScaledSystem::NoLog],
        cores: vec![1, 2],
        warehouses: 1,
        small: true,
        in_flight: 1,
        seconds: 0.1,
        rounds: 1,
        dir: ".".into(),
        seed: 1,
    };
    let run = |cores, form| ScaledRun { system: ScaledSystem::NoLog, cores, form };
    let [any, own, apart] = ScaledForm::ALL;
    assert_eq!(plan.runs(), [run(1, any), run(2, any), run(2, own), run(2, apart)]);
}

#[test]
fn a_counted_run_is_read_as_it_is_written() {
    for system in ScaledSystem::ALL {
        let run = CountedRun { system, cores: 7 };
        assert_eq!(run.to_string().parse(), Ok(run));
    }
    for wrong in ["no-log", "no-log/0", "no-log/65", "other/1", "no-log/x"] {
        assert!(wrong.parse::<CountedRun>().is_err(), "{wrong}");
    }
}

#[test]
fn throughput_is_a_table_and_a_curve() {
    let mut points = Points::default();
    let system = ScaledSystem::Classic;
    for (cores, of_forms) in [(1.0, [10.0, 10.0, 10.0]), (2.0, [15.0, 18.0, 20.0])] {
        for (form, value) in ScaledForm::ALL.into_iter().zip(of_forms) {
            points.put(system.name(), form.name(), cores, THROUGHPUT, value, "transactions/s");
        }
    }
    points.put(system.name(), ScaledForm::Any.name(), 2.0, OF_SIDE_BY_SIDE, 0.75, "ratio");
    let table = tables::throughput(&points, system).unwrap();
    assert_eq!(table.rows[1], ["2", "15.0", "18.0", "20.0", "0.750", ""]);
    assert!(tables::throughput(&points, ScaledSystem::NoLog).is_none(), "it was not measured");
    points.put(system.name(), ScaledForm::Own.name(), 2.0, OF_SIDE_BY_SIDE, 0.9, "ratio");
    let section = section(&points);
    assert!(section.lead.ends_with("to their own: Classic, log forced 0.75 and 0.90."), "{}", section.lead);
    let figures = section.figures;
    assert_eq!(figures[0].title, "Classic, log forced: throughput");
    assert!(figures[0].svg.contains("side by side"));
}
