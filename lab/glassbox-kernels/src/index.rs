//! Indexes as the procedures use them: from a key to a row, one at a time or many together. And the simplest, an array.
//!
//! Prefetching is looking up many keys together. A lookup is a chain of loads in which each address comes from the load
//! before, so one lookup waits for one miss after the other; ten interleaved lookups wait for their misses at the same
//! time. [`Index::begin`] descends to the last cache line of every key and prefetches that line, before
//! [`Index::finish`] reads it.

use std::io;

use crate::memory::{Pages, Row};

/// A key that no index holds: it marks unused places.
pub(super) const NO_KEY: u64 = u64::MAX;

/// Finds values of type `V` by unique `u64` keys.
pub trait Index<V>: Sized {
    /// The position that a key has reached.
    type Step: Copy;

    /// An empty index for at most `capacity` keys, inserted in any order.
    fn with_capacity(capacity: usize, pages: Pages) -> io::Result<Self>;

    /// Inserts a key that is not yet in the index and is not [`NO_KEY`].
    fn insert(&mut self, key: u64, value: V);

    /// The value of `key`.
    fn find(&self, key: u64) -> Option<V>;

    /// Descends to the last cache line of each key, and prefetches these lines.
    fn begin<const N: usize>(&self, keys: &[u64; N]) -> [Self::Step; N];

    /// The value of `key`, which had reached `step`.
    fn finish(&self, key: u64, step: Self::Step) -> Option<V>;
}

/// Dense keys to rows of `T`: an array, whose place is the key. For warehouses and districts, whose numbers are dense.
pub struct Direct<T> {
    rows: Vec<Option<Row<T>>>,
}

impl<T> Index<Row<T>> for Direct<T> {
    type Step = ();

    fn with_capacity(_: usize, _: Pages) -> io::Result<Self> {
        Ok(Self { rows: Vec::new() })
    }

    fn insert(&mut self, key: u64, row: Row<T>) {
        let place = key as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, None);
        }
        self.rows[place] = Some(row);
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Option<Row<T>> {
        *self.rows.get(key as usize)?
    }

    #[inline(always)]
    fn begin<const N: usize>(&self, _: &[u64; N]) -> [(); N] {
        [(); N]
    }

    #[inline(always)]
    fn finish(&self, key: u64, (): ()) -> Option<Row<T>> {
        self.find(key)
    }
}
