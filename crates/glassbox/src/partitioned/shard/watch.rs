//! Reports the keys that a run touches: to locks, or to the sets of optimistic validation.
//!
//! Keys are given as their first 16 bytes, in order: longer keys that agree in these are one to a watch. That can only
//! make it more careful than it had to be.

use crate::record::{Encoded, EncodedKey};

/// How a key is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// It is read, or found absent.
    Read,
    /// Its row is changed, added or removed.
    Write,
}

/// Is told of every key before it is touched, and may refuse.
///
/// A *space* is one index of one table: its keys are compared with each other only.
pub trait Watch {
    /// Whether it wants to be told. Asked before everything that has to be found out to tell it.
    fn watches(&self) -> bool {
        true
    }

    /// A key is about to be touched. `false`: not now; the run stops, is undone, and is to be repeated.
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool;
    /// All keys from `low` to `high`, inclusive, are about to be read, and with them that there are no others.
    fn range(&mut self, space: u32, low: u128, high: u128) -> bool;
}

/// Reports nothing.
pub(super) struct Unwatched;

impl Watch for Unwatched {
    #[inline(always)]
    fn watches(&self) -> bool {
        false
    }

    #[inline(always)]
    fn point(&mut self, _space: u32, _key: u128, _touch: Touch) -> bool {
        true
    }

    #[inline(always)]
    fn range(&mut self, _space: u32, _low: u128, _high: u128) -> bool {
        true
    }
}

impl Watch for &mut dyn Watch {
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool {
        (**self).point(space, key, touch)
    }

    fn range(&mut self, space: u32, low: u128, high: u128) -> bool {
        (**self).range(space, low, high)
    }
}

/// The space of a table's primary key (`None`) or secondary index.
#[inline(always)]
pub(super) fn space(table: u16, index: Option<usize>) -> u32 {
    u32::from(table) << 8 | index.map_or(0, |position| position as u32 + 1)
}

/// The first 16 bytes of an encoded key of so many.
#[inline(always)]
pub(super) fn name<E: EncodedKey>(key: &E, width: usize) -> u128 {
    key.for_bytes(width, name_of_bytes)
}

#[inline(always)]
pub(super) fn name_of_bytes(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    let shared = bytes.len().min(16);
    word[..shared].copy_from_slice(&bytes[..shared]);
    u128::from_be_bytes(word)
}

#[inline(always)]
pub(super) fn names<E: EncodedKey>(range: &Encoded<E>, width: usize) -> (u128, u128) {
    (name(&range.low, width), name(&range.high, width))
}
