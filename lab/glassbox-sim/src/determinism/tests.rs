//! Rules of the model, small: the order of the log, a serial order, no lost input, progress, equal runs; and the shapes
//! that the paper's sentences name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use glassbox_cluster::SchedulerKind;

use super::settings::MS;
use super::{
    Admission, BusyPart, ConflictRule, DeterministicSettings, EvaluationSettings, OfferedLoad, RunReport, SlowNode,
    SystemKind, TwinSettings, TxnClass, WorkloadShape, evaluate,
};

const RULES: [ConflictRule; 5] = [
    ConflictRule::Detect,
    ConflictRule::DetectWithoutDeadlocks,
    ConflictRule::WaitDie,
    ConflictRule::NoWait,
    ConflictRule::Sorted,
];

fn deterministic(scheduler: SchedulerKind) -> SystemKind {
    SystemKind::Deterministic(DeterministicSettings::new(scheduler))
}

fn twin(rule: ConflictRule) -> SystemKind {
    SystemKind::Twin(TwinSettings::new(rule))
}

/// Four nodes for a few milliseconds, with every check.
fn small(system: SystemKind, shape: WorkloadShape) -> EvaluationSettings {
    let settings = EvaluationSettings::new(system, shape, 7);
    EvaluationSettings { nodes: 4, warm_up_ms: 20, measured_ms: 40, thorough: true, ..settings }
}

/// Eight nodes, as the figures have them.
fn rate(system: SystemKind, shape: WorkloadShape) -> f64 {
    let settings = EvaluationSettings { warm_up_ms: 50, measured_ms: 50, ..EvaluationSettings::new(system, shape, 1) };
    evaluate(&settings).per_node()
}

#[test]
fn every_system_executes_every_input_once_in_an_order_that_explains_it() {
    let systems = SchedulerKind::ALL.map(deterministic).into_iter().chain(RULES.map(twin));
    for system in systems {
        for (hot, participants) in [(10, 2), (100, 3), (100, 4)] {
            let shape = WorkloadShape::long(hot).with_distributed(0.3, participants);
            let report = evaluate(&small(system.clone(), shape));
            assert!(report.per_second() > 0.0, "{system:?}");
        }
        evaluate(&small(system.clone(), WorkloadShape::tpcc().with_distributed(0.3, 2)));
        let dependent = WorkloadShape { dependent: 0.5, volatility: 20.0, ..WorkloadShape::long(100) };
        evaluate(&small(system, dependent.with_distributed(0.5, 2)));
    }
}

/// Four nodes of one thread each, with clients that call again.
fn in_production(system: SystemKind, shape: WorkloadShape, pause_ns: u64) -> EvaluationSettings {
    let settings = EvaluationSettings::in_production(system, shape, 7);
    let offered = OfferedLoad::Clients { count: 40, pause_ns };
    EvaluationSettings { nodes: 4, warm_up_ms: 40, measured_ms: 40, offered, thorough: true, ..settings }
}

#[test]
fn one_thread_executes_every_input_once_and_pays_for_its_locks() {
    let rules = [ConflictRule::Detect, ConflictRule::WaitDie, ConflictRule::NoWait].map(twin);
    for system in SchedulerKind::ALL.map(deterministic).into_iter().chain(rules) {
        for (hot, pause_ns) in [(10, 0), (100, 2 * MS)] {
            let shape = WorkloadShape::short(hot).with_distributed(0.3, 3);
            let settings = in_production(system.clone(), shape, pause_ns);
            let report = evaluate(&settings);
            assert!(report.per_node() > 100.0 && report.per_node() < settings.cpu_bound(), "{system:?}");
        }
    }
    for (system, per_second) in [(SchedulerKind::OrderedLocks, 10_000.0), (SchedulerKind::Vll, 12_920.0)] {
        let settings = in_production(deterministic(system), WorkloadShape::short(10_000), 0);
        let offered = OfferedLoad::Clients { count: 500, pause_ns: 0 };
        let rate = evaluate(&EvaluationSettings { offered, ..settings }).per_node();
        assert!((rate / per_second - 1.0).abs() < 0.02, "{rate} instead of {per_second}");
    }
}

#[test]
#[should_panic(expected = "Sorted is impossible")]
fn clients_that_coordinate_cannot_lock_one_participant_after_the_other() {
    evaluate(&in_production(twin(ConflictRule::Sorted), WorkloadShape::short(100), 0));
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    for system in [deterministic(SchedulerKind::OrderedLocks), twin(ConflictRule::Detect)] {
        let run = |seed| -> RunReport {
            let shape = WorkloadShape::short(100).with_distributed(0.2, 2);
            evaluate(&EvaluationSettings { seed, ..small(system.clone(), shape) })
        };
        let first = run(3);
        assert_eq!(first, run(3));
        assert_ne!(first.events, run(4).events);
    }
}

/// The canary of the order: a lock thread that begins with the newest input is caught.
#[test]
#[should_panic(expected = "executes on row")]
fn a_lock_thread_that_does_not_follow_the_log_is_caught() {
    let kind = DeterministicSettings { is_canary: true, ..DeterministicSettings::new(SchedulerKind::OrderedLocks) };
    evaluate(&small(SystemKind::Deterministic(kind), WorkloadShape::long(10)));
}

/// The canary of admission: with the published rule the other half of a transaction that holds locks is never begun, so
/// the system stops for ever.
#[test]
fn a_twin_that_admits_no_parts_of_transactions_that_hold_locks_stops() {
    let run = |admission| {
        let system = SystemKind::Twin(TwinSettings { admission, ..TwinSettings::new(ConflictRule::Detect) });
        let shape = WorkloadShape::short(100).with_distributed(1.0, 2);
        let settings = EvaluationSettings::new(system, shape, 1);
        evaluate(&EvaluationSettings { warm_up_ms: 1_500, measured_ms: 200, ..settings }).per_second()
    };
    assert_eq!(run(Admission::AsPublished), 0.0, "it has stopped");
    assert!(run(Admission::PassesParts) > 1_000.0, "it goes on");
}

#[test]
fn a_run_without_progress_is_caught() {
    let shape = WorkloadShape::long(100);
    let settings =
        EvaluationSettings { offered: OfferedLoad::PerSecond(0.001), ..small(twin(ConflictRule::Detect), shape) };
    let settings = EvaluationSettings { warm_up_ms: 500, ..settings };
    assert!(catch_unwind(AssertUnwindSafe(|| evaluate(&settings))).is_err());
}

/// Figure 1: the limits at 0 % distributed, and the lead with contention.
#[test]
fn the_lock_thread_limits_short_transactions_and_contention_the_twin() {
    let (hash, vll) = (SchedulerKind::OrderedLocks, SchedulerKind::Vll);
    let near = |rate: f64, expected: f64| assert!((rate / expected - 1.0).abs() < 0.04, "{rate} instead of {expected}");
    near(rate(deterministic(hash), WorkloadShape::short(10_000)), 25_000.0);
    near(rate(deterministic(vll), WorkloadShape::short(10_000)), 57_500.0);
    near(rate(twin(ConflictRule::Detect), WorkloadShape::short(10_000)), 49_900.0);
    near(rate(deterministic(hash), WorkloadShape::long(10_000)), 19_067.0);
    near(rate(twin(ConflictRule::Detect), WorkloadShape::long(10_000)), 19_964.0);
    let contended = || WorkloadShape::long(100).with_distributed(0.5, 4);
    let (ordered, locked) = (rate(deterministic(hash), contended()), rate(twin(ConflictRule::Detect), contended()));
    assert!(ordered > 1.5 * locked, "{ordered} and {locked}");
}

/// Figure 3: from two to four participants.
#[test]
fn four_participants_halve_the_throughput_of_two() {
    for system in [deterministic(SchedulerKind::OrderedLocks), twin(ConflictRule::Detect)] {
        let of = |participants| rate(system.clone(), WorkloadShape::long(10_000).with_distributed(0.5, participants));
        let step = of(4) / of(2);
        assert!((0.4..0.65).contains(&step), "{step}");
    }
}

fn beside_a_slow_node(system: SystemKind, distributed: f64, max_lag_us: Option<u64>) -> (f64, f64) {
    let shape = WorkloadShape::long(1_000).with_distributed(distributed, 2);
    let settings = EvaluationSettings { nodes: 4, measured_ms: 500, ..EvaluationSettings::new(system, shape, 1) };
    let offered = OfferedLoad::PerSecond(0.95 * settings.cpu_bound());
    let run = |speed: f64| {
        let slow = Some(SlowNode { from_ms: 0, speed });
        evaluate(&EvaluationSettings { warm_up_ms: 2_500, offered, slow, max_lag_us, ..settings.clone() })
    };
    let (before, after) = (run(1.0), run(0.43));
    let others = |report: &RunReport| report.finished[..3].iter().sum::<u64>() as f64;
    (after.per_second() / before.per_second(), others(&after) / others(&before))
}

/// Figure 5a: only the slow node loses without distributed transactions, all do with them.
#[test]
fn a_slow_node_slows_down_all_as_soon_as_transactions_are_distributed() {
    for system in [deterministic(SchedulerKind::OrderedLocks), twin(ConflictRule::Detect)] {
        let (alone, others) = beside_a_slow_node(system.clone(), 0.0, None);
        assert!(alone > 0.80 && others > 0.99, "{alone}, {others}");
        let (all, _) = beside_a_slow_node(system, 0.2, None);
        assert!(all < 0.65, "{all}");
    }
}

/// Figure 5b: with local calls refused at the slow node, the others are as fast as before; also before the log.
#[test]
fn throttling_keeps_the_other_nodes_fast() {
    for system in [deterministic(SchedulerKind::OrderedLocks), twin(ConflictRule::Detect)] {
        let (_, others) = beside_a_slow_node(system, 0.1, Some(5_000));
        assert!(others > 0.95, "{others}");
    }
}

/// Figure 6: restarts follow the formula, and work before the lookup is done twice.
#[test]
fn an_outdated_set_is_restarted_as_often_as_the_formula_says() {
    let shape = WorkloadShape { dependent: 1.0, volatility: 10.0, ..WorkloadShape::long(10_000) };
    let system = deterministic(SchedulerKind::OrderedLocks);
    let settings = EvaluationSettings { measured_ms: 200, ..EvaluationSettings::new(system.clone(), shape, 1) };
    let report = evaluate(&settings);
    let (restarts, tries) = (report.restarts as f64, report.tries as f64);
    let exposed_s = report.exposed_ns as f64 / tries / 1e9;
    let expected = 1.0 - (-10.0 * exposed_s).exp();
    assert!(exposed_s > 0.005 && (restarts / tries / expected - 1.0).abs() < 0.15, "{restarts} of {tries}, {expected}");
    let before = |before_lookup| {
        rate(system.clone(), WorkloadShape { dependent: 1.0, before_lookup, ..WorkloadShape::long(10_000) })
    };
    let twice = before(1.0) / before(0.0);
    assert!((0.45..0.56).contains(&twice), "{twice}");
}

/// After three restarts a transaction locks its tables whole, and ends: nothing is restarted for ever. Each such lock
/// empties its nodes; where entries change seldom there is none.
#[test]
fn tables_that_are_locked_after_three_restarts_bound_the_restarts() {
    let run = |volatility, max_restarts| {
        let shape =
            WorkloadShape { dependent: 1.0, volatility, ..WorkloadShape::long(10_000).with_distributed(0.2, 2) };
        let paper = DeterministicSettings::new(SchedulerKind::OrderedLocks);
        let system = SystemKind::Deterministic(DeterministicSettings { max_restarts, ..paper });
        evaluate(&EvaluationSettings { nodes: 4, measured_ms: 200, ..EvaluationSettings::new(system, shape, 7) })
    };
    let per_try = |report: &RunReport| report.restarts as f64 / report.tries as f64;
    let of_paper = |volatility| run(volatility, Some(3)).per_second() / run(volatility, None).per_second();
    let kept = [1.0, 10.0].map(of_paper);
    assert!(kept[0] > 0.97 && kept[1] < 0.97, "throughput with locked tables over that without: {kept:?}");
    // Of four tries at most three are restarted.
    let often = [None, Some(3)].map(|most| per_try(&run(200.0, most)));
    assert!(often[0] > 0.85 && often[1] < 0.8, "restarts of a try: {often:?}");
}

/// Figures 2 and 7: two-phase commit and edges take time in the twin alone, an epoch in the deterministic system alone.
#[test]
fn each_system_pays_for_its_own_mechanisms() {
    let shape = || WorkloadShape::long(100).with_distributed(0.2, 2);
    let ordered = evaluate(&EvaluationSettings::new(deterministic(SchedulerKind::Vll), shape(), 1));
    let locked = evaluate(&EvaluationSettings::new(twin(ConflictRule::Detect), shape(), 1));
    let of = |report: &RunReport| [BusyPart::Deadlocks, BusyPart::Commit].map(|part| report.share(part));
    assert_eq!(of(&ordered), [0.0, 0.0]);
    assert!(of(&locked).into_iter().all(|share| share > 0.005), "{:?}", of(&locked));
    let median = |report: &RunReport| report.latencies(TxnClass::Local).at(0.5).unwrap_or(0);
    assert!(median(&ordered) > 5 * MS && median(&ordered) > 2 * median(&locked), "{}", median(&locked));
}
