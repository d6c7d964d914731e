//! A script is stopped at every operation of the files, in three kinds of crash; then recovery is, again and again.
//!
//! `GLASSBOX_LONG=1` takes every point; otherwise a sample.

use glassbox::LogKind;
use glassbox::io::{Crash, MemoryFiles};
use glassbox_sim::dice::{long, seed};
use glassbox_sim::script::{CRASHES, Script};

fn crash_everywhere(partitions: usize, log: LogKind) -> u64 {
    let seed = seed(7);
    let script = Script::new(seed, partitions, log);
    let files = MemoryFiles::new();
    let played = script.play(&files).unwrap();
    assert_eq!(played.answered + 1, script.states.len(), "without a fault the script comes to its end");
    script.check(&files.after_kill(), played).unwrap();
    let operations = files.operations();
    let stride = if long() { 1 } else { 5 };
    let mut points = 0;
    for stop in (seed % stride..operations).step_by(stride as usize) {
        for mode in CRASHES {
            let context = format!("seed {seed}, {partitions} partitions, {log:?}, stop at {stop}, {mode:?}");
            let (found, played) = script.crash_at(stop, mode).unwrap_or_else(|what| panic!("{context}: {what}"));
            points += 1;
            let deep = if long() { stop.is_multiple_of(3) } else { stop.is_multiple_of(9) };
            if deep {
                let stride = if long() { 1 } else { 4 };
                let more = script.crash_recovery(&found, played, stride);
                points += more.unwrap_or_else(|what| panic!("{context}: {what}"));
            }
        }
    }
    println!("{points} points of {operations} operations at {partitions} partitions, {log:?}");
    if long() {
        assert!(points >= 2_000, "only {points} points");
    }
    points
}

#[test]
fn one_partition_values() {
    crash_everywhere(1, LogKind::Values);
}

#[test]
fn one_partition_commands() {
    crash_everywhere(1, LogKind::Commands);
}

#[test]
fn three_partitions_values() {
    crash_everywhere(3, LogKind::Values);
}

#[test]
fn three_partitions_commands() {
    crash_everywhere(3, LogKind::Commands);
}

/// The canary: were an answer given before its force, the checker would see it. Here the answers of a whole script are
/// claimed for an image from before its end.
#[test]
fn a_lost_answer_is_noticed() {
    let script = Script::new(7, 2, LogKind::Values);
    let whole = script.play(&MemoryFiles::new()).unwrap();
    let files = MemoryFiles::new();
    files.set_faults(glassbox::io::Faults { stop_at: Some(200), ..Default::default() });
    let part = script.play(&files).unwrap();
    let found = files.after_crash(Crash::Lost, 1);
    script.check(&found.after_kill(), part).unwrap();
    let claimed = glassbox_sim::script::Played { answered: whole.answered, begun: whole.begun };
    let what = script.check(&found, claimed).unwrap_err();
    assert!(what.contains("the state found"), "{what}");
}
