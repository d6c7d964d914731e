//! Maps by numbers that are counted up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// By number, in no order. Who needs one sorts.
pub(crate) type ById<T> = HashMap<u64, T, BuildHasherDefault<Spread>>;

/// Spreads numbers that we have assigned ourselves: nobody can choose them so that they meet.
#[derive(Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        // The map takes its place from the low bits, and tells those that meet apart by the high ones.
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
