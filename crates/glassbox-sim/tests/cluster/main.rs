//! Simulated clusters: every scheme, random loads, links that vary; what is right is always the same.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{Link, Load, Settings, World, checks};
use glassbox_sim::dice::{Dice, long, seed};

const SCHEMES: [SchemeKind; 5] = [
    SchemeKind::Blocking,
    SchemeKind::Speculation,
    SchemeKind::LocalSpeculation,
    SchemeKind::Locking,
    SchemeKind::ForcedLocking,
];

/// A load and a cluster, any of them, by the seed.
fn any(scheme: SchemeKind, seed: u64) -> Settings {
    let mut dice = Dice(seed);
    let mut share = || [0, 20_000, 200_000, 1_000_000][dice.place(4)];
    let load = Load { several: share(), conflicts: share(), aborts: share() / 4, two_rounds: share() };
    Settings {
        partitions: 2 + dice.below(3) as u8,
        replicas: 1 + dice.below(3) as u8,
        clients: 2 + dice.below(12) as u32,
        link: Link { base_ns: 1_000 + dice.below(100_000), tail_ns: dice.below(50_000) },
        patience_us: 3_000,
        ..Settings::of_the_paper(scheme, load, seed)
    }
}

#[test]
fn every_scheme_is_right_whatever_the_load() {
    let first = seed(1);
    for seed in first..first + if long() { 200_000 } else { 2_000 } {
        let scheme = SCHEMES[seed as usize % SCHEMES.len()];
        let settings = any(scheme, seed);
        let mut world = World::new(settings);
        world.run_us(5_000);
        let right = world.finish().and_then(|()| checks::all(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
    }
}

#[test]
fn nothing_is_lost_when_parts_of_it_fail() {
    let first = seed(1);
    for seed in first..first + if long() { 1_000_000 } else { 10_000 } {
        let scheme = SCHEMES[seed as usize % SCHEMES.len()];
        let mut settings = any(scheme, seed);
        settings.incidents = 1 + Dice(seed ^ 5).below(3) as u32;
        let mut world = World::new(settings);
        world.plan_incidents(3_000);
        world.run_us(3_000);
        let right = world.finish().and_then(|()| checks::all(&mut world));
        right.unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for scheme in SCHEMES {
        let run = || {
            let load = Load { several: 200_000, conflicts: 100_000, aborts: 50_000, two_rounds: 100_000 };
            let link = Link { base_ns: 20_000, tail_ns: 10_000 };
            let mut world = World::new(Settings { replicas: 2, link, ..Settings::of_the_paper(scheme, load, 77) });
            world.trace();
            world.run_us(3_000);
            world.finish().unwrap();
            world.traced()
        };
        let trace = run();
        assert!(trace.lines().count() > 100, "{} lines", trace.lines().count());
        assert_eq!(trace, run());
    }
}
