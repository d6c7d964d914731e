//! Deterministic clusters: every scheduler, random loads, and the properties that always hold.

use glassbox_cluster::{OrderSettings, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{ALL, Bug, Costs, Link, Load, Settings, Tpcc, World, checks};
use glassbox_testing::dice::{Dice, seed, times};
use glassbox_workloads::tpcc::{Mix, Remote, Scale};

use super::{
    Checker, atomicity, calls_beside_a_slow_partition, durability, is_repeated, is_right, judge, parted, progress,
    serializability,
};

fn scheme(seed: u64) -> SchemeKind {
    SchemeKind::Deterministic(SchedulerKind::ALL[seed as usize % SchedulerKind::ALL.len()])
}

/// A random load and cluster.
pub fn any(seed: u64) -> Settings {
    let mut dice = Dice(seed);
    let mut share = || [0, 20_000, 200_000, 1_000_000][dice.place(4)];
    let load = Load { several: share(), conflicts: share(), aborts: share() / 4, two_rounds: share() };
    Settings {
        partitions: 2 + dice.below(3) as u8,
        clients: 2 + dice.below(12) as u32,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(100_000)) },
        order: OrderSettings {
            epoch_us: [0, 0, 500, 10_000][dice.place(4)],
            max_lag_us: [0, 0, 300][dice.place(3)],
            by_clocks: false,
            again_at_once: [0, 1, 3, 10][seed as usize / 3 % 4],
            ..OrderSettings::new()
        },
        ..Settings::of_the_paper(scheme(seed), load, seed)
    }
}

#[test]
fn every_property_holds_under_every_scheduler_and_load() {
    let first = seed(1);
    for seed in first..first + times(1_500, 100_000) {
        let settings = any(seed);
        let mut world = World::new(settings);
        let measured = world.run_us(12_000);
        let right = world.finish().and_then(|()| checks::all(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(measured.finished > 0, "seed {seed}, {settings:?}");
    }
}

/// A participant that was restarted learned of another one's abort before it had sent its rows, and did not send them:
/// when the other one was restarted too, it waited for them for ever.
const FOUND_WHEN_BOTH_RESTART: [u64; 1] = [3_349];

/// Members that fail alone or all at once, connections that are cut, clients that stop.
#[test]
fn nothing_is_lost_and_nothing_is_executed_twice() {
    let first = seed(1);
    for seed in (first..first + times(3_000, 300_000)).chain(FOUND_WHEN_BOTH_RESTART) {
        let mut dice = Dice(seed ^ 5);
        let settings = Settings {
            journals: true,
            incidents: dice.below(4) as u32,
            outages: [0, 1, 2][dice.place(3)],
            ..parted(&mut dice, any(seed))
        };
        is_right(settings, 4_000);
    }
}

/// One or two hot backups: the sequencer and they fail, are replaced while they run, and come back.
#[test]
fn a_hot_backup_takes_over() {
    let first = seed(1);
    for seed in first..first + times(2_000, 300_000) {
        let mut dice = Dice(seed ^ 6);
        let journals = dice.one_in(2);
        let settings = Settings {
            coordinators: 2 + dice.below(2) as u16,
            journals,
            incidents: 1 + dice.below(5) as u32,
            outages: if journals { dice.below(2) as u32 } else { 0 },
            partings: [0, 0, 2][dice.place(3)],
            clock_skew_us: [0, 50_000][dice.place(2)],
            ..any(seed)
        };
        is_right(settings, 4_000);
    }
}

/// Several sequencers, each with a clock of its own: fast, slow, and restarted with another clock.
#[test]
fn sequencers_order_by_their_clocks() {
    let first = seed(1);
    for seed in first..first + times(1_500, 200_000) {
        let mut dice = Dice(seed ^ 7);
        let (journals, settings) = (dice.one_in(2), any(seed));
        let epoch_us = [200, 1_000][dice.place(2)];
        let settings = Settings {
            coordinators: 2 + dice.below(3) as u16,
            order: OrderSettings { epoch_us, by_clocks: true, ..settings.order },
            journals,
            incidents: if journals { dice.below(4) as u32 } else { 0 },
            outages: if journals { dice.below(2) as u32 } else { 0 },
            partings: [0, 0, 2][dice.place(3)],
            clock_skew_us: [0, 3_000][dice.place(2)],
            ..settings
        };
        is_right(settings, 4_000);
    }
}

/// Epochs of a fixed time, as in the paper: every call waits for the end of one, on average for half of it.
#[test]
fn epochs_of_a_fixed_time_are_sealed_when_it_is_over() {
    for scheduler in SchedulerKind::ALL {
        let load = Load { several: ALL / 10, ..Load::default() };
        let of = |epoch_us| {
            let order = OrderSettings { epoch_us, ..OrderSettings::default() };
            let scheme = SchemeKind::Deterministic(scheduler);
            let mut world = World::new(Settings { clients: 10, order, ..Settings::of_the_paper(scheme, load, 1) });
            world.run_us(1_000_000).finished
        };
        let (fixed, free) = (of(10_000), of(0));
        // Each client waits for an epoch's end, and calls again within the next one.
        assert!((950..=1_000).contains(&fixed), "{scheduler:?}: {fixed} calls in 100 epochs with 10 clients");
        assert!(free > fixed * 5, "{scheduler:?}: {free} calls in epochs that seal themselves");
    }
}

/// The paper's slow machine: with distributed transactions it slows down all others, unless calls on it are refused.
#[test]
fn calls_on_a_slow_partition_are_refused_before_they_are_ordered() {
    // Under `Serial` all partitions wait for the slow one, and under `Vll` transactions that share a counter with one
    // that waits: both make the others late, too.
    let load = Load { several: ALL / 20, ..Load::default() };
    let scheme = SchemeKind::Deterministic(SchedulerKind::OrderedLocks);
    calls_beside_a_slow_partition(Settings::of_the_paper(scheme, load, 1));
}

/// Many distributed transactions, and a small population, which is loaded sooner.
const LOAD: Tpcc = Tpcc {
    scale: Scale { warehouses: 4, items: 100, customers: 10, orders: 10 },
    mix: Mix::Full,
    remote: Remote { order_lines: 5.0, payments: 30.0 },
};

#[test]
fn the_conditions_of_tpcc_hold() {
    let first = seed(1);
    for seed in first..first + times(90, 10_000) {
        let mut dice = Dice(seed);
        let journals = dice.one_in(2);
        let settings = Settings {
            partitions: 2 + dice.below(2) as u8,
            clients: 2 + dice.below(12) as u32,
            link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(100_000)) },
            journals,
            incidents: if journals { dice.below(3) as u32 } else { 0 },
            ..Settings::of_the_paper_s_tpcc(scheme(seed), LOAD, seed)
        };
        let mut world = World::new(settings);
        world.plan_incidents(6_000);
        let measured = world.run_us(6_000);
        let right = world.finish().and_then(|()| checks::tpcc(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(measured.finished > 0, "seed {seed}, {settings:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..3 {
        let load = Load { several: 200_000, conflicts: 100_000, aborts: 50_000, two_rounds: 100_000 };
        let order = OrderSettings::default();
        is_repeated(Settings { load, order, ..any(seed) }, 12_000);
    }
}

#[test]
fn every_checker_detects_its_bug() {
    let load = Load { several: ALL / 2, conflicts: ALL / 2, ..Load::default() };
    let aborts = Load { aborts: ALL / 4, ..load };
    let two_rounds = Load { several: ALL, two_rounds: ALL, ..load };
    let single = Load { several: 0, ..load };
    for scheduler in SchedulerKind::ALL {
        let of = |bug, load| Settings {
            clients: 12,
            bug: Some(bug),
            ..Settings::of_the_paper(SchemeKind::Deterministic(scheduler), load, 3)
        };
        // An answer is there before the force that it did not wait for has ended.
        let costs = Costs { single_undo_ns: 1_000, coordinator_message_ns: 1_000, ..Costs::of_the_paper() };
        let quick = Settings { costs, link: Link::of(1_000), ..of(Bug::UnforcedAck, single) };
        let killed = Settings { journals: true, outages: 6, ..quick };
        // The sequencer counts on hot backups that do not receive its stream.
        let followed = Settings { coordinators: 2, incidents: 6, ..of(Bug::FalseAck, load) };
        let order = OrderSettings { epoch_us: 200, by_clocks: true, ..OrderSettings::default() };
        let ahead = Settings { coordinators: 2, order, ..of(Bug::FalseClock, load) };
        // Epochs have several inputs only while a force goes on.
        let reordered = Settings { journals: true, ..of(Bug::InputsReordered, load) };
        for (settings, checker) in [
            (of(Bug::StaleExchange, two_rounds), serializability as Checker),
            (reordered, checks::all),
            (of(Bug::FalseVote, aborts), atomicity),
            (of(Bug::LostVote, load), progress),
            (killed, durability),
            (followed, checks::all),
            (ahead, checks::all),
        ] {
            let notices = (0..40).any(|seed| judge(Settings { seed, ..settings }, 5_000, checker).is_err());
            assert!(notices, "{scheduler:?}: {:?} goes unnoticed", settings.bug);
            let right = judge(Settings { bug: None, ..settings }, 5_000, checks::all);
            right.unwrap_or_else(|why| panic!("without {:?}: {why}", settings.bug));
        }
    }
}
