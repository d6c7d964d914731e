//! The decoders of everything that a connection delivers, on valid inputs and on mutations of them.

use glassbox::io::Dice;
use glassbox_cluster::wire::fuzzing::{run, seeds};

#[test]
fn decoders_survive_mutated_inputs() {
    let seeds = seeds();
    seeds.iter().for_each(|seed| run(seed));
    let mut dice = Dice(1);
    let mut below = |bound: usize| dice.below(bound.max(1) as u64) as usize;
    let long = std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1");
    for number in 0..if long { 2_000_000 } else { 20_000 } {
        let mut bytes = seeds[number % seeds.len()].clone();
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
        run(&bytes);
    }
}
