//! What the procedures need of an index: from a key to a row, one at a time or many together.
//!
//! Many together is the whole of prefetching. A lookup is a chain of loads in which each address comes from the load
//! before, so one lookup waits for one miss after the other; ten lookups side by side wait for them at the same time.
//! [`Index::begin`] takes every key to the last cache line it needs and asks for that line; by the time
//! [`Index::finish`] reads it, it has come.

use std::io;

use super::memory::Pages;

/// A key that no index holds: it marks unused places.
pub(super) const NO_KEY: u64 = u64::MAX;

/// Finds values of type `V` by unique `u64` keys.
pub trait Index<V>: Sized {
    /// How far a key has come.
    type Step: Copy;

    /// An empty index for at most `capacity` keys, which come in any order.
    fn with_capacity(capacity: usize, pages: Pages) -> io::Result<Self>;

    /// Enters a key that is not yet in the index and is not [`NO_KEY`].
    fn insert(&mut self, key: u64, value: V);

    /// The value of `key`.
    fn find(&self, key: u64) -> Option<V>;

    /// Takes all keys to the last line each of them needs, and asks for these lines.
    fn begin<const N: usize>(&self, keys: &[u64; N]) -> [Self::Step; N];

    /// The value of `key`, which had come to `step`.
    fn finish(&self, key: u64, step: Self::Step) -> Option<V>;
}
