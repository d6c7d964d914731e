//! Every byte of a small database flipped, every file cut at every length, removed, swapped, or from another database.
//!
//! The tools look at each of these; the engine opens a sample, and each with `GLASSBOX_LONG=1`.

use glassbox::io::{Files, MemoryFiles};
use glassbox::{Config, LogKind};
use glassbox_sim::check::{Contents, of_engine};
use glassbox_sim::damage::{Verdict, bytes_of, inspect, judge, names, replace};
use glassbox_sim::dice::{Dice, long};
use glassbox_sim::history::{Op, open, tiny};

const LOGS: [LogKind; 2] = [LogKind::Values, LogKind::Commands];

fn config(log: LogKind) -> Config {
    Config { segment_bytes: 4096, ..tiny(2, log) }
}

fn small(seed: u64, log: LogKind) -> (MemoryFiles, Contents) {
    let files = MemoryFiles::new();
    let mut dice = Dice(seed);
    let database = open(&files, config(log), true).unwrap();
    let mut run = |count| (0..count).for_each(|_| Op::transaction(&mut dice).on_engine(&database).1.unwrap());
    run(24);
    database.checkpoint().unwrap();
    run(16);
    let right = of_engine(&database).unwrap();
    database.close().unwrap();
    (files.after_kill(), right)
}

/// Judges each change by the tools, and each `stride`th by the engine; how many were refused, and how many did not
/// matter.
fn judge_all(
    log: LogKind,
    what: &str,
    stride: usize,
    changes: impl Fn(&MemoryFiles) -> Vec<(String, u64)>,
    change: impl Fn(&MemoryFiles, &str, u64),
) -> [u64; 2] {
    let (files, right) = small(3, log);
    let mut counts = [0; 2];
    let mut wrong = Vec::new();
    for (number, (name, at)) in changes(&files).into_iter().enumerate() {
        let damaged = files.after_kill();
        change(&damaged, &name, at);
        // Of a segment that is gone only the directory can be told.
        let named = if what == "remove" && name.starts_with("log/") { "log/" } else { &name };
        let seen = inspect(&damaged, &right, named);
        let opened = (long() || number % stride == 0).then(|| judge(&damaged, config(log), &right, named));
        for (by, verdict) in [("tools", Some(seen)), ("engine", opened)] {
            match verdict {
                None => {}
                Some(Ok(Verdict::Refused(_))) => counts[0] += 1,
                // Without a flip what is left shows what is missing, but for files that wait to be used.
                Some(Ok(Verdict::Right)) if what != "flip" && !name.contains("spare") => {
                    wrong.push(format!("{what} {name} at {at}: nothing noticed by the {by}"));
                }
                Some(Ok(Verdict::Right)) => counts[1] += 1,
                Some(Err(problem)) => wrong.push(format!("{what} {name} at {at}, by the {by}: {problem}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    println!("{what}, {log:?}: {counts:?} refused and right");
    counts
}

fn every_byte(files: &MemoryFiles) -> Vec<(String, u64)> {
    let of = |name: String| {
        let length = bytes_of(files, &name).len() as u64;
        (0..length).map(move |at| (name.clone(), at)).collect::<Vec<_>>()
    };
    names(files).into_iter().flat_map(of).collect()
}

fn flipped(log: LogKind) {
    let flip = |files: &MemoryFiles, name: &str, at: u64| {
        let byte = bytes_of(files, name)[at as usize];
        let flipped = byte ^ [0x01, 0x80, 0xff][at as usize % 3];
        files.open(name).unwrap().write_at(&[flipped], at).unwrap();
    };
    let [refused, right] = judge_all(log, "flip", 7, every_byte, flip);
    assert!(refused > 10_000 && right > 1_000, "{refused} refused, {right} right");
}

#[test]
fn flipped_bytes_with_a_value_log() {
    flipped(LogKind::Values);
}

#[test]
fn flipped_bytes_with_a_command_log() {
    flipped(LogKind::Commands);
}

#[test]
fn files_cut_off() {
    for log in LOGS {
        let cut = |files: &MemoryFiles, name: &str, at: u64| files.open(name).unwrap().set_len(at).unwrap();
        let [refused, right] = judge_all(log, "cut", 19, every_byte, cut);
        assert!(refused > 10_000 && right > 0, "{refused} refused, {right} right");
    }
}

#[test]
fn files_removed() {
    let changes = |files: &MemoryFiles| names(files).into_iter().map(|name| (name, 0)).collect();
    for log in LOGS {
        let [refused, right] = judge_all(log, "remove", 1, changes, |files, name, _| files.remove(name).unwrap());
        assert!(refused >= 6, "{refused} refused, {right} right");
    }
}

#[test]
fn files_of_another_database() {
    let (other, _) = small(3, LogKind::Values);
    let known = names(&other);
    let changes = |files: &MemoryFiles| {
        // A whole other manifest is another database with a wrong log: it names what it misses.
        names(files)
            .into_iter()
            .filter(|name| known.contains(name) && name != "manifest")
            .map(|name| (name, 0))
            .collect()
    };
    let from_other = |files: &MemoryFiles, name: &str, _| replace(files, name, &bytes_of(&other, name));
    let [refused, _] = judge_all(LogKind::Values, "exchange", 1, changes, from_other);
    assert!(refused >= 2, "{refused} refused");
}

#[test]
fn segments_swapped() {
    let log = LogKind::Values;
    let (files, right) = small(3, log);
    let segments: Vec<_> = names(&files).into_iter().filter(|name| name.contains("log/")).collect();
    let mut refused = 0;
    assert!(segments.len() >= 2);
    for a in &segments {
        for b in segments.iter().filter(|b| a < *b) {
            let damaged = files.after_kill();
            let (bytes_a, bytes_b) = (bytes_of(&damaged, a), bytes_of(&damaged, b));
            replace(&damaged, a, &bytes_b);
            replace(&damaged, b, &bytes_a);
            let verdicts = [judge(&damaged, config(log), &right, "log/"), inspect(&damaged, &right, "log/")];
            let spares = a.contains("spare") && b.contains("spare");
            assert!(verdicts.iter().all(|it| spares == (*it == Ok(Verdict::Right))), "{a} and {b}: {verdicts:?}");
            refused += u64::from(!spares);
        }
    }
    assert!(refused >= 3, "{refused} of {} segments' pairs refused", segments.len());
}

/// The canary: a database with other contents is not taken for the right one.
#[test]
fn other_contents_are_noticed() {
    let (_, right) = small(3, LogKind::Values);
    let (other, _) = small(4, LogKind::Values);
    assert!(judge(&other, config(LogKind::Values), &right, "").is_err());
}
