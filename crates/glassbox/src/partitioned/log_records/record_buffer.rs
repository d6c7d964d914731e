//! The log record of the transaction that runs: built in place, kept or dropped at its end, the buffer used again.

/// Bytes that grow at the end. The vector is kept at its largest length so that adding is a bounds check and a copy.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    len: usize,
}

/// A longer buffer is given back when its record is done with.
const KEPT_BYTES: usize = 1 << 20;

impl RecordBuffer {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        if self.bytes.len() > KEPT_BYTES {
            self.shrink();
        }
    }

    /// Gives back the memory of an unusually large record.
    #[cold]
    fn shrink(&mut self) {
        self.bytes = Vec::new();
    }

    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// `most` bytes after the end, to be written to and then taken in with [`RecordBuffer::advance`].
    #[inline(always)]
    pub(crate) fn space(&mut self, most: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < most {
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
        let wanted = (self.len + most).next_power_of_two().max(4096);
        self.bytes.resize(wanted, 0);
    }
}
