//! Stored rows that need not be checked.
//!
//! Reading a row from bytes checks each column: bytes from a file may be anything. But most rows that an engine reads
//! it has itself stored, or checked before, and checking their texts again costs more than copying them.

/// Stored bytes of columns, known to be what [`Column::store`](super::Column::store) writes.
///
/// Only engines make one, of a whole row, and only code of `#[derive(Record)]` splits it, where the columns are. So its
/// bytes may be relied on.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Sound<'a>(&'a [u8]);

impl<'a> Sound<'a> {
    /// # Safety
    /// `row` is as [`Record::store`](super::Record::store) wrote it, or [`Record::load`](super::Record::load) accepts
    /// it, for the record that it will be read as.
    #[inline(always)]
    pub(crate) unsafe fn new(row: &'a [u8]) -> Self {
        Self(row)
    }

    /// The bytes of a column, which are those from one offset up to another.
    #[doc(hidden)]
    #[inline(always)]
    pub fn column(self, from: usize, to: usize) -> Self {
        Self(&self.0[from..to])
    }

    /// The bytes, as many as the caller knows that there are.
    ///
    /// # Panics
    /// When there are more or fewer.
    #[inline(always)]
    pub fn bytes<const N: usize>(self) -> &'a [u8; N] {
        self.0.try_into().expect("as many bytes as the column has")
    }

    /// All of them.
    #[inline(always)]
    pub fn all(self) -> &'a [u8] {
        self.0
    }
}
