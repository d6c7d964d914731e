//! What random tests depend on: the generator, the seed, and how long they may take.

pub use glassbox::io::Dice;

/// Whether the long form of the tests is wanted (`GLASSBOX_LONG=1`).
pub fn long() -> bool {
    std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1")
}

/// How often a random test is repeated: `usual`, or in its long form `long` times; `GLASSBOX_LONG=N` with a larger
/// number than 1 has it repeated so often.
pub fn times(usual: u64, long: u64) -> u64 {
    match std::env::var("GLASSBOX_LONG").ok().and_then(|text| text.parse().ok()) {
        None | Some(0) => usual,
        Some(1) => long,
        Some(times) => times,
    }
}

/// The seed of random tests: `GLASSBOX_SEED`, or the given one.
pub fn seed(usual: u64) -> u64 {
    std::env::var("GLASSBOX_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
