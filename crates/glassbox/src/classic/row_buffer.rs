//! Room for one row as its own type, whatever type that is.
//!
//! A row on a page is in its stored form, and the page may change or leave as soon as it is unfixed. So what a
//! transaction gives its procedure a reference to is a copy, decoded, which stays until the next access. The room for
//! it is kept from row to row.

use crate::record::Record;

/// One row of any type.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    // Of the largest alignment that a record may have.
    room: Vec<u128>,
}

impl RowBuffer {
    /// Keeps `row` and gives it back from where it is kept.
    #[inline(always)]
    pub(crate) fn keep<R: Record>(&mut self, row: R) -> &mut R {
        const { assert!(align_of::<R>() <= align_of::<u128>(), "a record is made of columns, which are aligned less") };
        let words = size_of::<R>().div_ceil(size_of::<u128>());
        if self.room.len() < words {
            self.room.resize(words, 0);
        }
        let place = self.room.as_mut_ptr().cast::<R>();
        // SAFETY: the room is as large as an `R` and aligned for one; it is this buffer's own, and borrowed with it. A
        // record is `Copy`, so nothing has to be dropped in it.
        unsafe {
            place.write(row);
            &mut *place
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RowBuffer;
    use crate::Record;
    use crate::record::Text;

    #[derive(Record, Clone, Copy, PartialEq, Debug)]
    #[record(key = id)]
    struct Small {
        id: u8,
    }

    #[derive(Record, Clone, Copy, PartialEq, Debug)]
    #[record(key = id)]
    struct Large {
        id: u64,
        text: Text<100>,
    }

    #[test]
    fn rows_of_any_type_are_kept() {
        let mut buffer = RowBuffer::default();
        assert_eq!(buffer.keep(Small { id: 7 }), &Small { id: 7 });
        let large = Large { id: 1 << 60, text: Text::new("so much").unwrap() };
        let kept = buffer.keep(large);
        kept.id += 1;
        assert_eq!(kept, &Large { id: large.id + 1, ..large });
        assert_eq!(buffer.keep(Small { id: 8 }), &Small { id: 8 });
    }
}
