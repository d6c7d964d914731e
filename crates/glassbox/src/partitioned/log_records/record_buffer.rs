//! The log record of the transaction that runs: built in place, kept or dropped at its end, the buffer used again.
//!
//! The log takes records up to a maximum. A record that would exceed it is given up at once: its bytes are of no use
//! any more, so the buffer stays as small as the maximum, and the transaction is refused at the change that exceeds it.

/// Bytes that grow at the end. The vector is kept at its largest length so that adding is a bounds check and a copy.
#[derive(Debug)]
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    len: usize,
    /// Bytes that may be used: those there are, up to the maximum.
    room: usize,
    max_bytes: usize,
    is_too_large: bool,
}

impl Default for RecordBuffer {
    fn default() -> Self {
        Self { bytes: Vec::new(), len: 0, room: 0, max_bytes: usize::MAX, is_too_large: false }
    }
}

/// A longer buffer is given back when its record is done with.
const KEPT_BYTES: usize = 1 << 20;

impl RecordBuffer {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        if self.is_too_large {
            self.begin_within_max();
        }
        if self.bytes.len() > KEPT_BYTES {
            self.shrink();
        }
    }

    /// Begins a record after one that was given up.
    #[cold]
    fn begin_within_max(&mut self) {
        (self.is_too_large, self.room) = (false, self.bytes.len().min(self.max_bytes));
    }

    /// Gives back the memory of an unusually large record.
    #[cold]
    fn shrink(&mut self) {
        self.bytes = Vec::new();
        self.room = 0;
    }

    /// Bounds the record that begins.
    #[inline(always)]
    pub(crate) fn set_max(&mut self, max_bytes: usize) {
        if self.max_bytes != max_bytes {
            (self.max_bytes, self.room) = (max_bytes, self.bytes.len().min(max_bytes));
        }
    }

    /// Whether the record would exceed the maximum. Its bytes mean nothing then.
    #[inline(always)]
    pub(crate) fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// Gives the record up.
    #[cold]
    pub(crate) fn give_up(&mut self) {
        (self.is_too_large, self.len) = (true, 0);
    }

    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// `most` bytes after the end, to be written to and then taken in with [`RecordBuffer::advance`].
    #[inline(always)]
    pub(crate) fn space(&mut self, most: usize) -> &mut [u8] {
        if self.room - self.len < most {
            self.grow(most);
        }
        // SAFETY: so many bytes are behind `len`, or were added; asking again, for each change, costs.
        unsafe { self.bytes.get_unchecked_mut(self.len..self.len + most) }
    }

    #[inline(always)]
    pub(crate) fn advance(&mut self, written: usize) {
        debug_assert!(self.len + written <= self.bytes.len());
        self.len += written;
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[cold]
    fn grow(&mut self, most: usize) {
        if most > self.max_bytes.saturating_sub(self.len) {
            self.give_up();
        }
        let wanted = (self.len + most).next_power_of_two().max(4096);
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted, 0);
        }
        self.room = self.bytes.len().min(self.max_bytes.max(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_beyond_the_maximum_is_given_up_and_takes_no_more_memory() {
        let mut record = RecordBuffer::default();
        record.push(&[7; 6_000]);
        record.clear();
        record.set_max(5_000);
        record.push(&[1; 4_999]);
        record.push(&[2]);
        assert!(!record.is_too_large(), "as large as the maximum");
        assert_eq!(record.as_slice().len(), 5_000);
        record.push(&[3]);
        assert!(record.is_too_large(), "although the buffer has room");
        for _ in 0..1_000 {
            record.push(&[4; 4_000]);
        }
        assert!(record.is_too_large());
        assert!(record.bytes.len() <= 8_192, "{} bytes", record.bytes.len());
        record.push(&[5; 20_000]);
        assert_eq!(record.space(20_000).len(), 20_000, "a single change is written, wherever");
        record.clear();
        assert!(!record.is_too_large());
        record.push(&[6; 5_000]);
        assert_eq!((record.as_slice().len(), record.is_too_large()), (5_000, false));
        record.push(&[6]);
        assert!(record.is_too_large(), "the maximum holds for the next record");
        record.clear();
        record.push(&[6; 5_000]);
        record.set_max(usize::MAX);
        record.push(&[6; 5_000]);
        assert_eq!((record.as_slice().len(), record.is_too_large()), (10_000, false));
    }
}
