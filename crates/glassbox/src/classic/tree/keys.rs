//! How keys are compared: column by column as a schema tells, or as the integers that their encoding makes.
//!
//! Keys are stored in the order-preserving form of [`crate::record`], so both give the same order for whatever bytes.
//! A conventional engine nevertheless goes through the schema of the key, since it does not know more; that this is a
//! large part of its work is the first finding of Harizopoulos et al. 2008 ("B-tree keys").

use std::cmp::Ordering;

use super::entries::Entries;

/// An order of keys.
pub(crate) trait Keys {
    /// A key made ready for being looked for.
    type Probe<'k>: Copy;

    /// Bytes of a key.
    fn width(&self) -> usize;

    /// Makes `key`, of [`Keys::width`] bytes, ready.
    fn probe<'k>(&self, key: &'k [u8]) -> Self::Probe<'k>;

    /// The same for a key of which it is known already which number it is, if it has at most 8 bytes.
    #[inline(always)]
    fn probe_number<'k>(&self, key: &'k [u8], _number: Option<u64>) -> Self::Probe<'k> {
        self.probe(key)
    }

    /// How many entries have a smaller key.
    fn smaller(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> usize;

    /// How many entries have a smaller key or this one.
    fn not_greater(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> usize;

    /// Whether the entry at `at` has this key.
    fn is_at(&self, entries: Entries<'_>, at: usize, probe: Self::Probe<'_>) -> bool;

    /// The key as a number, in the order of keys; `None` if it has more than 8 bytes.
    fn number(&self, probe: Self::Probe<'_>) -> Option<u64>;

    /// How far the key is behind that of the first entry, if they are numbers: its place where no number is missing.
    fn distance(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> usize;

    /// Where the entry with this key is.
    #[inline(never)]
    fn find(&self, entries: Entries<'_>, probe: Self::Probe<'_>) -> Option<usize> {
        let guess = self.distance(entries, probe);
        if guess < entries.count() && self.is_at(entries, guess, probe) {
            return Some(guess);
        }
        let at = self.smaller(entries, probe);
        (at < entries.count() && self.is_at(entries, at, probe)).then_some(at)
    }

    /// The order of two keys.
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering;
}

/// Keys compared as integers: 8 bytes at once where there are no more, 16 where there are no more, otherwise 8 at a
/// time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntegerKeys {
    width: usize,
    /// Of 8 bytes from a key's beginning on, the bits of those behind it.
    behind: u32,
}

/// A key as integers.
#[derive(Clone, Copy)]
pub(crate) struct IntegerProbe<'k> {
    /// The first 8 bytes, then zeros.
    least: u64,
    /// The first 8 bytes, then ones.
    most: u64,
    key: &'k [u8],
}

impl IntegerKeys {
    /// Keys of `width` bytes.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, behind: 64 - 8 * width.min(8) as u32 }
    }
}

// What stands behind a key in its entry is read with it: a stored key is smaller than another exactly if the bytes from
// it on are less than the other filled with zeros, and not greater if they are at most the other filled with ones.

/// The first 8 bytes, filled with zeros, without a call for copying them.
#[inline(always)]
pub(super) fn padded_8(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    match (key.first_chunk(), key.last_chunk()) {
        // Two halves that overlap.
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << 32 | u64::from(last) << (64 - 8 * key.len())
        }
        _ => key.iter().rev().fold(0, |value, byte| value >> 8 | u64::from(*byte) << 56),
    }
}

/// The first 16 bytes, filled with zeros.
#[inline(always)]
fn padded_16(key: &[u8]) -> u128 {
    let (first, rest) = key.split_at(8);
    u128::from(padded_8(first)) << 64 | u128::from(padded_8(&rest[..rest.len().min(8)]))
}

/// Ones for the bits behind the first `bytes` of an integer of 16.
#[inline(always)]
fn behind_16(bytes: usize) -> u128 {
    u128::MAX.checked_shr(8 * bytes as u32).unwrap_or(0)
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

/// How far a number, which has `behind` bits behind it, is from that of the first entry.
#[inline(always)]
pub(super) fn distance(entries: Entries<'_>, number: u64, behind: u32) -> usize {
    if entries.count() == 0 {
        return 0;
    }
    (number >> behind).wrapping_sub(head_8(entries, 0) >> behind) as usize
}

#[inline(always)]
fn head_8(entries: Entries<'_>, at: u32) -> u64 {
    u64::from_be_bytes(entries.head(at))
}

#[inline(always)]
fn head_16(entries: Entries<'_>, at: u32) -> u128 {
    u128::from_be_bytes(entries.head(at))
}

// Apart, so that the way of short keys, which is the usual one, keeps its registers.

#[inline(never)]
fn smaller_wide(entries: Entries<'_>, key: &[u8]) -> usize {
    if key.len() <= 16 {
        let least = padded_16(key);
        return entries.partition(|at| head_16(entries, at) < least);
    }
    entries.partition(|at| compare_words(entries.key(at, key.len()), key).is_lt())
}

#[inline(never)]
fn not_greater_wide(entries: Entries<'_>, key: &[u8]) -> usize {
    if key.len() <= 16 {
        let most = padded_16(key) | behind_16(key.len());
        return entries.partition(|at| head_16(entries, at) <= most);
    }
    entries.partition(|at| compare_words(entries.key(at, key.len()), key).is_le())
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
        let least = padded_8(key);
        let most = least | u64::MAX.checked_shr(8 * key.len() as u32).unwrap_or(0);
        IntegerProbe { least, most, key }
    }

    #[inline(always)]
    fn probe_number<'k>(&self, key: &'k [u8], number: Option<u64>) -> IntegerProbe<'k> {
        assert_eq!(key.len(), self.width, "the width of a tree's keys");
        let Some(number) = number else { return self.probe(key) };
        let behind = 64 - 8 * key.len() as u32;
        IntegerProbe { least: number << behind, most: number << behind | ((1 << behind) - 1), key }
    }

    #[inline(always)]
    fn smaller(&self, entries: Entries<'_>, probe: IntegerProbe<'_>) -> usize {
        match self.width {
            ..=8 => entries.partition(|at| head_8(entries, at) < probe.least),
            _ => smaller_wide(entries, probe.key),
        }
    }

    #[inline(always)]
    fn not_greater(&self, entries: Entries<'_>, probe: IntegerProbe<'_>) -> usize {
        match self.width {
            ..=8 => entries.partition(|at| head_8(entries, at) <= probe.most),
            _ => not_greater_wide(entries, probe.key),
        }
    }

    #[inline(always)]
    fn is_at(&self, entries: Entries<'_>, at: usize, probe: IntegerProbe<'_>) -> bool {
        match self.width {
            ..=8 => (probe.least..=probe.most).contains(&head_8(entries, at as u32)),
            width => entries.key(at as u32, width) == probe.key,
        }
    }

    #[inline(always)]
    fn number(&self, probe: IntegerProbe<'_>) -> Option<u64> {
        (self.width <= 8).then_some(probe.least >> self.behind)
    }

    #[inline(always)]
    fn distance(&self, entries: Entries<'_>, probe: IntegerProbe<'_>) -> usize {
        distance(entries, probe.least, self.behind)
    }

    #[inline(always)]
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        compare_words(left, right)
    }
}
