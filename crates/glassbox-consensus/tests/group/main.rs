//! Groups of members whose machines fail: what one has decided, no other decides otherwise, and nothing is lost.

mod world;

use world::{Faults, Planted, Verdict, World};

fn run(seed: u64, faults: Faults) -> (Verdict, World) {
    let mut world = World::new(seed, faults);
    let verdict = world.run(3_500_000).and_then(|()| world.end());
    (verdict, world)
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("GLASSBOX_SEED").unwrap_or(0);
    first..first + if std::env::var_os("GLASSBOX_LONG").is_some() { 100 * count } else { count }
}

#[test]
fn without_faults_one_leader_decides_everything() {
    let (verdict, world) = run(1, Faults::NONE);
    verdict.unwrap();
    assert_eq!(world.elections.len(), 1);
    assert!(world.proposed > 500, "{}", world.proposed);
}

#[test]
fn nothing_that_was_decided_is_lost() {
    let mut elections = 0;
    for seed in seeds(60) {
        let (verdict, world) = run(seed, Faults::ALL);
        verdict.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        elections += world.elections.len();
    }
    assert!(elections > 120, "leaders change: {elections}");
}

#[test]
fn the_same_seed_has_the_same_trace() {
    for seed in 0..3 {
        let traces = [(); 2].map(|()| run(seed, Faults::ALL).1.trace);
        assert!(traces[0] == traces[1] && traces[0].lines().count() > 100, "seed {seed}");
    }
}

/// The checks find what they are for.
#[test]
fn planted_faults_are_found() {
    for planted in [Planted::EarlyForce, Planted::Forgetting, Planted::CountingRemoved] {
        let found = (0..300).find(|&seed| run(seed, Faults { planted, ..Faults::ALL }).0.is_err());
        assert!(found.is_some(), "{planted:?}");
    }
}
