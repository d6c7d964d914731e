//! Bounds of a scan: ranges of keys, and prefixes of them.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive};

use super::column::KeyColumn;
use super::encoded::{EncodedKey, KeyWriter};
use super::key::Key;

/// The way a scan runs through an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key to the largest.
    Forward,
    /// From the largest key to the smallest.
    Backward,
}

/// Encoded bounds, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoded<E> {
    /// The smallest key wanted.
    pub low: E,
    /// The largest key wanted.
    pub high: E,
}

/// A set of consecutive keys: `a..b`, `a..=b`, `a..`, `..`, or all keys that begin with a [`Prefix`].
pub trait Bounds<K: Key> {
    /// Inclusive bounds, or `None` when no key can be within.
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>>;

    /// The placement number of the key column at `position`, when it is the same for every key within.
    fn placement_at(&self, position: usize) -> Option<u64>;
}

/// All keys that begin with these columns: `Prefix((warehouse, district))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix<P>(pub P);

/// A key whose columns are the first columns of `K`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not the beginning of the key `{K}`")]
pub trait PrefixOf<K>: Key {
    /// How many columns of `K` this has.
    const COLUMNS: usize;
}

impl<K: Key, P: PrefixOf<K>> Bounds<K> for Prefix<P> {
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>> {
        let mut writer = KeyWriter::default();
        self.0.push(&mut writer);
        Some(Encoded { low: writer.finish(0, K::WIDTH), high: writer.finish(255, K::WIDTH) })
    }

    #[inline(always)]
    fn placement_at(&self, position: usize) -> Option<u64> {
        (position < P::COLUMNS).then(|| self.0.placement_at(position))
    }
}

fn whole<K: Key, E: EncodedKey>() -> Encoded<E> {
    Encoded { low: KeyWriter::default().finish(0, K::WIDTH), high: KeyWriter::default().finish(255, K::WIDTH) }
}

/// Keys between two that agree on every column up to `position` agree on that column too.
fn shared<K: Key>(low: &K, high: &K, position: usize) -> Option<u64> {
    low.agrees_up_to(high, position).then(|| low.placement_at(position))
}

impl<K: Key> Bounds<K> for RangeInclusive<K> {
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>> {
        let (low, high) = (self.start().encode(), self.end().encode());
        (low <= high).then_some(Encoded { low, high })
    }

    #[inline(always)]
    fn placement_at(&self, position: usize) -> Option<u64> {
        shared(self.start(), self.end(), position)
    }
}

impl<K: Key> Bounds<K> for Range<K> {
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>> {
        let (low, high) = (self.start.encode(), self.end.encode::<E>().predecessor()?);
        (low <= high).then_some(Encoded { low, high })
    }

    #[inline(always)]
    fn placement_at(&self, position: usize) -> Option<u64> {
        shared(&self.start, &self.end, position)
    }
}

impl<K: Key> Bounds<K> for RangeFrom<K> {
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>> {
        Some(Encoded { low: self.start.encode(), high: whole::<K, E>().high })
    }

    #[inline(always)]
    fn placement_at(&self, _position: usize) -> Option<u64> {
        None
    }
}

impl<K: Key> Bounds<K> for RangeFull {
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> Option<Encoded<E>> {
        Some(whole::<K, E>())
    }

    #[inline(always)]
    fn placement_at(&self, _position: usize) -> Option<u64> {
        None
    }
}

macro_rules! prefixes {
    ($(($($prefix:ident),+; $columns:literal) of ($($name:ident),+))*) => {$(
        impl<$($name: KeyColumn),+> PrefixOf<($($name,)+)> for ($($prefix,)+) {
            const COLUMNS: usize = $columns;
        }
    )*};
    ($(first of ($($name:ident),+))*) => {$(
        impl<A: KeyColumn, $($name: KeyColumn),+> PrefixOf<(A, $($name),+)> for A {
            const COLUMNS: usize = 1;
        }
    )*};
}

prefixes! {
    (A; 1) of (A, B)
    (A; 1) of (A, B, C)
    (A, B; 2) of (A, B, C)
    (A; 1) of (A, B, C, D)
    (A, B; 2) of (A, B, C, D)
    (A, B, C; 3) of (A, B, C, D)
    (A; 1) of (A, B, C, D, E)
    (A, B; 2) of (A, B, C, D, E)
    (A, B, C; 3) of (A, B, C, D, E)
    (A, B, C, D; 4) of (A, B, C, D, E)
    (A; 1) of (A, B, C, D, E, F)
    (A, B; 2) of (A, B, C, D, E, F)
    (A, B, C; 3) of (A, B, C, D, E, F)
    (A, B, C, D; 4) of (A, B, C, D, E, F)
    (A, B, C, D, E; 5) of (A, B, C, D, E, F)
    (A; 1) of (A, B, C, D, E, F, G)
    (A, B; 2) of (A, B, C, D, E, F, G)
    (A, B, C; 3) of (A, B, C, D, E, F, G)
    (A, B, C, D; 4) of (A, B, C, D, E, F, G)
    (A, B, C, D, E; 5) of (A, B, C, D, E, F, G)
    (A, B, C, D, E, F; 6) of (A, B, C, D, E, F, G)
    (A; 1) of (A, B, C, D, E, F, G, H)
    (A, B; 2) of (A, B, C, D, E, F, G, H)
    (A, B, C; 3) of (A, B, C, D, E, F, G, H)
    (A, B, C, D; 4) of (A, B, C, D, E, F, G, H)
    (A, B, C, D, E; 5) of (A, B, C, D, E, F, G, H)
    (A, B, C, D, E, F; 6) of (A, B, C, D, E, F, G, H)
    (A, B, C, D, E, F, G; 7) of (A, B, C, D, E, F, G, H)
}

prefixes! {
    first of (B)
    first of (B, C)
    first of (B, C, D)
    first of (B, C, D, E)
    first of (B, C, D, E, F)
    first of (B, C, D, E, F, G)
    first of (B, C, D, E, F, G, H)
}
