//! An array in an index's place: the key is the number of the place. For warehouses and districts, whose numbers are
//! dense.

use std::io;

use super::index::Index;
use super::memory::{Pages, Row};

/// Small keys to rows of `T`.
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
