//! A small generator of random numbers (splitmix64): a history depends on its seed and on nothing else.

/// The generator.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Whether the long form of the tests is wanted (`GLASSBOX_LONG=1`).
pub fn long() -> bool {
    std::env::var("GLASSBOX_LONG").is_ok_and(|value| value == "1")
}

/// The seed of random tests: `GLASSBOX_SEED`, or the given one.
pub fn seed(usual: u64) -> u64 {
    std::env::var("GLASSBOX_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
