//! Simulated clusters: every scheme, random loads and links, and the properties that always hold.

mod agreement;
mod contention;
mod dependent;
mod deterministic;
mod failover;
mod histories;
mod memory;
#[path = "../common/planted.rs"]
mod planted;
mod replica_sets;
mod tpcc;
mod twin;

use glassbox_cluster::{Address, OrderSettings, SchemeKind};
use glassbox_sim::cluster::{ALL, Bug, Link, Load, Settings, World, checks};
use glassbox_testing::dice::{Dice, seed, times};

/// Clusters are built and dropped by the thousand; the system's allocator would return their memory each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCHEMES: [SchemeKind; 7] = SchemeKind::LOW_OVERHEAD;

/// A random load and cluster.
fn any(scheme: SchemeKind, seed: u64) -> Settings {
    let mut dice = Dice(seed);
    let mut share = || [0, 20_000, 200_000, 1_000_000][dice.place(4)];
    let load = Load { several: share(), conflicts: share(), aborts: share() / 4, two_rounds: share() };
    let mut of_order = Dice(seed ^ 13);
    let tick_us = [0, 0, 0, 20 + of_order.below(1_000) as u32][of_order.place(4)];
    Settings {
        order: OrderSettings { tick_us, overlap: of_order.below(3) == 0, ..OrderSettings::default() },
        partitions: 2 + dice.below(3) as u8,
        replicas: 1 + dice.below(3) as u8,
        clients: 2 + dice.below(12) as u32,
        link: Link {
            tail_ns: dice.below(50_000),
            lost: [0, 0, 1_000, 50_000][dice.place(4)],
            ..Link::of(1_000 + dice.below(100_000))
        },
        patience_us: 3_000,
        ..Settings::of_the_paper(scheme, load, seed)
    }
}

#[test]
fn every_property_holds_under_every_scheme_and_load() {
    let first = seed(1);
    for seed in first..first + times(2_000, 200_000) {
        let scheme = SCHEMES[seed as usize % SCHEMES.len()];
        let settings = any(scheme, seed);
        let mut world = World::new(settings);
        world.run_us(5_000);
        let right = world.finish().and_then(|()| checks::all(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
    }
}

/// All transactions need one of two rows, on two partitions and in two rounds. Under locking fewer than half as many
/// got through as under blocking when a transaction that waited for a row was in a deadlock with those behind it.
#[test]
fn every_scheme_makes_progress_under_contention() {
    let load = Load { several: ALL, conflicts: ALL, aborts: 0, two_rounds: ALL };
    for scheme in SCHEMES {
        let mut world = World::new(Settings::of_the_paper(scheme, load, 1));
        let parts: Vec<_> = (0..16).map(|_| world.run_us(50_000)).collect();
        assert!(parts.iter().all(|part| part.finished > 100), "{scheme}: {parts:?}");
    }
}

fn nothing_is_lost(scheme: SchemeKind) {
    let first = seed(1);
    for seed in first..first + times(2_000, 1_000_000) {
        let mut settings = any(scheme, seed);
        settings.incidents = 1 + Dice(seed ^ 5).below(3) as u32;
        is_right(settings, 3_000);
    }
}

macro_rules! when_parts_of_it_fail {
    ($($name:ident: $scheme:ident)*) => {
        $(#[test]
        fn $name() {
            nothing_is_lost(SchemeKind::$scheme);
        })*

        #[test]
        fn all_schemes_are_tested() {
            assert_eq!(SCHEMES, [$(SchemeKind::$scheme),*]);
        }
    };
}

when_parts_of_it_fail! {
    nothing_is_lost_under_blocking: Blocking
    nothing_is_lost_under_speculation: Speculation
    nothing_is_lost_under_limited_speculation: LimitedSpeculation
    nothing_is_lost_under_local_speculation: LocalSpeculation
    nothing_is_lost_under_locking: Locking
    nothing_is_lost_under_forced_locking: ForcedLocking
    nothing_is_lost_under_occ: Occ
}

/// The schemes under which several coordinators make one order.
const ORDERED: [SchemeKind; 4] =
    [SchemeKind::Blocking, SchemeKind::Speculation, SchemeKind::LocalSpeculation, SchemeKind::LimitedSpeculation];

/// Several coordinators, any of which may fail, with changes of the scheme.
fn several_coordinators(seed: u64) -> Settings {
    let mut dice = Dice(seed ^ 7);
    Settings {
        coordinators: 2 + dice.below(2) as u16,
        clients: 2 + dice.below(30) as u32,
        incidents: dice.below(4) as u32,
        switches: [0, 0, 0, 2][dice.place(4)],
        ..any(ORDERED[seed as usize % ORDERED.len()], seed)
    }
}

#[test]
fn several_coordinators_make_one_order() {
    let first = seed(1);
    for seed in first..first + times(2_000, 500_000) {
        let settings = several_coordinators(seed);
        is_right(settings, 3_000);
    }
}

#[test]
fn the_scheme_can_change_during_a_run() {
    let first = seed(1);
    for seed in first..first + times(1_500, 200_000) {
        let scheme = SCHEMES[seed as usize % SCHEMES.len()];
        let mut settings = any(scheme, seed);
        let mut dice = Dice(seed ^ 6);
        settings.switches = 1 + dice.below(4) as u32;
        settings.incidents = dice.below(3) as u32;
        settings.advice_us = [0, 300][dice.place(2)];
        is_right(settings, 3_000);
    }
}

/// A live client counted on a vote that the heir of its session did not know; a coordinator restarted a transaction
/// whose abort by the client came too late.
const FOUND_WHEN_CLIENTS_GO: [u64; 2] = [1_089, 3_856];

#[test]
fn a_stopped_clients_transactions_are_ended_by_others() {
    let first = seed(1);
    for seed in (first..first + times(3_000, 500_000)).chain(FOUND_WHEN_CLIENTS_GO) {
        let scheme = SCHEMES[seed as usize % SCHEMES.len()];
        let mut settings = any(scheme, seed);
        let mut dice = Dice(seed ^ 8);
        settings.partings = 1 + dice.below(6) as u32;
        settings.incidents = [0, 0, 1, 3][dice.place(4)];
        settings.switches = [0, 0, 2, 8][dice.place(4)];
        settings.coordinators = 1 + [0, 0, 1][dice.place(3)];
        is_right(settings, 3_000);
    }
}

/// Power failures, restarts of all members and resumes from journals, with all other failures.
fn power(seed: u64) -> Settings {
    let mut settings = any(SCHEMES[seed as usize % SCHEMES.len()], seed);
    let mut dice = Dice(seed ^ 9);
    (settings.journals, settings.outages) = (true, dice.below(4) as u32);
    settings.incidents = [0, 0, 1, 3][dice.place(4)];
    settings.switches = [0, 0, 2][dice.place(3)];
    settings.partings = [0, 0, 4][dice.place(3)];
    settings.coordinators = 1 + [0, 0, 1][dice.place(3)];
    settings
}

#[test]
fn forced_changes_survive_power_failures() {
    let first = seed(1);
    for seed in first..first + times(3_000, 1_000_000) {
        let settings = power(seed);
        is_right(settings, 3_000);
    }
}

/// A checker's finding about a run of this time, with its failures.
fn judge(settings: Settings, us: u64, checker: Checker) -> Result<(), String> {
    let mut world = World::new(settings);
    world.plan_incidents(us);
    world.run_us(us);
    world.finish()?;
    checker(&mut world)
}

/// Two runs of this time, with their failures, have the same trace.
fn is_repeated(settings: Settings, us: u64) {
    let run = || {
        let mut world = World::new(settings);
        world.trace();
        world.plan_incidents(us);
        world.run_us(us);
        world.finish().unwrap();
        world.traced()
    };
    let trace = run();
    assert!(trace.lines().count() > 100, "{} lines", trace.lines().count());
    assert_eq!(trace, run());
}

/// These first seeds have the same trace each time, with failures and an outage.
fn seeds_are_repeated(count: u64, any: impl Fn(u64) -> Settings) {
    for seed in 0..count {
        is_repeated(Settings { incidents: 3, outages: 1, ..any(seed) }, 40_000);
    }
}

/// The same, in which some clients stop or lose connections, and some clocks differ.
fn parted<W>(dice: &mut Dice, settings: Settings<W>) -> Settings<W> {
    let (partings, clock_skew_us) = ([0, 0, 2][dice.place(3)], [0, 50_000][dice.place(2)]);
    Settings { partings, clock_skew_us, ..settings }
}

/// Every property holds in a run of this time, with its failures.
fn is_right(settings: Settings, us: u64) {
    judge(settings, us, checks::all).unwrap_or_else(|why| panic!("seed {}, {settings:?}: {why}", settings.seed));
}

/// One of four partitions is eight times slower, and refuses calls: the others go on as before, and it does an eighth.
fn calls_beside_a_slow_partition(settings: Settings) {
    let of = |max_lag_us: u32, times: u64| {
        let order = OrderSettings { max_lag_us, ..OrderSettings::default() };
        let mut world = World::new(Settings { partitions: 4, clients: 200, order, ..settings });
        world.keep_history(false);
        world.slow_down(Address::Replica { partition: 0, replica: 0 }, times);
        world.run_us(1_500_000);
        (world.run_us(500_000).finished, world.refused())
    };
    let (before, few) = of(5_000, 1);
    let (slow, none) = of(0, 8);
    let (admitted, refused) = of(5_000, 8);
    let reached = admitted as f64 / (before as f64 * (3.0 + 1.0 / 8.0) / 4.0);
    assert!(slow * 4 < before, "{before} before, {slow} with a slow partition");
    assert!(reached > 0.95, "{before} before, {admitted} with a slow partition on which calls are refused");
    assert!(none == 0 && few * 5 < refused, "{refused} refused, {few} before, {none} where none may be");
}

type Checker = fn(&mut World) -> Result<(), String>;

fn serializability(world: &mut World) -> Result<(), String> {
    checks::serializability(&world.history())
}

fn durability(world: &mut World) -> Result<(), String> {
    let history = world.history();
    checks::durability(world, &history)
}

fn atomicity(world: &mut World) -> Result<(), String> {
    let history = world.history();
    checks::atomicity(world, &history)
}

fn progress(world: &mut World) -> Result<(), String> {
    let history = world.history();
    checks::progress(world, &history)
}

#[test]
fn every_checker_detects_its_bug() {
    let all = 1_000_000;
    let load = Load { several: all / 2, conflicts: all / 4, ..Load::default() };
    let of = |bug, load| Settings {
        replicas: 2,
        clients: 8,
        bug: Some(bug),
        ..Settings::of_the_paper(SchemeKind::Blocking, load, 3)
    };
    let single = Load { several: 0, ..load };
    let killed = Settings { incidents: 6, ..of(Bug::FalseAck, single) };
    let switched = Settings { incidents: 6, switches: 6, ..of(Bug::MissedScheme, load) };
    let aborts = Load { aborts: all / 4, ..load };
    let two_rounds = Load { several: all, two_rounds: all, ..load };
    let link = Link { tail_ns: 50_000, ..Link::of(20_000) };
    let two = |bug, load| Settings { coordinators: 2, link, ..of(bug, load) };
    let dense = Load { several: all, conflicts: all / 2, ..aborts };
    let speculating = Settings { scheme: SchemeKind::Speculation, clients: 24, ..two(Bug::MissedWithdrawal, dense) };
    let parted = Settings { scheme: SchemeKind::Locking, partings: 8, ..of(Bug::MissedSessionEnd, load) };
    let journals = |bug| Settings { journals: true, outages: 6, replicas: 1, ..of(bug, load) };
    for (settings, checker) in [
        (of(Bug::HalfCommit, load), serializability as Checker),
        (of(Bug::StaleRows, two_rounds), serializability),
        (of(Bug::HalfAbort, aborts), atomicity),
        (of(Bug::ForgottenEntry, single), checks::replicas),
        (killed, durability),
        (switched, checks::all),
        (of(Bug::LostDecision, load), progress),
        (two(Bug::Unordered, load), checks::all),
        (speculating, checks::all),
        (parted, progress),
        (journals(Bug::UnforcedAck), durability),
        (Settings { replicas: 2, incidents: 8, ..journals(Bug::OldHeir) }, checks::all),
    ] {
        // A change of the scheme that a backup missed is noticed only if the backup is promoted afterwards.
        let notices = (0..400).any(|seed| judge(Settings { seed, ..settings }, 5_000, checker).is_err());
        assert!(notices, "{:?} goes unnoticed", settings.bug);
        let right = judge(Settings { bug: None, ..settings }, 5_000, checks::all);
        right.unwrap_or_else(|why| panic!("without {:?}: {why}", settings.bug));
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for scheme in SCHEMES {
        let load = Load { several: 200_000, conflicts: 100_000, aborts: 50_000, two_rounds: 100_000 };
        let link = Link { tail_ns: 10_000, ..Link::of(20_000) };
        is_repeated(Settings { replicas: 2, link, ..Settings::of_the_paper(scheme, load, 77) }, 3_000);
    }
}
