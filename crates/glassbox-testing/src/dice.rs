//! What random tests depend on: the generator, the seed, and how long they may take.

pub use glassbox::io::Dice;

/// Whether the long form of the tests is wanted (`GLASSBOX_LONG=1`).
pub fn long() -> bool {
    std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1")
}

/// The seed of random tests: `GLASSBOX_SEED`, or the given one.
pub fn seed(usual: u64) -> u64 {
    std::env::var("GLASSBOX_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
