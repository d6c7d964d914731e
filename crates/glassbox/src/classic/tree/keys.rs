//! How keys are compared: column by column as a schema tells, or as the integers that their encoding makes.
//!
//! Keys are stored in the order-preserving form of [`crate::record`], so both give the same order for whatever bytes.
//! A conventional engine nevertheless goes through the schema of the key, since it does not know more; that this is a
//! large part of its work is the first finding of Harizopoulos et al. 2008 ("B-tree keys").

use std::cmp::Ordering;

use super::node::Entries;

/// An order of keys.
pub(crate) trait Keys {
    /// A key made ready for being looked for.
    type Probe<'k>: Copy;

    /// Bytes of a key.
    fn width(&self) -> usize;

    /// Makes `key`, of [`Keys::width`] bytes, ready.
    fn probe<'k>(&self, key: &'k [u8]) -> Self::Probe<'k>;

    /// How many entries have a smaller key.
    fn smaller(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> usize;

    /// How many entries have a smaller key or this one.
    fn not_greater(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> usize;

    /// Whether the entry at `at` has this key.
    fn is_at(&self, entries: Entries<'_>, at: usize, probe: Self::Probe<'_>) -> bool;

    /// The order of two keys.
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering;
}

/// Keys compared as integers: 8 bytes at once where there are no more, 16 where there are no more, otherwise 8 at a
/// time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntegerKeys {
    width: usize,
}

/// A key as integers.
#[derive(Clone, Copy)]
pub(crate) struct IntegerProbe<'k> {
    /// The first 16 bytes, then zeros.
    least: u128,
    /// The first 16 bytes, then ones.
    most: u128,
    key: &'k [u8],
}

impl IntegerKeys {
    /// Keys of `width` bytes.
    pub(crate) fn new(width: usize) -> Self {
        Self { width }
    }
}

// What stands behind a key in its entry is read with it: a stored key is smaller than another exactly if the bytes from
// it on are less than the other filled with zeros, and not greater if they are at most the other filled with ones.

#[inline(always)]
fn first_8(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(*bytes.first_chunk().expect("the slack"))
}

#[inline(always)]
fn first_16(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(*bytes.first_chunk().expect("the slack behind an entry of at least 13"))
}

/// Order of two keys of the same width, 8 bytes at a time.
#[inline]
fn compare_words(left: &[u8], right: &[u8]) -> Ordering {
    let (words, rest) = left.as_chunks::<8>();
    let (other_words, other_rest) = right.as_chunks::<8>();
    for (word, other) in words.iter().zip(other_words) {
        let (word, other) = (u64::from_be_bytes(*word), u64::from_be_bytes(*other));
        if word != other {
            return word.cmp(&other);
        }
    }
    rest.cmp(other_rest)
}

impl Keys for IntegerKeys {
    type Probe<'k> = IntegerProbe<'k>;

    #[inline(always)]
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn probe<'k>(&self, key: &'k [u8]) -> IntegerProbe<'k> {
        assert_eq!(key.len(), self.width, "the width of a tree's keys");
        let mut first = [0; 16];
        let len = key.len().min(16);
        first[..len].copy_from_slice(&key[..len]);
        let least = u128::from_be_bytes(first);
        let most = least | u128::MAX.checked_shr(8 * len as u32).unwrap_or(0);
        IntegerProbe { least, most, key }
    }

    #[inline(always)]
    fn smaller(&self, entries: Entries<'_>, probe: IntegerProbe<'_>) -> usize {
        let width = self.width;
        if width <= 8 {
            let least = (probe.least >> 64) as u64;
            entries.partition(|bytes| first_8(bytes) < least)
        } else if width <= 16 {
            entries.partition(|bytes| first_16(bytes) < probe.least)
        } else {
            entries.partition(|bytes| compare_words(&bytes[..width], probe.key).is_lt())
        }
    }

    #[inline(always)]
    fn not_greater(&self, entries: Entries<'_>, probe: IntegerProbe<'_>) -> usize {
        let width = self.width;
        if width <= 8 {
            let most = (probe.most >> 64) as u64;
            entries.partition(|bytes| first_8(bytes) <= most)
        } else if width <= 16 {
            entries.partition(|bytes| first_16(bytes) <= probe.most)
        } else {
            entries.partition(|bytes| compare_words(&bytes[..width], probe.key).is_le())
        }
    }

    #[inline(always)]
    fn is_at(&self, entries: Entries<'_>, at: usize, probe: IntegerProbe<'_>) -> bool {
        let bytes = entries.from(at);
        if self.width <= 8 {
            let (least, most) = ((probe.least >> 64) as u64, (probe.most >> 64) as u64);
            (least..=most).contains(&first_8(bytes))
        } else if self.width <= 16 {
            (probe.least..=probe.most).contains(&first_16(bytes))
        } else {
            bytes[..self.width] == *probe.key
        }
    }

    #[inline(always)]
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        compare_words(left, right)
    }
}
