//! Every byte of a small database flipped, every file cut at every length, removed, swapped, or from another database.
//!
//! The tools look at each of these; the engine opens a sample, and each with `GLASSBOX_LONG=1`.

use glassbox::io::{Files, MemoryFiles};
use glassbox::{Architecture, Config, LogKind};
use glassbox_testing::check::{Contents, of_engine};
use glassbox_testing::damage::{Verdict, bytes_of, inspect, judge, names, replace};
use glassbox_testing::dice::{Dice, long};
use glassbox_testing::history::{Op, in_short, open, tiny, tiny_classic};

/// Of the bytes of a file of the classic engine, which are many, one in so many is tried.
fn classic_stride(name: &str) -> usize {
    match name {
        "pages" => 197,
        "pages.double" => 1999,
        _ => 11,
    }
}

fn partitioned(log: LogKind) -> Config {
    tiny(2, log).with_segment_bytes(4096)
}

fn engines() -> [Config; 3] {
    [partitioned(LogKind::Values), partitioned(LogKind::Commands), tiny_classic()]
}

fn is_classic(config: &Config) -> bool {
    config.architecture == Architecture::Classic
}

/// A small database, closed; that of the classic engine died, so that there is something to do again. Its last
/// transaction changes a row that is not compared: without its end, a log that was not closed looks as if torn.
fn small(seed: u64, config: &Config) -> (MemoryFiles, Contents) {
    let files = MemoryFiles::new();
    let mut dice = Dice(seed);
    let database = open(&files, config.clone(), true).unwrap();
    let mut run = |count| (0..count).for_each(|_| Op::transaction(&mut dice).on_engine(&database).1.unwrap());
    run(24);
    database.checkpoint().unwrap();
    run(16);
    let right = of_engine(&database).unwrap();
    if is_classic(config) {
        Op::Stamp(1).on_engine(&database).1.unwrap();
        return (files.after_kill(), right);
    }
    database.close().unwrap();
    (files.after_kill(), right)
}

/// Files of the classic engine that hold more than is in use: pages that were not written yet, images without a
/// use, and segments to come.
fn may_be_of_no_use(name: &str) -> bool {
    name.contains("spare") || name.starts_with("pages")
}

/// Judges each change by the tools, and each `stride`th by the engine; of the classic engine, where the tools do what
/// it does, both look at the same. How many were refused, and how many did not matter.
fn judge_all(
    config: &Config,
    what: &str,
    stride: usize,
    changes: impl Fn(&MemoryFiles) -> Vec<(String, u64)>,
    change: impl Fn(&MemoryFiles, &str, u64),
) -> [u64; 2] {
    let (files, right) = small(3, config);
    let mut counts = [0; 2];
    let mut wrong = Vec::new();
    for (number, (name, at)) in changes(&files).into_iter().enumerate() {
        let stride = if is_classic(config) && at > 0 { classic_stride(&name) } else { stride };
        let opens = long() || number % stride == 0;
        if is_classic(config) && !opens {
            continue;
        }
        let damaged = files.after_kill();
        change(&damaged, &name, at);
        // Of a segment that is gone only the directory can be told.
        let named = if what == "remove" && name.starts_with("log/") { "log/" } else { &name };
        let seen = inspect(&damaged, &right, named);
        let opened = opens.then(|| judge(&damaged, config, &right, named));
        for (by, verdict) in [("tools", Some(seen)), ("engine", opened)] {
            match verdict {
                None => {}
                Some(Ok(Verdict::Refused(_))) => counts[0] += 1,
                // Without a flip what is left shows what is missing, but for files that wait to be used.
                Some(Ok(Verdict::Right)) if what != "flip" && !may_be_of_no_use(&name) => {
                    wrong.push(format!("{what} {name} at {at}: nothing noticed by the {by}"));
                }
                Some(Ok(Verdict::Right)) => counts[1] += 1,
                Some(Err(problem)) => wrong.push(format!("{what} {name} at {at}, by the {by}: {problem}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    println!("{what}, {}: {counts:?} refused and right", in_short(config));
    counts
}

fn every_byte(files: &MemoryFiles) -> Vec<(String, u64)> {
    let of = |name: String| {
        let length = bytes_of(files, &name).len() as u64;
        (0..length).map(move |at| (name.clone(), at)).collect::<Vec<_>>()
    };
    names(files).into_iter().flat_map(of).collect()
}

fn flipped(config: &Config, stride: usize) -> [u64; 2] {
    let flip = |files: &MemoryFiles, name: &str, at: u64| {
        let byte = bytes_of(files, name)[at as usize];
        let flipped = byte ^ [0x01, 0x80, 0xff][at as usize % 3];
        files.open(name).unwrap().write_at(&[flipped], at).unwrap();
    };
    judge_all(config, "flip", stride, every_byte, flip)
}

#[test]
fn flipped_bytes_with_a_value_log() {
    let [refused, right] = flipped(&partitioned(LogKind::Values), 7);
    assert!(refused > 10_000 && right > 1_000, "{refused} refused, {right} right");
}

#[test]
fn flipped_bytes_with_a_command_log() {
    let [refused, right] = flipped(&partitioned(LogKind::Commands), 7);
    assert!(refused > 10_000 && right > 1_000, "{refused} refused, {right} right");
}

#[test]
fn flipped_bytes_of_the_classic_engine() {
    let [refused, right] = flipped(&tiny_classic(), 1);
    assert!(refused > 2_000 && right > 1_000, "{refused} refused, {right} right");
}

#[test]
fn files_cut_off() {
    for config in engines() {
        let cut = |files: &MemoryFiles, name: &str, at: u64| files.open(name).unwrap().set_len(at).unwrap();
        let least = if is_classic(&config) { 2_000 } else { 10_000 };
        let [refused, right] = judge_all(&config, "cut", 19, every_byte, cut);
        assert!(refused > least && right > 0, "{refused} refused, {right} right");
    }
}

#[test]
fn files_removed() {
    let changes = |files: &MemoryFiles| names(files).into_iter().map(|name| (name, 0)).collect();
    for config in engines() {
        let [refused, right] = judge_all(&config, "remove", 1, changes, |files, name, _| files.remove(name).unwrap());
        let least = if is_classic(&config) { 3 } else { 6 };
        assert!(refused >= least, "{refused} refused, {right} right");
    }
}

#[test]
fn files_of_another_database() {
    for config in [partitioned(LogKind::Values), tiny_classic()] {
        exchanged(&config);
    }
}

fn exchanged(config: &Config) {
    let (other, _) = small(3, config);
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
    let [refused, _] = judge_all(config, "exchange", 1, changes, from_other);
    assert!(refused >= 2, "{refused} refused");
}

#[test]
fn segments_swapped() {
    for config in [partitioned(LogKind::Values), tiny_classic()] {
        swapped(&config);
    }
}

fn swapped(config: &Config) {
    let (files, right) = small(3, config);
    let segments: Vec<_> = names(&files).into_iter().filter(|name| name.contains("log/")).collect();
    let mut refused = 0;
    assert!(segments.len() >= 2);
    for a in &segments {
        for b in segments.iter().filter(|b| a < *b) {
            let damaged = files.after_kill();
            let (bytes_a, bytes_b) = (bytes_of(&damaged, a), bytes_of(&damaged, b));
            replace(&damaged, a, &bytes_b);
            replace(&damaged, b, &bytes_a);
            let verdicts = [judge(&damaged, config, &right, "log/"), inspect(&damaged, &right, "log/")];
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
    for config in engines() {
        let (_, right) = small(3, &config);
        let (other, _) = small(4, &config);
        assert!(judge(&other, &config, &right, "").is_err());
    }
}

/// The two files of pages, each in the other's place.
#[test]
fn pages_and_their_images_swapped() {
    let config = tiny_classic();
    let (files, right) = small(3, &config);
    let damaged = files.after_kill();
    let (pages, images) = (bytes_of(&damaged, "pages"), bytes_of(&damaged, "pages.double"));
    replace(&damaged, "pages", &images);
    replace(&damaged, "pages.double", &pages);
    let verdict = judge(&damaged, &config, &right, "pages");
    assert!(matches!(verdict, Ok(Verdict::Refused(_))), "{verdict:?}");
}
