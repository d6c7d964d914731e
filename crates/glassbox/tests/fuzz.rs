//! Every fuzz target on its seeds, on the committed files of `fuzz/corpus`, and on mutations of both.
//!
//! `GLASSBOX_LONG=1` tries a hundred times as many; `fuzz/` lets libFuzzer do it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use glassbox::io::Dice;
use glassbox::research::fuzzing::{TARGETS, run, seeds};

const NUMBERS: [u64; 9] = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX];

/// Changes a few things, as fuzzers do.
fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    let mut below = |bound: usize| dice.below(bound.max(1) as u64) as usize;
    for _ in 0..=below(4) {
        let at = below(bytes.len());
        let to = (at + below(64)).min(bytes.len());
        match below(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
            2 if !bytes.is_empty() => bytes[at] = below(256) as u8,
            3 => {
                // A number of some width, in place of what is there.
                let number = NUMBERS[below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            4 => drop(bytes.drain(at..to)),
            5 => bytes.truncate(at),
            6 => {
                let copy = bytes[at..to].to_vec();
                let place = below(bytes.len());
                bytes.splice(place..place, copy);
            }
            _ => {
                let from = below(other.len());
                let part = &other[from..other.len().min(from + 1 + below(64))];
                let end = (at + part.len()).min(bytes.len());
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
}

/// The seeds of a target and the committed files of its corpus, in the order of their names.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = corpus.read_dir().into_iter().flatten().map(|entry| entry.unwrap());
    let committed = files.filter(|file| file.file_name().to_str().unwrap().starts_with("once-"));
    let mut paths: Vec<_> = committed.map(|file| file.path()).collect();
    paths.sort();
    let inputs: Vec<_> =
        seeds(target).into_iter().chain(paths.iter().map(|path| std::fs::read(path).unwrap())).collect();
    assert!(!inputs.is_empty(), "{target} has no inputs");
    inputs
}

fn fuzz(target: &str, mutations: usize) {
    let long = std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1");
    let inputs = inputs(target);
    let attempt = |bytes: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| run(target, bytes))).is_err() {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            panic!("target {target} fails for the {} bytes {hex}", bytes.len());
        }
    };
    inputs.iter().for_each(|input| attempt(input));
    let mut dice = Dice(1);
    for number in 0..mutations * if long { 100 } else { 1 } {
        let mut bytes = inputs[number % inputs.len()].clone();
        let other = &inputs[dice.below(inputs.len() as u64) as usize];
        mutate(&mut dice, &mut bytes, other);
        attempt(&bytes);
    }
}

#[test]
fn all_targets_are_here() {
    let names = TARGETS.map(|(name, _)| name);
    assert_eq!(
        names,
        ["manifest", "checkpoint", "log", "directory", "changes", "command", "row", "wal", "volume", "double", "pages"]
    );
}

#[test]
fn manifest() {
    fuzz("manifest", 2_000);
}

#[test]
fn checkpoint() {
    fuzz("checkpoint", 2_000);
}

#[test]
fn log() {
    fuzz("log", 2_000);
}

#[test]
fn directory() {
    fuzz("directory", 400);
}

#[test]
fn changes() {
    fuzz("changes", 3_000);
}

#[test]
fn command() {
    fuzz("command", 20_000);
}

#[test]
fn row() {
    fuzz("row", 20_000);
}

#[test]
fn wal() {
    fuzz("wal", 20_000);
}

#[test]
fn volume() {
    fuzz("volume", 5_000);
}

#[test]
fn double() {
    fuzz("double", 1_000);
}

#[test]
fn pages() {
    fuzz("pages", 300);
}
