//! What differs between two states of a record, as ranges of bytes with both contents.
//!
//! A range is stored as offset (2 bytes), length (2 bytes), the bytes before, the bytes after. An update of a few
//! columns of a row of some hundred bytes so costs little log. Eight bytes are compared at a time, and more where they
//! are equal. Differences with fewer than eight equal bytes between them are one range: splitting saves at most 16
//! bytes of log, and costs 4 and another copy at redo.

use crate::classic::page::BadChange;

const WORD: usize = 8;
/// The bytes compared at once where they are equal, as most of a long record is.
const BLOCK: usize = 128;

/// Appends the ranges in which `after` differs from `before`, in order; none if they are equal.
///
/// # Panics
/// When the lengths differ, or have more than 16 bits.
pub(crate) fn between(before: &[u8], after: &[u8], ranges: &mut Vec<u8>) {
    assert_eq!(before.len(), after.len(), "an update keeps a record's length");
    assert!(before.len() <= usize::from(u16::MAX), "a record is shorter than a page");
    let mut open = OpenRange { begin: 0, end: 0 };
    if before.len() <= BLOCK {
        open.compare((before, after), (before, after), 0, ranges);
    } else {
        for (number, (old, new)) in before.chunks(BLOCK).zip(after.chunks(BLOCK)).enumerate() {
            if old != new {
                open.compare((before, after), (old, new), number * BLOCK, ranges);
            }
        }
    }
    open.push(before, after, ranges);
}

/// A range to which more may come; none if it is empty.
struct OpenRange {
    begin: usize,
    end: usize,
}

impl OpenRange {
    /// Goes on with two parts of the records, which begin at `start`.
    #[inline(always)]
    fn compare(
        &mut self,
        (before, after): (&[u8], &[u8]),
        (old, new): (&[u8], &[u8]),
        start: usize,
        ranges: &mut Vec<u8>,
    ) {
        let mut differs = |from: usize, until: usize| {
            if self.end == 0 || from >= self.end + WORD {
                self.push(before, after, ranges);
                self.begin = from;
            }
            self.end = until;
        };
        for (number, (old, new)) in old.chunks_exact(WORD).zip(new.chunks_exact(WORD)).enumerate() {
            let bits = word(old) ^ word(new);
            if bits != 0 {
                let (first, behind) = (bits.trailing_zeros() / 8, WORD as u32 - bits.leading_zeros() / 8);
                let at = start + number * WORD;
                differs(at + first as usize, at + behind as usize);
            }
        }
        for at in old.len() / WORD * WORD..old.len() {
            if old[at] != new[at] {
                differs(start + at, start + at + 1);
            }
        }
    }

    /// Appends the range.
    #[inline(always)]
    fn push(&self, before: &[u8], after: &[u8], ranges: &mut Vec<u8>) {
        let OpenRange { begin, end } = *self;
        if begin == end {
            return;
        }
        let ([o0, o1], [l0, l1]) = ((begin as u16).to_le_bytes(), ((end - begin) as u16).to_le_bytes());
        let length = end - begin;
        if let (Some(old), Some(new)) = (before[begin..].first_chunk::<WORD>(), after[begin..].first_chunk::<WORD>())
            && length <= WORD
        {
            // Short ones, which are most, all at once: what is too much is overwritten, or cut off.
            let mut range = [0; 4 + 2 * WORD];
            range[..4].copy_from_slice(&[o0, o1, l0, l1]);
            range[4..4 + WORD].copy_from_slice(old);
            range[4 + length..][..WORD].copy_from_slice(new);
            let full = ranges.len() + 4 + 2 * length;
            ranges.extend_from_slice(&range);
            ranges.truncate(full);
            return;
        }
        ranges.extend_from_slice(&[o0, o1, l0, l1]);
        ranges.extend_from_slice(&before[begin..end]);
        ranges.extend_from_slice(&after[begin..end]);
    }
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// One range.
pub(crate) struct Range<'a> {
    pub(crate) offset: usize,
    pub(crate) before: &'a [u8],
    pub(crate) after: &'a [u8],
}

/// Takes the next range from encoded ones, which are not empty.
///
/// # Errors
/// When there is none.
pub(crate) fn next<'a>(ranges: &mut &'a [u8]) -> Result<Range<'a>, BadChange> {
    let cut = BadChange("updates a range that is cut off");
    let (&[o0, o1, l0, l1], rest) = ranges.split_first_chunk::<4>().ok_or(cut)?;
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    let (before, rest) = rest.split_at_checked(length).ok_or(cut)?;
    let (after, rest) = rest.split_at_checked(length).ok_or(cut)?;
    *ranges = rest;
    Ok(Range { offset: usize::from(u16::from_le_bytes([o0, o1])), before, after })
}

/// Replaces in the record what the ranges say: their bytes before by those after, or, if `back`, the other way.
///
/// # Errors
/// When the record does not hold what is replaced. It is unchanged then.
pub(crate) fn apply(record: &mut [u8], ranges: &[u8], back: bool) -> Result<(), BadChange> {
    let mut rest = ranges;
    let mut last = 0;
    while !rest.is_empty() {
        let range = next(&mut rest)?;
        let from = if back { range.after } else { range.before };
        if range.offset < last || record.get(range.offset..range.offset + from.len()) != Some(from) {
            return Err(BadChange("updates a record that holds other bytes"));
        }
        last = range.offset + from.len();
    }
    let mut rest = ranges;
    while !rest.is_empty() {
        let range = next(&mut rest)?;
        let to = if back { range.before } else { range.after };
        record[range.offset..range.offset + to.len()].copy_from_slice(to);
    }
    Ok(())
}
