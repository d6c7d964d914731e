//! Replica sets: each executes the agreed log by itself, and what one lacks it gets from another.

use glassbox_cluster::{Address, OrderSettings};
use glassbox_sim::cluster::{Bug, Load, Settings, World, checks};
use glassbox_testing::dice::{Dice, seed, times};

use super::{agreement, is_right, parted, seeds_are_repeated};

/// A random load and cluster, of two or three sets.
pub fn any(seed: u64) -> Settings {
    let (mut dice, settings) = (Dice(seed ^ 10), agreement::any(seed));
    let late_us = [1_000, 5_000, 20_000][dice.place(3)];
    let (kept_kb, catch_up_mb_s) = ([0, 1, 8][dice.place(3)], [0, 0, 1][dice.place(3)]);
    let order = OrderSettings { late_us, kept_kb, catch_up_mb_s, ..settings.order };
    Settings { replicas: 2 + dice.below(2) as u8, partitions: 2 + dice.below(2) as u8, order, ..settings }
}

/// A replica that waited for more of the log was stopped again and again, in no time.
const FOUND_WHEN_A_LATE_REPLICA_IS_STOPPED: [u64; 2] = [6_142, 8_250];

/// Participants, sets, members that agree, and all at once fail and come back; some are slow or cut off.
#[test]
fn sets_stay_equal_and_nothing_is_lost() {
    let first = seed(1);
    for seed in (first..first + times(600, 100_000)).chain(FOUND_WHEN_A_LATE_REPLICA_IS_STOPPED) {
        let mut dice = Dice(seed ^ 11);
        let settings = Settings {
            incidents: dice.below(6) as u32,
            outages: [0, 0, 1][dice.place(3)],
            ..parted(&mut dice, any(seed))
        };
        is_right(settings, 40_000);
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    seeds_are_repeated(3, any);
}

/// A participant of each set is gone for good: what it would send is taken from another set, so all others execute the
/// log to its end, and no client waits for anything.
#[test]
fn sets_that_lack_participants_complete_each_other() {
    let first = seed(0);
    for seed in first..first + times(60, 20_000) {
        let settings = any(seed);
        let settings = Settings { order: OrderSettings { kept_kb: 0, ..settings.order }, ..settings };
        let mut world = World::new(settings);
        world.run_us(5_000);
        for set in 0..settings.replicas {
            let partition = set % settings.partitions;
            world.kill(Address::Replica { partition, replica: set });
        }
        let measured = world.run_us(40_000);
        world
            .finish()
            .and_then(|()| checks::all(&mut world))
            .unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(measured.finished > 0, "seed {seed}, {settings:?}: nothing goes on");
    }
}

/// Logs that are kept for few inputs: a replica that is away is left out, and takes the rows of another set.
#[test]
fn a_replica_that_is_away_for_long_takes_the_rows_of_another_set() {
    let mut joined = 0;
    let first = seed(0);
    for seed in first..first + times(40, 20_000) {
        let settings = any(seed);
        let settings = Settings { order: OrderSettings { logged: 5, ..settings.order }, ..settings };
        let mut world = World::new(settings);
        world.run_us(5_000);
        let away = Address::Replica { partition: 0, replica: seed as u8 % settings.replicas };
        world.kill(away);
        world.run_us(60_000);
        world.start_again();
        world.run_us(10_000);
        world
            .finish_with_joins()
            .and_then(|()| checks::all(&mut world))
            .unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        joined += world.joined;
    }
    assert!(joined >= 20, "{joined} replicas took the rows of another set");
}

/// The sequencer failed before the replica knew that it is left out, and its successor sent it nothing.
const FOUND_WHEN_THE_SEQUENCER_FAILS: [u64; 1] = [4_292];

/// A replica loses an input: its set is the minority of three, and takes the rows of another one.
#[test]
fn a_minority_that_differs_stops_with_the_transactions_name_and_comes_back() {
    let mut stopped = 0;
    let first = seed(0);
    for seed in (first..first + times(100, 20_000)).chain(FOUND_WHEN_THE_SEQUENCER_FAILS) {
        let incidents = seed as u32 % 3;
        let settings = any(seed);
        // None takes other rows for another reason.
        let order = OrderSettings { kept_kb: 0, ..settings.order };
        let settings = Settings { replicas: 3, incidents, bug: Some(Bug::SkippedInput), order, ..settings };
        let mut world = World::new(settings);
        world.plan_incidents(40_000);
        world.run_us(40_000);
        // Until it is noticed, its answers are wrong.
        world
            .finish_with_joins()
            .and_then(|()| checks::log(&mut world))
            .and_then(|()| checks::replicas(&mut world))
            .unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        for line in &world.reports {
            let words =
                ["partition 0 replica 1: ", "than the majority", "procedure `", "in epoch ", "takes the rows of"];
            assert!(words.iter().all(|it| line.contains(it)), "{line}");
            stopped += 1;
        }
    }
    assert!(stopped >= 15, "{stopped} stopped");
}

/// Of two sets none is the majority.
#[test]
fn without_a_majority_all_replicas_of_the_partition_stop() {
    let mut stopped = 0;
    for seed in 0..40 {
        let settings = Settings { replicas: 2, bug: Some(Bug::SkippedInput), ..any(seed) };
        let mut world = World::new(settings);
        world.run_us(40_000);
        if let Err(why) = world.finish() {
            let named = why.matches("no majority says which are right: procedure `").count();
            assert_eq!(named, 2, "seed {seed}: {why}");
            stopped += 1;
        }
    }
    assert!(stopped >= 10, "{stopped} stopped");
}

/// Case 37: that no majority says which rows are right outlives every process. A replica that is started again has no
/// place, says why, and answers no client; after the operator's decision all have the rows of the set that it names,
/// which are those that its clients have seen.
#[test]
fn replicas_without_a_majority_have_no_place_until_an_operator_settles_which_rows_are_right() {
    let (mut settled, replica) = (0, |replica| Address::Replica { partition: 0, replica });
    let first = seed(0);
    for seed in first..first + times(12, 5_000) {
        let (right, settings) = (replica(seed as u8 / 2 % 2), any(seed));
        // With transactions on several partitions, the other partitions would differ too.
        let (load, bug) = (Load { several: 0, ..settings.load }, Some(Bug::SkippedInput));
        let settings = Settings { replicas: 2, bug, load, incidents: 0, outages: 0, partings: 0, ..settings };
        let mut world = World::new(settings);
        let stopped: usize = (0..12).map(|_| (world.run_us(10_000), world.end_stopped()).1).sum();
        if stopped == 0 {
            continue;
        }
        assert_eq!(stopped, 2, "seed {seed}: both sets stop");
        world.mend();
        for _ in 0..3 {
            world.kill(world.elected());
            [0, 1].into_iter().for_each(|it| world.kill(replica(it)));
            world.start_again();
            world.run_us(80_000);
            let places = world.shards().iter().filter(|(it, ..)| it.partition() == Some(0)).count();
            assert_eq!(places, 0, "seed {seed}: a replica of the partition executes the log");
            let named = world.leftovers().iter().filter(|it| it.contains("`settle 0 SET`")).count();
            assert_eq!(named, 2, "seed {seed}: {:?}", world.leftovers());
        }
        // One that asked for the rows before the other one has its place would ask again after 2 s.
        world.kill(replica(u8::from(right == replica(0))));
        world.settle(right).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        world.run_us(80_000);
        world.start_again();
        world.run_us(150_000);
        world
            .finish()
            .and_then(|()| checks::replicas(&mut world))
            .unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        let here = world.shards().len();
        assert_eq!(here, 2 * usize::from(settings.partitions), "seed {seed}: {:?}", world.leftovers());
        assert!(world.settle(right).unwrap_err().contains("nothing is to be settled"));
        settled += 1;
    }
    assert!(settled >= 3, "{settled} settled");
}
