//! The decoders of everything that a connection delivers: on valid inputs, on the committed files of
//! `fuzz/corpus/wire`, and on mutations of both.

use std::panic::catch_unwind;
use std::path::Path;

use glassbox::io::Dice;
use glassbox_cluster::wire::fuzzing::{run, seeds};

/// Changes a few things, as fuzzers do.
fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut below = |bound: usize| dice.below(bound.max(1) as u64) as usize;
    for _ in 0..=below(3) {
        let at = below(bytes.len());
        match below(5) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
            2 => bytes.truncate(at),
            3 => {
                let to = (at + below(40)).min(bytes.len());
                let copy = bytes[at..to].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let to = (at + below(8)).min(bytes.len());
                bytes[at..to].fill([0, 0xff, 0x7f, 0x80][below(4)]);
            }
        }
    }
}

fn attempt(bytes: &[u8]) {
    if catch_unwind(|| run(bytes)).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("the decoders fail for the {} bytes {hex}", bytes.len());
    }
}

#[test]
fn decoders_survive_mutated_inputs() {
    let mut inputs = seeds();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire");
    let files = corpus.read_dir().unwrap().map(|entry| entry.unwrap());
    let committed = files.filter(|file| file.file_name().to_str().unwrap().starts_with("once-"));
    inputs.extend(committed.map(|file| std::fs::read(file.path()).unwrap()));
    inputs.iter().for_each(|input| attempt(input));
    let mut dice = Dice(1);
    let long = std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1");
    for number in 0..if long { 2_000_000 } else { 20_000 } {
        let mut bytes = inputs[number % inputs.len()].clone();
        mutate(&mut dice, &mut bytes);
        attempt(&bytes);
    }
}
