//! The room that arguments are written to: bytes, numbers, and what has its length before it.

use std::fmt::Display;

use serde::ser::Error as _;

/// Why arguments cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadArguments {
    /// There is not enough room for them.
    #[error("they are too long")]
    Full,
    /// What they say themselves, or what this form cannot hold.
    #[error("{0}")]
    Other(String),
}

impl serde::ser::Error for BadArguments {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }
}

pub(crate) type Done = Result<(), BadArguments>;

/// The bytes of the longest number: 64 bits, seven to a byte.
pub(crate) const MAX_VARINT_BYTES: usize = 10;

/// Encodes into the room that is left.
pub(crate) struct ArgumentsEncoder<'a> {
    pub(crate) room: &'a mut [u8],
}

impl ArgumentsEncoder<'_> {
    /// Goes on behind `written` bytes.
    #[inline(always)]
    pub(crate) fn advance(&mut self, written: usize) {
        self.room = &mut std::mem::take(&mut self.room)[written..];
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) -> Done {
        *self.room.first_mut().ok_or(BadArguments::Full)? = byte;
        self.advance(1);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn number(&mut self, number: u64) -> Done {
        let room = self.room.first_chunk_mut::<MAX_VARINT_BYTES>().ok_or(BadArguments::Full)?;
        let part = |at: u32| (number >> (7 * at)) as u8;
        // Nearly all are short, and then their length is known where they are written.
        if number < 1 << 7 {
            room[0] = part(0);
            self.advance(1);
        } else if number < 1 << 14 {
            (room[0], room[1]) = (part(0) | 0x80, part(1));
            self.advance(2);
        } else if number < 1 << 21 {
            (room[0], room[1], room[2]) = (part(0) | 0x80, part(1) | 0x80, part(2));
            self.advance(3);
        } else {
            return self.long_number(number);
        }
        Ok(())
    }

    #[inline(never)]
    fn long_number(&mut self, mut number: u64) -> Done {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.byte(number as u8)
    }

    #[cold]
    pub(crate) fn wide_number(&mut self, mut number: u128) -> Done {
        while number > u64::MAX.into() {
            self.byte(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.long_number(number as u64)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Done {
        self.room.get_mut(..bytes.len()).ok_or(BadArguments::Full)?.copy_from_slice(bytes);
        self.advance(bytes.len());
        Ok(())
    }

    /// Behind their length.
    #[inline]
    pub(crate) fn counted(&mut self, bytes: &[u8]) -> Done {
        self.number(bytes.len() as u64)?;
        self.bytes(bytes)
    }

    #[inline(always)]
    pub(crate) fn length(&mut self, length: Option<usize>) -> Result<&mut Self, BadArguments> {
        let length = length.ok_or_else(|| BadArguments::custom("a sequence does not know its length"))?;
        self.number(length as u64)?;
        Ok(self)
    }
}
