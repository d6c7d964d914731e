//! Clusters under an agreement without journals: a process that is started again has nothing. A member that agreed
//! votes in another incarnation, and a replica takes the rows of another one.

use glassbox_cluster::{Address, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Bug, Link, Load, Settings, World, checks, forgetting};
use glassbox_testing::dice::{Dice, seed, times};

use super::{agreement, failover, is_repeated, parted, replica_sets};

const VLL: SchemeKind = SchemeKind::Deterministic(SchedulerKind::Vll);

/// A random load and cluster under every scheme, of three or five members that agree. Partitions keep for each other
/// what they have sent: a replica that was away for too long would need rows of another one, which may fail meanwhile.
fn any(seed: u64) -> Settings {
    let mut dice = Dice(seed ^ 15);
    let settings = match dice.below(4) {
        0 => agreement::any(seed),
        1 => replica_sets::any(seed),
        _ => failover::any(seed),
    };
    let order = OrderSettings { members: 0, kept_kb: 0, ..settings.order };
    Settings { coordinators: [3, 3, 5][dice.place(3)], journals: false, outages: 0, order, ..settings }
}

/// A finding about a run with its failures.
fn judge(settings: Settings) -> Result<(), String> {
    let mut world = World::new(settings);
    world.plan_incidents(40_000);
    world.run_us(40_000);
    world.finish_with_joins()?;
    checks::all(&mut world).map_err(|why| format!("{why}: {:?}", world.reports))
}

/// Members fail alone, but for those whose loss is that of a majority or of all rows; some are cut off, their clocks
/// differ, and clients stop.
#[test]
fn members_that_have_forgotten_everything_come_back() {
    let first = seed(1);
    for seed in first..first + times(2_000, 200_000) {
        let mut dice = Dice(seed ^ 16);
        let settings = Settings { incidents: dice.below(7) as u32, ..parted(&mut dice, any(seed)) };
        judge(settings).unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    (0..6).for_each(|seed| is_repeated(Settings { incidents: 3, ..any(seed) }, 40_000));
}

/// Three members that agree, and two replicas of each of two partitions.
fn small(scheme: SchemeKind) -> Settings {
    let load = Load { several: 200_000, conflicts: 20_000, ..Load::default() };
    let order = OrderSettings { agreement: agreement::AGREEMENT, ..OrderSettings::default() };
    Settings {
        replicas: 2,
        coordinators: 3,
        clients: 6,
        order,
        link: Link::of(10_000),
        ..Settings::of_the_paper(scheme, load, 3)
    }
}

/// One after the other: in the end no process is one of the beginning.
#[test]
fn every_process_is_replaced_and_the_cluster_goes_on() {
    for scheme in [VLL, SchemeKind::Speculation, SchemeKind::Locking, SchemeKind::Occ] {
        let mut world = World::new(small(scheme));
        let replicas = (0..2).flat_map(|partition| (0..2).map(move |replica| Address::Replica { partition, replica }));
        for member in (0..3).map(Address::Coordinator).chain(replicas) {
            world.run_us(60_000);
            world.kill(member);
            world.run_us(60_000);
            world.start_again();
            world.run_us(60_000);
            assert_eq!(forgetting::agreeing(&world), 3, "{scheme}: after the return of {member}");
        }
        let after = world.run_us(60_000).finished;
        assert!(after > 100, "{scheme}: {after} calls in the end");
        world.finish().and_then(|()| checks::all(&mut world)).unwrap_or_else(|why| panic!("{scheme}: {why}"));
        assert_eq!(world.shards().len(), 4, "{scheme}: each replica has the rows");
    }
}

/// A majority that has forgotten what it voted, or all: no call is ordered any more, and each member says why.
#[test]
fn a_cluster_whose_majority_has_forgotten_the_log_stops() {
    let is_left = |number: &u16, count: usize| usize::from(*number) >= count;
    for count in [2, 3] {
        let mut world = World::new(small(VLL));
        world.run_us(50_000);
        (0..count as u16).for_each(|number| world.kill(Address::Coordinator(number)));
        world.run_us(5_000);
        world.start_again();
        world.run_us(20_000);
        let before = forgetting::calls(&mut world);
        world.run_us(400_000);
        let stopped = forgetting::end_disagreeing(&mut world);
        let left = (0..3).filter(|it| is_left(it, count)).map(Address::Coordinator);
        assert!(
            left.clone().all(|it| stopped.iter().any(|(me, _)| *me == it)),
            "{count}: {stopped:?} {:?}",
            world.reports
        );
        // The others stop once all have forgotten.
        world.start_again();
        world.run_us(400_000);
        let more = forgetting::end_disagreeing(&mut world);
        assert_eq!(more.len(), 3, "{count}: {more:?}");
        for (_, why) in stopped.iter().chain(&more) {
            assert!(why.contains("the log of the cluster is lost") && why.contains("begin another cluster"), "{why}");
        }
        assert_eq!(forgetting::calls(&mut world), before, "{count}: a call was answered");
    }
}

/// Two of three members are started again, one after the other; a member that votes again under its former number, of
/// which nothing is known to have been lost, lets two logs be decided.
#[test]
fn a_vote_under_the_former_number_is_detected() {
    let is_wrong = |seed, bug| {
        let settings = Settings { incidents: 8, partings: 0, bug, ..any(seed) };
        let judged = std::panic::catch_unwind(|| judge(settings));
        judged.map_or_else(|_| true, |judged| judged.is_err())
    };
    assert!((0..200).any(|seed| is_wrong(seed, Some(Bug::OldIncarnation))), "it goes unnoticed");
    assert!((0..20).all(|seed| !is_wrong(seed, None)), "without the bug");
}
