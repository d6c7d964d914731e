//! The microbenchmark of hot rows, under every scheme: no increment is lost, none is made twice.

use glassbox_cluster::{SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Contention, Done, Link, Settings, World};
use glassbox_testing::dice::{Dice, seed, times};
use glassbox_workloads::contention::increments;

fn any(scheme: SchemeKind, seed: u64) -> Settings<Contention> {
    let mut dice = Dice(seed ^ 12);
    let mut share = || [0, 20_000, 200_000, 600_000][dice.place(4)];
    let (several, dependent, relists) = (share(), share(), share() / 2);
    let (hot, participants) = ([1, 3, 40][dice.place(3)], 2 + dice.below(3) as u8);
    let load = Contention { rows: 200, hot, several, participants, work_us: 0, dependent, relists };
    let journals = dice.one_in(2);
    Settings {
        partitions: participants + dice.below(2) as u8,
        clients: 2 + dice.below(12) as u32,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(60_000)) },
        patience_us: 3_000,
        journals,
        incidents: if journals { dice.below(3) as u32 } else { 0 },
        ..Settings::of_the_paper(scheme, load, seed)
    }
}

/// The increments of all primaries.
fn found(world: &mut World<Contention>) -> u64 {
    let mut sum = 0;
    for (_, is_primary, shard) in world.shards() {
        let mut next = is_primary.then_some(0);
        while let Some(from) = next {
            let (_, rows, after) = shard.stored(0, from, 1 << 16).expect("the counters are the first table");
            sum += increments(&rows).expect("they are counters");
            next = after;
        }
    }
    sum
}

#[test]
fn no_increment_is_lost_and_none_is_made_twice() {
    let schemes = SchemeKind::ALL.into_iter().chain(SchedulerKind::ALL.map(SchemeKind::Deterministic));
    let first = seed(1);
    let (mut listed, mut distributed) = (0, 0);
    for (seed, scheme) in (first..first + times(260, 20_000)).zip(schemes.cycle()) {
        let settings = any(scheme, seed);
        let mut world = World::new(settings);
        world.plan_incidents(6_000);
        let measured = world.run_us(6_000);
        world.finish().unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert_eq!(world.leftovers(), Vec::<String>::new(), "seed {seed}, {settings:?}");
        let (mut acknowledged, mut unknown) = (0, 0);
        for it in world.history() {
            match it.end {
                Done::Committed(incremented) => {
                    assert!([0, 10].contains(&incremented), "seed {seed}, {settings:?}: {incremented} of 10");
                    acknowledged += u64::from(incremented);
                    listed += u64::from(incremented > 0 && settings.load.dependent > 0);
                }
                Done::Unknown => unknown += 10,
                other => panic!("seed {seed}, {settings:?}: {other:?}"),
            }
        }
        let found = found(&mut world);
        let is_right = (acknowledged..=acknowledged + unknown).contains(&found) && found.is_multiple_of(10);
        assert!(is_right, "seed {seed}, {settings:?}: {acknowledged} acknowledged, {unknown} unknown, {found} found");
        distributed += measured.several;
    }
    assert!(listed > 1_000 && distributed > 1_000, "{listed} listed, {distributed} distributed");
}
