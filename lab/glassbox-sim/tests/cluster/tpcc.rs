//! TPC-C in simulated clusters: its conditions hold under every scheme and all failures.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Link, Settings, Tpcc, World, checks};
use glassbox_testing::dice::{Dice, seed, times};
use glassbox_workloads::tpcc::{Mix, Remote, Scale};

/// Many distributed transactions, and a small population, which is loaded sooner.
const LOAD: Tpcc = Tpcc {
    scale: Scale { warehouses: 4, items: 100, customers: 10, orders: 10 },
    mix: Mix::Full,
    remote: Remote { order_lines: 5.0, payments: 30.0 },
};

fn any(scheme: SchemeKind, seed: u64) -> Settings<Tpcc> {
    let mut dice = Dice(seed);
    Settings {
        partitions: 2 + dice.below(2) as u8,
        replicas: 1 + dice.below(2) as u8,
        clients: 2 + dice.below(12) as u32,
        coordinators: 1 + dice.below(3) as u16,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(100_000)) },
        patience_us: 3_000,
        incidents: [0, 2][dice.place(2)],
        switches: [0, 0, 0, 2][dice.place(4)],
        ..Settings::of_the_paper_s_tpcc(scheme, LOAD, seed)
    }
}

#[test]
fn the_conditions_hold_with_all_failures() {
    let first = seed(1);
    for seed in first..first + times(60, 10_000) {
        let settings = any(SchemeKind::ALL[seed as usize % SchemeKind::ALL.len()], seed);
        let mut world = World::new(settings);
        world.plan_incidents(6_000);
        let measured = world.run_us(6_000);
        let right = world.finish().and_then(|()| checks::tpcc(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(measured.finished > 0 && measured.several <= measured.finished, "seed {seed}: {measured:?}");
    }
}

#[test]
fn the_checks_detect_a_half_commit() {
    use glassbox_sim::cluster::Bug;
    let notices = |bug, seed| {
        let settings = Settings { bug, replicas: 1, incidents: 0, ..any(SchemeKind::Blocking, seed) };
        let mut world = World::new(settings);
        world.run_us(20_000);
        world.finish().and_then(|()| checks::tpcc(&mut world)).is_err()
    };
    for bug in [Bug::HalfCommit, Bug::LostDecision] {
        assert!((1..6).any(|seed| notices(Some(bug), seed)), "{bug:?} goes unnoticed");
    }
    assert!((1..6).all(|seed| !notices(None, seed)));
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = || {
        let mut world = World::new(any(SchemeKind::Speculation, 5));
        world.trace();
        world.run_us(3_000);
        world.finish().unwrap();
        world.traced()
    };
    let trace = run();
    assert!(trace.lines().count() > 100 && trace == run());
}

/// The paper's numbers: 10.7 % with two warehouses, 7.2 with four, 5.7 with twenty.
#[test]
fn as_many_transactions_are_distributed_as_in_the_paper() {
    for (warehouses, percent) in [(2, 10.7), (4, 7.2), (20, 5.7)] {
        let scale = Scale { warehouses, ..LOAD.scale };
        let load = Tpcc { scale, remote: Remote::SPECIFICATION, ..LOAD };
        let mut world = World::new(Settings::of_the_paper_s_tpcc(SchemeKind::Blocking, load, 1));
        let measured = world.run_us(500_000);
        let here = 100.0 * measured.several as f64 / measured.finished as f64;
        assert!((here - percent).abs() < 0.6, "{warehouses} warehouses: {here:.1} %, {} in all", measured.finished);
    }
}

/// Two hot warehouses, and distributed deadlocks. A restarted transaction once got the locks before those that had
/// waited for them, for ever.
#[test]
fn locking_and_occ_make_progress_under_contention() {
    let scale = Scale { warehouses: 2, items: 1_000, customers: 30, orders: 30 };
    let load = Tpcc { scale, remote: Remote::SPECIFICATION, ..LOAD };
    for (scheme, seed) in
        [(SchemeKind::Locking, 1), (SchemeKind::Occ, 1), (SchemeKind::Locking, 2), (SchemeKind::Occ, 2)]
    {
        let mut world = World::new(Settings::of_the_paper_s_tpcc(scheme, load, seed));
        let parts: Vec<_> = (0..16).map(|_| world.run_us(50_000)).collect();
        assert!(parts.iter().all(|part| part.finished > 100), "{scheme}: {parts:?}");
        assert!(parts.iter().map(|part| part.retries).sum::<u64>() > 10, "{scheme}: no deadlocks: {parts:?}");
    }
}
