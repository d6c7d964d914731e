//! Clusters without an input log whose coordinators agree by majority: primaries, backups and coordinators fail, and no
//! operator decides.

use glassbox_cluster::{Address, DeadlockRule, OrderSettings, SchemeKind};
use glassbox_sim::cluster::{Bug, Costs, Link, Load, Settings, World, checks};
use glassbox_testing::dice::{Dice, seed, times};

use super::{agreement, is_right, judge, parted, seeds_are_repeated};

/// A random load and cluster under each scheme in turn, of one, three or five coordinators.
pub fn any(seed: u64) -> Settings {
    let mut dice = Dice(seed ^ 11);
    let settings = super::any(SchemeKind::ALL[seed as usize % SchemeKind::ALL.len()], seed);
    let coordinators = [1, 3, 3, 5][dice.place(4)];
    let members = agreement::members(seed, coordinators);
    Settings {
        coordinators,
        order: OrderSettings { agreement: agreement::AGREEMENT, members, ..settings.order },
        journals: true,
        clients: settings.clients.min(4),
        ..settings
    }
}

/// Members fail alone or all at once, are cut off, and their clocks differ; clients stop.
#[test]
fn primaries_backups_and_coordinators_succeed_each_other() {
    let first = seed(1);
    for seed in first..first + times(2_000, 200_000) {
        let mut dice = Dice(seed ^ 12);
        let settings =
            Settings { incidents: dice.below(5) as u32, outages: dice.below(2) as u32, ..parted(&mut dice, any(seed)) };
        is_right(settings, 40_000);
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    seeds_are_repeated(10, any);
}

/// Two partitions with a backup each, and three coordinators.
fn small(scheme: SchemeKind) -> Settings {
    let load = Load { several: 200_000, conflicts: 20_000, ..Load::default() };
    let order = OrderSettings { agreement: agreement::AGREEMENT, ..OrderSettings::default() };
    let link = Link::of(20_000);
    let settings = Settings::of_the_paper(scheme, load, 5);
    Settings { replicas: 2, coordinators: 3, clients: 8, order, journals: true, link, ..settings }
}

/// A primary, a backup and the elected coordinator are gone; others do their work, and they come back as backups.
#[test]
fn others_go_on_without_a_member_and_it_comes_back() {
    let replica = |partition, replica| Address::Replica { partition, replica };
    for scheme in SchemeKind::ALL {
        for member in [Some(replica(0, 0)), Some(replica(1, 1)), None] {
            let mut world = World::new(small(scheme));
            let before = world.run_us(200_000).finished;
            world.kill(member.unwrap_or_else(|| world.elected()));
            world.run_us(250_000);
            let without = world.run_us(100_000).finished;
            assert!(without > before / 4, "{scheme}, {member:?}: {without} after {before}");
            world.start_again();
            world.run_us(100_000);
            world.finish().and_then(|()| checks::all(&mut world)).unwrap_or_else(|why| panic!("{scheme}: {why}"));
            assert_eq!(world.shards().len(), 4, "{scheme}, {member:?}: each replica has the rows");
        }
    }
}

/// Case 35: the elected coordinator reaches a primary and its backup, which are cut from each other. The bound is that
/// for a silent replica, twenty elections, and an election.
#[test]
fn a_cut_between_a_primary_and_its_backup_stops_the_partition_no_longer_than_a_silent_backup() {
    const CUT_US: u64 = 500_000;
    let replica = |replica| Address::Replica { partition: 0, replica };
    let election_us = u64::from(agreement::AGREEMENT.map_or(0, |it| it.election_ms)) * 1_000;
    let few = [SchemeKind::Speculation, SchemeKind::TwoPhase(DeadlockRule::WaitDie)];
    for (replicas, both_ways, schemes) in [(2, true, &SchemeKind::ALL[..]), (2, false, &few), (3, true, &few)] {
        for (number, &scheme) in schemes.iter().enumerate() {
            let (seed, link) = (number as u64, Link::of(200_000));
            let mut world = World::new(Settings { replicas, clients: 4, seed, link, ..small(scheme) });
            let before = world.run_us(200_000).finished;
            for other in 1..replicas {
                world.cut(replica(0), replica(other), CUT_US);
                world.cut(replica(other), replica(0), if both_ways { CUT_US } else { 0 });
            }
            world.run_us(21 * election_us);
            let meanwhile = world.run_us(5 * election_us).finished;
            assert!(meanwhile > before / 16, "{scheme}, {replicas} replicas: {meanwhile} after {before}");
            world.run_us(700_000);
            world.finish().and_then(|()| checks::all(&mut world)).unwrap_or_else(|why| panic!("{scheme}: {why}"));
            let all = usize::from(2 * replicas);
            assert_eq!(world.shards().len(), all, "{scheme}: each replica has the rows after the cut");
        }
    }
}

/// A backup counts although it does not have an entry; a participant is told to commit an aborted transaction; a
/// journal acknowledges what it has not forced.
#[test]
fn planted_faults_are_detected() {
    let replicated = small(SchemeKind::Speculation);
    let costs = Costs { single_undo_ns: 1_000, coordinator_message_ns: 1_000, ..Costs::of_the_paper() };
    let alone = Settings { replicas: 1, clients: 12, costs, link: Link::of(1_000), outages: 6, ..replicated };
    for (bug, settings) in [(Bug::ForgottenEntry, replicated), (Bug::HalfCommit, replicated), (Bug::UnforcedAck, alone)]
    {
        // After an outage all backups have their rows from the primaries.
        let judged = |seed, bug| judge(Settings { incidents: 3, seed, bug, ..settings }, 40_000, checks::all);
        assert!((0..40).any(|seed| judged(seed, Some(bug)).is_err()), "{bug:?} goes unnoticed");
        judged(3, None).unwrap_or_else(|why| panic!("without {bug:?}: {why}"));
    }
}
