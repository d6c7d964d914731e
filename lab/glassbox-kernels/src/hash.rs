//! A hash table from keys below 2^32 to rows: open addressing, linear probing, eight bytes an entry.
//!
//! Keys are nearly consecutive numbers, and multiplying by 2^64 divided by the golden ratio (Knuth, *The Art of
//! Computer Programming*, volume 3, section 6.4) spreads consecutive numbers almost evenly over the table, so nearly
//! all are found at their first place: one multiplication, one shift, one cache line. Hashed tables of this mix never
//! grow, so neither does this one: it has a fixed capacity and panics beyond it.

use std::io;

use crate::index::Index;
use crate::memory::{Pages, Row, Slab};

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

struct Slot<T> {
    /// The key plus one; 0 in an unused place.
    key_plus_one: u32,
    row: Row<T>,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

/// Keys below 2^32 - 1 to rows of `T`.
pub struct Hash<T> {
    /// As many entries as places, all written.
    entries: Slab<Slot<T>>,
    /// The place is what this shift leaves of the product.
    shift: u32,
    mask: u32,
    free: usize,
}

impl<T> Hash<T> {
    #[inline(always)]
    fn place(&self, key: u64) -> u32 {
        (key.wrapping_mul(GOLDEN) >> self.shift) as u32
    }

    #[inline(always)]
    fn row_of(&self, place: u32) -> Row<Slot<T>> {
        // SAFETY: a place is masked, or shifted, to be below the number of entries.
        unsafe { Row::known(place) }
    }
}

impl<T> Index<Row<T>> for Hash<T> {
    type Step = u32;

    fn with_capacity(capacity: usize, pages: Pages) -> io::Result<Self> {
        // A quarter of the places stays free at least: probing must end, and soon.
        let places = (capacity + capacity / 3 + 2).next_power_of_two();
        let mut entries = Slab::new(places, pages)?;
        for _ in 0..places {
            // SAFETY: the row of an unused entry is never used.
            entries.push(Slot { key_plus_one: 0, row: unsafe { Row::known(0) } });
        }
        Ok(Self { entries, shift: 64 - places.ilog2(), mask: places as u32 - 1, free: capacity })
    }

    fn insert(&mut self, key: u64, row: Row<T>) {
        let Ok(key_plus_one) = u32::try_from(key + 1) else {
            panic!("key {key} is too large for a hash table of the kernel");
        };
        assert!(self.free > 0, "the kernel was sized for fewer rows: raise its Sizing");
        self.free -= 1;
        let mut place = self.place(key);
        while self.entries.get(self.row_of(place)).key_plus_one != 0 {
            place = (place + 1) & self.mask;
        }
        let at = self.row_of(place);
        *self.entries.get_mut(at) = Slot { key_plus_one, row };
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Option<Row<T>> {
        self.finish(key, self.place(key))
    }

    #[inline(always)]
    fn begin<const N: usize>(&self, keys: &[u64; N]) -> [u32; N] {
        keys.map(|key| {
            let place = self.place(key);
            self.entries.prefetch(self.row_of(place), 0);
            place
        })
    }

    #[inline(always)]
    fn finish(&self, key: u64, mut place: u32) -> Option<Row<T>> {
        loop {
            let entry = self.entries.get(self.row_of(place));
            if u64::from(entry.key_plus_one) == key.wrapping_add(1) {
                return Some(entry.row);
            }
            if entry.key_plus_one == 0 {
                return None;
            }
            place = (place + 1) & self.mask;
        }
    }
}
