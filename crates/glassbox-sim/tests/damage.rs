//! Every byte of a small database flipped, every file cut at every length, removed, swapped, or from another database.
//!
//! `GLASSBOX_LONG=1` takes every byte; otherwise a sample.

use glassbox::LogKind;
use glassbox::io::{Files, MemoryFiles};
use glassbox_sim::check::{Contents, of_engine};
use glassbox_sim::damage::{Verdict, bytes_of, judge, names, replace};
use glassbox_sim::dice::{Dice, long};
use glassbox_sim::history::{Op, open, tiny};

const PARTITIONS: usize = 2;

fn small(seed: u64, log: LogKind) -> (MemoryFiles, Contents) {
    let files = MemoryFiles::new();
    let mut dice = Dice(seed);
    let database = open(&files, tiny(PARTITIONS, log), true).unwrap();
    let mut run = |count| (0..count).for_each(|_| Op::transaction(&mut dice).on_engine(&database).1.unwrap());
    run(60);
    database.checkpoint().unwrap();
    run(40);
    let right = of_engine(&database).unwrap();
    database.close().unwrap();
    (files.after_kill(), right)
}

fn stride(usual: usize) -> usize {
    if long() { 1 } else { usual }
}

/// Judges each change; how many were refused and how many did not matter.
fn judge_all(
    log: LogKind,
    what: &str,
    changes: impl Fn(&MemoryFiles) -> Vec<(String, u64)>,
    change: impl Fn(&MemoryFiles, &str, u64),
) -> [u64; 2] {
    let (files, right) = small(3, log);
    let mut counts = [0; 2];
    let mut wrong = Vec::new();
    for (name, at) in changes(&files) {
        let damaged = files.after_kill();
        change(&damaged, &name, at);
        // Of a segment that is gone only the directory can be told.
        let named = if what == "remove" && name.starts_with("log/") { "log/" } else { &name };
        match judge(&damaged, tiny(PARTITIONS, log), &right, named) {
            Ok(Verdict::Refused(_)) => counts[0] += 1,
            Ok(Verdict::Right) => counts[1] += 1,
            Err(problem) => wrong.push(format!("{what} {name} at {at}: {problem}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    println!("{what}, {log:?}: {counts:?} refused and right");
    counts
}

fn every_byte(files: &MemoryFiles, stride: usize) -> Vec<(String, u64)> {
    let of = |name: String| {
        let length = bytes_of(files, &name).len();
        (0..length).step_by(stride).map(move |at| (name.clone(), at as u64)).collect::<Vec<_>>()
    };
    names(files).into_iter().flat_map(of).collect()
}

#[test]
fn flipped_bytes() {
    for log in [LogKind::Values, LogKind::Commands] {
        let changes = |files: &MemoryFiles| every_byte(files, stride(11));
        let flip = |files: &MemoryFiles, name: &str, at: u64| {
            let byte = bytes_of(files, name)[at as usize];
            let flipped = byte ^ [0x01, 0x80, 0xff][at as usize % 3];
            files.open(name).unwrap().write_at(&[flipped], at).unwrap();
        };
        let [refused, right] = judge_all(log, "flip", changes, flip);
        assert!(refused > 100 && right > 10, "{refused} refused, {right} right");
    }
}

#[test]
fn files_cut_off() {
    let changes = |files: &MemoryFiles| every_byte(files, stride(41));
    let cut = |files: &MemoryFiles, name: &str, at: u64| files.open(name).unwrap().set_len(at).unwrap();
    let [refused, _] = judge_all(LogKind::Values, "cut", changes, cut);
    assert!(refused > 20, "{refused} refused");
}

#[test]
fn files_removed() {
    let changes = |files: &MemoryFiles| names(files).into_iter().map(|name| (name, 0)).collect();
    let [refused, _] = judge_all(LogKind::Values, "remove", changes, |files, name, _| files.remove(name).unwrap());
    assert!(refused >= 3, "{refused} refused");
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
    let [refused, _] = judge_all(LogKind::Values, "exchange", changes, from_other);
    assert!(refused >= 2, "{refused} refused");
}

#[test]
fn segments_swapped() {
    let log = LogKind::Values;
    let (files, right) = small(3, log);
    let segments: Vec<_> = names(&files).into_iter().filter(|name| name.contains("log/")).collect();
    let mut refused = 0;
    for a in &segments {
        for b in segments.iter().filter(|b| a < *b) {
            let damaged = files.after_kill();
            let (bytes_a, bytes_b) = (bytes_of(&damaged, a), bytes_of(&damaged, b));
            replace(&damaged, a, &bytes_b);
            replace(&damaged, b, &bytes_a);
            let verdict = judge(&damaged, tiny(PARTITIONS, log), &right, "log/").unwrap();
            refused += u64::from(verdict != Verdict::Right);
        }
    }
    assert!(refused >= 1, "{refused} of {} segments' pairs refused", segments.len());
}

/// The canary: a database with other contents is not taken for the right one.
#[test]
fn other_contents_are_noticed() {
    let (_, right) = small(3, LogKind::Values);
    let (other, _) = small(4, LogKind::Values);
    assert!(judge(&other, tiny(PARTITIONS, LogKind::Values), &right, "").is_err());
}
