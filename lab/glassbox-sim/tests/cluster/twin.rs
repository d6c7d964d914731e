//! Simulated clusters under two-phase locking, by each rule for deadlocks.

use glassbox_cluster::{DeadlockRule, OrderSettings, SchemeKind};
use glassbox_sim::cluster::{ALL, Bug, Load, Settings, checks};
use glassbox_testing::dice::{Dice, seed, times};

use super::{
    Checker, any, atomicity, calls_beside_a_slow_partition, is_repeated, is_right, judge, progress, serializability,
};

/// With failures of all kinds, changes of the scheme, and clients that go.
fn failing(rule: DeadlockRule, seed: u64) -> Settings {
    let mut dice = Dice(seed ^ 11);
    let mut settings = any(SchemeKind::TwoPhase(rule), seed);
    settings.incidents = dice.below(4) as u32;
    settings.switches = [0, 0, 0, 3][dice.place(4)];
    settings.partings = [0, 0, 4][dice.place(3)];
    settings.coordinators = 1 + [0, 0, 1][dice.place(3)];
    settings.clock_skew_us = [0, 50_000][dice.place(2)];
    settings.order.max_lag_us = [0, 0, 300][seed as usize % 3];
    (settings.journals, settings.outages) = [(false, 0), (true, dice.below(3) as u32)][dice.place(2)];
    settings
}

/// The paper's slow machine, as for deterministic schemes: its own calls are refused until the others' are in time.
#[test]
fn calls_on_a_slow_partition_are_refused_by_it() {
    let load = Load { several: ALL / 20, ..Load::default() };
    let settings = Settings::of_the_paper(SchemeKind::TwoPhase(DeadlockRule::Graph), load, 1);
    calls_beside_a_slow_partition(Settings { patience_us: 100_000, ..settings });
}

fn nothing_is_lost(rule: DeadlockRule) {
    let first = seed(1);
    for seed in first..first + times(1_500, 25_000) {
        let settings = failing(rule, seed);
        is_right(settings, 3_000);
    }
}

#[test]
fn nothing_is_lost_with_the_graph() {
    nothing_is_lost(DeadlockRule::Graph);
}

#[test]
fn nothing_is_lost_with_timeouts() {
    nothing_is_lost(DeadlockRule::Timeout);
}

#[test]
fn nothing_is_lost_with_wait_die() {
    nothing_is_lost(DeadlockRule::WaitDie);
}

#[test]
fn nothing_is_lost_with_no_wait() {
    nothing_is_lost(DeadlockRule::NoWait);
}

#[test]
fn nothing_is_lost_with_sorted_acquisition() {
    nothing_is_lost(DeadlockRule::Sorted);
}

/// Only the laboratory has runs without two-phase commit. Without aborts and failures nothing is lost where all
/// participants have their locks before one commits; where a participant aborts, the others have committed.
#[test]
fn without_two_phase_commit_an_abort_leaves_half_a_transaction() {
    let of = |load, seed| {
        let settings = Settings::of_the_paper(SchemeKind::TwoPhase(DeadlockRule::Sorted), load, seed);
        let order = OrderSettings { without_commit: true, ..settings.order };
        Settings { clients: 8, order, ..settings }
    };
    let load = Load { several: ALL / 2, ..Load::default() };
    for seed in 0..20 {
        let judged = judge(of(load, seed), 5_000, checks::all);
        judged.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
    let aborts = Load { aborts: ALL / 4, ..load };
    assert!(
        (0..20).any(|seed| judge(of(aborts, seed), 5_000, atomicity).is_err()),
        "half a transaction goes unnoticed"
    );
}

#[test]
fn every_checker_detects_its_bug_under_two_phase_locking() {
    let load = Load { several: ALL / 2, conflicts: ALL / 4, ..Load::default() };
    let two_rounds = Load { several: ALL, two_rounds: ALL, ..load };
    for rule in DeadlockRule::ALL {
        let of = |bug, load| Settings {
            replicas: 2,
            clients: 8,
            bug: Some(bug),
            ..Settings::of_the_paper(SchemeKind::TwoPhase(rule), load, 3)
        };
        let parted = Settings { partings: 8, ..of(Bug::MissedSessionEnd, load) };
        for (settings, checker) in [
            (of(Bug::HalfCommit, load), serializability as Checker),
            (of(Bug::StaleRows, two_rounds), serializability),
            (of(Bug::HalfAbort, Load { aborts: ALL / 4, ..load }), atomicity),
            (parted, progress),
        ] {
            let notices = (0..40).any(|seed| judge(Settings { seed, ..settings }, 5_000, checker).is_err());
            assert!(notices, "{rule:?}: {:?} goes unnoticed", settings.bug);
            let right = judge(Settings { bug: None, ..settings }, 5_000, checks::all);
            right.unwrap_or_else(|why| panic!("{rule:?}, without {:?}: {why}", settings.bug));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_under_two_phase_locking() {
    for rule in DeadlockRule::ALL {
        is_repeated(Settings { incidents: 2, ..any(SchemeKind::TwoPhase(rule), 76) }, 3_000);
    }
}
