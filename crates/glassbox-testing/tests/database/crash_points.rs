//! A script is stopped at every operation of the files, in three kinds of crash; then recovery is, again and again.
//!
//! Every operation is a point here, and of the recoveries a sample; `GLASSBOX_LONG=1` takes every operation of every
//! recovery.

use std::collections::BTreeMap;

use glassbox::config::ExecutionPolicy;
use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Config, Durability, LogKind};
use glassbox_testing::damage::{bytes_of, names, replace};
use glassbox_testing::dice::{Dice, long, seed};
use glassbox_testing::history::{in_short, tiny, tiny_classic};
use glassbox_testing::lying::Lie;
use glassbox_testing::script::{CRASHES, Phase, Script};

/// Points at which the files stopped.
#[derive(Default)]
struct Points {
    by_phase: BTreeMap<Phase, u64>,
    in_recovery: u64,
}

/// One in how many points is taken; with `GLASSBOX_LONG=1` all are.
struct Sample {
    /// Of the operations and kinds of crash.
    points: u64,
    /// Of the points, to go on working there.
    going_on: usize,
    /// Of the points, to stop their recoveries.
    recoveries: usize,
    /// Of a recovery's operations.
    in_recovery: u64,
    /// So many points there must be then.
    least: u64,
}

const PARTITIONED: Sample = Sample { points: 1, going_on: 4, recoveries: 5, in_recovery: 3, least: 2_000 };
/// Pages make more operations of everything.
const CLASSIC: Sample = Sample { points: 2, going_on: 8, recoveries: 12, in_recovery: 13, least: 2_500 };

fn crash_everywhere(config: Config, sample: &Sample) {
    let seed = seed(7);
    let engine = in_short(&config);
    let script = Script::new(seed, config);
    let files = MemoryFiles::new();
    let played = script.play(&files).unwrap();
    assert_eq!(played.answered + 1, script.states.len(), "without a fault the script comes to its end");
    script.check(&files.after_kill(), played).unwrap();
    let phases = script.phases();
    assert_eq!(phases.len() as u64, files.operations(), "the script repeats itself");
    let mut points = Points::default();
    for (stop, phase) in phases.iter().enumerate() {
        for (mode_number, mode) in CRASHES.into_iter().enumerate() {
            // At random, so that writes and forces that take turns all have theirs.
            if !long() && !Dice((stop * 3 + mode_number) as u64).one_in(sample.points) {
                continue;
            }
            let context = format!("seed {seed}, {engine}, stop at {stop} ({phase:?}), {mode:?}");
            let right = |what: String| -> u64 { panic!("{context}: {what}") };
            let (found, played) = script.crash_at(stop as u64, mode).map_err(right).unwrap();
            *points.by_phase.entry(*phase).or_default() += 1;
            if long() || stop % sample.going_on == mode_number {
                script.go_on(&found.after_kill(), stop as u64).map_err(right).unwrap();
            }
            if long() || stop % sample.recoveries == mode_number {
                let stride = if long() { 1 } else { sample.in_recovery };
                points.in_recovery += script.crash_recovery(&found, played, stride).map_err(right).unwrap();
            }
        }
    }
    let Points { by_phase, in_recovery } = points;
    let sum = by_phase.values().sum::<u64>() + in_recovery;
    println!("{sum} points, {engine}: {by_phase:?}, {in_recovery} of a recovery");
    assert!(sum >= sample.least, "only {sum} points");
    assert!(
        [Phase::Opening, Phase::Transaction, Phase::Load, Phase::Checkpoint, Phase::Closing]
            .iter()
            .all(|phase| by_phase[phase] >= 6)
    );
    assert!(in_recovery >= 200, "only {in_recovery} points of a recovery");
}

#[test]
fn one_partition_values() {
    crash_everywhere(tiny(1, LogKind::Values), &PARTITIONED);
}

#[test]
fn one_partition_commands() {
    crash_everywhere(tiny(1, LogKind::Commands), &PARTITIONED);
}

#[test]
fn three_partitions_values() {
    crash_everywhere(tiny(3, LogKind::Values), &PARTITIONED);
}

#[test]
fn three_partitions_commands() {
    crash_everywhere(tiny(3, LogKind::Commands), &PARTITIONED);
}

/// Pages come and go all the time.
#[test]
fn classic_with_eight_pages_in_memory() {
    crash_everywhere(tiny_classic(), &CLASSIC);
}

/// Pages are written by checkpoints alone, and recoveries have much to do again.
#[test]
fn classic_with_all_pages_in_memory() {
    let mut config = tiny_classic();
    config.classic.pool_bytes = 1 << 20;
    crash_everywhere(config, &Sample { in_recovery: 9, least: 1_000, ..CLASSIC });
}

/// Executions are converted, undone and repeated all the time.
#[test]
fn classic_in_stages() {
    for policy in [ExecutionPolicy::Optimistic, ExecutionPolicy::TwoStage] {
        let mut config = tiny_classic();
        config.classic.execution = policy;
        crash_everywhere(config, &Sample { points: 5, in_recovery: 26, least: 700, ..CLASSIC });
    }
}

/// Answers that do not wait may be lost, but only the last, and no part of them is left.
#[test]
fn classic_that_does_not_wait_for_the_log() {
    for (durability, pool_bytes) in [(Durability::Async, 0), (Durability::Async, 1 << 20), (Durability::None, 0)] {
        let mut config = tiny_classic().with_durability(durability);
        config.classic.pool_bytes = pool_bytes;
        let script = Script::new(seed(7), config);
        let phases = script.phases();
        let mut points = 0;
        for stop in (0..phases.len()).step_by(if long() { 1 } else { 9 }) {
            for mode in CRASHES {
                let crashed = script.crash_at(stop as u64, mode);
                let context = |what| {
                    format!("{durability:?}, {pool_bytes}, stop at {stop} ({:?}), {mode:?}: {what}", phases[stop])
                };
                crashed.map_err(context).unwrap_or_else(|what: String| panic!("{what}"));
                points += 1;
            }
        }
        println!("{points} points, {durability:?}");
        assert!(points >= 100, "only {points} points");
    }
}

/// This number of kinds of crash, from a drawn one on.
fn modes(dice: &mut Dice, number: usize) -> impl Iterator<Item = Crash> + use<> {
    let first = dice.place(CRASHES.len());
    (first..first + number).map(|at| CRASHES[at % CRASHES.len()])
}

/// Kills at each operation; crashes of a second process at `sample` of its operations, each in a drawn mode. With
/// `GLASSBOX_LONG=1` at each of its operations: every pair, in this number of modes.
fn kill_everywhere(config: Config, sample: usize, long_modes: usize) {
    let seed = seed(7);
    let engine = in_short(&config);
    let script = Script::new(seed, config);
    let (mut pairs, mut kills) = (0_u64, 0_u64);
    for (kill, phase) in script.phases().iter().enumerate() {
        let context = format!("seed {seed}, {engine}, kill at {kill} ({phase:?})");
        let killed = script.kill_at(kill as u64).unwrap_or_else(|what| panic!("{context}: {what}"));
        let operations = script.second_process_operations(&killed).unwrap_or_else(|what| panic!("{context}: {what}"));
        let mut dice = Dice(kill as u64);
        let drawn: Vec<_> = match long() {
            true => {
                (0..=operations).flat_map(|stop| modes(&mut dice, long_modes).map(move |mode| (stop, mode))).collect()
            }
            false => (0..sample).map(|_| (dice.below(operations + 1), CRASHES[dice.place(3)])).collect(),
        };
        for &(stop, mode) in &drawn {
            if let Err(what) = script.crash_second_process(&killed, stop, mode, None) {
                panic!("{context}, crash of the second process at {stop} of {operations}, {mode:?}: {what}");
            }
        }
        pairs += drawn.len() as u64;
        kills += 1;
    }
    println!("{pairs} pairs of {kills} kills, {engine}");
    assert!(kills >= 300 && pairs >= kills * sample as u64, "only {pairs} pairs of {kills} kills");
}

/// Case 29: the second process depends on what it read and did not force, such as the rename of the manifest.
#[test]
fn a_kill_and_a_later_power_failure_lose_no_answer_of_either_process_values() {
    kill_everywhere(tiny(2, LogKind::Values), 3, CRASHES.len());
}

/// Case 29, with a command log.
#[test]
fn a_kill_and_a_later_power_failure_lose_no_answer_of_either_process_commands() {
    kill_everywhere(tiny(2, LogKind::Commands), 3, CRASHES.len());
}

/// Case 29, with pages, which make more operations.
#[test]
fn a_kill_and_a_later_power_failure_lose_no_answer_of_either_process_classic() {
    kill_everywhere(tiny_classic(), 1, 1);
}

/// The canary of the second process: if its forces of what it read do nothing, a crash after a kill shows it.
#[test]
fn a_second_process_that_forces_nothing_it_read_is_noticed() {
    for (config, lie) in [
        (tiny(2, LogKind::Values), Lie::Directory("")),
        (tiny(2, LogKind::Values), Lie::Files("log/")),
        (tiny_classic(), Lie::Directory("")),
    ] {
        let script = Script::new(7, config);
        let noticed = (0..script.phases().len() as u64).find_map(|kill| {
            let killed = script.kill_at(kill).unwrap();
            let operations = script.second_process_operations(&killed).unwrap();
            let crash = |stop| script.crash_second_process(&killed, stop, Crash::Lost, Some(lie)).err();
            // Before its first answers the process has replaced no manifest itself.
            (0..operations).step_by(3).find_map(crash)
        });
        println!("{lie:?}: {}", noticed.unwrap_or_else(|| panic!("no check noticed {lie:?}")));
    }
}

/// The canary: were an answer given before its force, the checker would see it. Here the answers of a whole script are
/// claimed for an image from before its end.
#[test]
fn a_lost_answer_is_noticed() {
    let script = Script::new(7, tiny(2, LogKind::Values));
    let whole = script.play(&MemoryFiles::new()).unwrap();
    let files = MemoryFiles::new();
    files.set_faults(Faults { stop_at: Some(200), ..Faults::default() });
    let part = script.play(&files).unwrap();
    let found = files.after_crash(Crash::Lost, 1);
    script.check(&found.after_kill(), part).unwrap();
    let claimed = whole;
    let what = script.check(&found, claimed).unwrap_err();
    assert!(what.contains("the state found"), "{what}");
}

/// The canary of the files: whichever kind of force does nothing, some crash brings it to light. So each is needed, and
/// each is tested.
#[test]
fn forces_that_do_nothing_are_noticed() {
    let lies = [
        Lie::Files("log/"),
        Lie::Files("checkpoint/"),
        Lie::Files("manifest"),
        Lie::Directory(""),
        Lie::Directory("log"),
        Lie::Directory("checkpoint"),
    ];
    for lie in lies {
        let script = Script { lie: Some(lie), ..Script::new(7, tiny(2, LogKind::Values)) };
        is_noticed(&script, Crash::Lost);
    }
}

fn is_noticed(script: &Script, mode: Crash) {
    let found_out = (0..script.phases().len() as u64).find_map(|stop| script.crash_at(stop, mode).err());
    println!("{:?}: {}", script.lie, found_out.unwrap_or_else(|| panic!("no check noticed {:?}", script.lie)));
}

/// The same of the classic engine. Images of pages are for those that are torn.
#[test]
fn forces_of_pages_that_do_nothing_are_noticed() {
    let lies = [
        (Lie::Files("log/"), Crash::Lost),
        (Lie::Files("pages"), Crash::Lost),
        (Lie::Files("pages.double"), Crash::Torn),
        (Lie::Files("manifest"), Crash::Lost),
        (Lie::Directory(""), Crash::Lost),
        (Lie::Directory("log"), Crash::Lost),
    ];
    for (lie, mode) in lies {
        is_noticed(&Script { lie: Some(lie), ..Script::new(7, tiny_classic()) }, mode);
    }
}

/// The canary of the log: without its last records, as at a torn end, a database is refused or found wanting.
#[test]
fn a_log_without_its_last_records_is_noticed() {
    let script = Script::new(7, tiny(2, LogKind::Values));
    let files = MemoryFiles::new();
    let played = script.play(&files).unwrap();
    let last = names(&files).into_iter().rfind(|name| name.starts_with("log/0")).unwrap();
    let bytes = bytes_of(&files, &last);
    let blocks: Vec<_> = (512..bytes.len()).step_by(512).filter(|&at| bytes[at..].starts_with(b"GBLK")).collect();
    // The last block only closes the log.
    let cut = |blocks_left: usize| {
        let mut bytes = bytes.clone();
        bytes[blocks[blocks_left]..].fill(0);
        let image = files.after_kill();
        replace(&image, &last, &bytes);
        script.check(&image, played)
    };
    let most = blocks.len() - 1;
    cut(most).unwrap();
    let noticed = |what: &String| {
        ["the state found", "do not belong together", "an older copy"].iter().any(|problem| what.contains(problem))
    };
    let found: Vec<_> = (0..most).filter_map(|left| cut(left).err()).collect();
    assert!(found.len() >= 2 && found.iter().all(noticed), "{found:?}");
}
