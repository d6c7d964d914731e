//! The log record of the transaction that runs: built in place, kept or dropped at its end, the buffer used again.
//!
//! The log takes records up to a maximum. A record that would exceed it is given up at once: its bytes are of no use
//! any more, so the buffer stays as small as the maximum, and the transaction is refused at the change that exceeds it.

/// Bytes that grow at the end. The vector is kept at its largest length so that adding is a bounds check and a copy.
#[derive(Debug)]
pub(crate) struct RecordBuffer {
    /// At most the maximum; none while the record is given up.
    bytes: Vec<u8>,
    len: usize,
    max_bytes: usize,
}

/// The record would exceed its maximum, or exceeded it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordTooLarge;

/// A new buffer's length.
const FIRST_BYTES: usize = 4096;
/// A longer buffer is given back when its record is done with.
const KEPT_BYTES: usize = 1 << 20;

impl Default for RecordBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; FIRST_BYTES], len: 0, max_bytes: usize::MAX }
    }
}

impl RecordBuffer {
    /// Drops the record.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        // Longer than is kept, or given up.
        if self.bytes.len().wrapping_sub(1) >= KEPT_BYTES {
            self.reset();
        }
    }

    #[cold]
    fn reset(&mut self) {
        (self.bytes, self.len) = (vec![0; FIRST_BYTES.min(self.max_bytes)], 0);
    }

    /// Begins a record of this kind with a maximum of at least one byte, in place of the one there is.
    #[inline(always)]
    pub(crate) fn begin(&mut self, kind: u8, max_bytes: usize) {
        self.max_bytes = max_bytes;
        // Longer than the maximum, or given up.
        if self.bytes.len().wrapping_sub(1) >= max_bytes {
            self.reset();
        }
        self.bytes[0] = kind;
        self.len = 1;
    }

    /// Whether the record would exceed the maximum. Nothing is left of it then.
    #[inline(always)]
    pub(crate) fn is_too_large(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Gives the record up: nothing can be added before the next one.
    #[cold]
    pub(crate) fn give_up(&mut self) -> RecordTooLarge {
        (self.bytes, self.len) = (Vec::new(), 0);
        RecordTooLarge
    }

    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// `most` bytes after the end, to be written to and then taken in with [`RecordBuffer::advance`].
    #[inline(always)]
    pub(crate) fn space(&mut self, most: usize) -> Result<&mut [u8], RecordTooLarge> {
        if self.bytes.len() - self.len < most {
            self.grow(most)?;
        }
        // SAFETY: `most` bytes follow `len`, or were added; asking again, for each change, costs.
        Ok(unsafe { self.bytes.get_unchecked_mut(self.len..self.len + most) })
    }

    #[inline(always)]
    pub(crate) fn advance(&mut self, written: usize) {
        debug_assert!(self.len + written <= self.bytes.len());
        self.len += written;
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), RecordTooLarge> {
        self.space(bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    #[cold]
    fn grow(&mut self, most: usize) -> Result<(), RecordTooLarge> {
        if self.is_too_large() || most > self.max_bytes.saturating_sub(self.len) {
            return Err(self.give_up());
        }
        self.bytes.resize((self.len + most).next_power_of_two().max(FIRST_BYTES).min(self.max_bytes), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_beyond_the_maximum_is_given_up_and_takes_no_more_memory() {
        let mut record = RecordBuffer::default();
        record.push(&[7; 6_000]).unwrap();
        record.begin(1, 5_000);
        record.push(&[1; 4_999]).unwrap();
        assert!(!record.is_too_large(), "as large as the maximum");
        assert_eq!(record.as_slice(), [1; 5_000]);
        assert_eq!(record.push(&[3]), Err(RecordTooLarge), "although the buffer had room once");
        assert!(record.is_too_large());
        for most in [1, 4_000, 20_000] {
            assert_eq!(record.space(most).err(), Some(RecordTooLarge), "it stays given up");
        }
        assert_eq!((record.bytes.capacity(), record.as_slice().len()), (0, 0));
        record.clear();
        assert!(!record.is_too_large());
        record.begin(6, 5_000);
        record.push(&[6; 4_999]).unwrap();
        assert_eq!(record.push(&[6]), Err(RecordTooLarge), "the maximum holds for the next record");
        record.begin(6, usize::MAX);
        record.push(&[6; 9_999]).unwrap();
        assert_eq!(record.as_slice(), [6; 10_000]);
        record.push(&[6; KEPT_BYTES]).unwrap();
        record.clear();
        assert_eq!(record.bytes.capacity(), FIRST_BYTES, "an unusually large record's memory is given back");
    }
}
