//! Texts of a fixed place in the row.
//!
//! A text of at most `N` bytes is kept padded with zeros and may hold no zero itself. So its length needs no field of
//! its own, and its bytes, compared as they are, order as the texts do.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::column::{BadColumn, Column, KeyColumn, placement_of_bytes};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;

/// UTF-8 of at most `N` bytes, without zero bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>(pub(super) [u8; N]);

/// A text that a [`Text`] cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// More bytes than the column has.
    #[error("text of {bytes} bytes is longer than its column ({most} bytes)")]
    TooLong {
        /// Bytes of the text.
        bytes: usize,
        /// Bytes of the column.
        most: usize,
    },
    /// A zero byte, which a text may not hold.
    #[error("text holds a zero byte at {at}; use Bytes for binary values")]
    ZeroByte {
        /// Offset of the first one.
        at: usize,
    },
}

impl<const N: usize> Text<N> {
    /// The empty text.
    pub const EMPTY: Self = Self([0; N]);

    /// Keeps `text` whole.
    ///
    /// # Errors
    /// When it has more than `N` bytes or holds a zero byte.
    pub fn new(text: &str) -> Result<Self, TextError> {
        if text.len() > N {
            return Err(TextError::TooLong { bytes: text.len(), most: N });
        }
        if let Some(at) = text.bytes().position(|byte| byte == 0) {
            return Err(TextError::ZeroByte { at });
        }
        let mut bytes = [0; N];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self(bytes))
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        let (rest, words) = self.0.as_rchunks::<8>();
        for (at, word) in words.iter().enumerate().rev() {
            let zeros = u64::from_le_bytes(*word).leading_zeros() as usize / 8;
            if zeros < 8 {
                return rest.len() + 8 * at + 8 - zeros;
            }
        }
        rest.len() - rest.iter().rev().take_while(|&&byte| byte == 0).count()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All `N` bytes: the text, then zeros.
    #[inline(always)]
    pub const fn padded(&self) -> &[u8; N] {
        &self.0
    }

    /// Whether this is ASCII, then zeros; 8 bytes at a time.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
        let (mut bits, mut gaps, mut used_before) = (0, 0, HIGH);
        let mut look = |word: [u8; 8]| {
            let word = u64::from_le_bytes(word);
            // The high bit of each byte that is not zero, ASCII given.
            let used = ((word & !HIGH) + !HIGH) & HIGH;
            bits |= word;
            gaps |= used & !(used << 8 | used_before >> 56);
            used_before = used;
        };
        let (words, rest) = self.0.as_chunks();
        words.iter().for_each(|word| look(*word));
        if !rest.is_empty() {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            look(padded);
        }
        bits & HIGH | gaps == 0
    }

    /// Whether this is any text, then zeros.
    #[cold]
    fn is_sound(&self) -> bool {
        let used = &self.0[..self.len()];
        !used.contains(&0) && std::str::from_utf8(used).is_ok()
    }

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: a text is made of whole characters, by its constructors and by `Column::load`, which checks.
        unsafe { std::str::from_utf8_unchecked(&self.0[..self.len()]) }
    }
}

/// Appends; an error when that does not fit, or holds a zero byte.
impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = self.len();
        let place = self.0[length..].get_mut(..text.len()).ok_or(fmt::Error)?;
        if text.as_bytes().contains(&0) {
            return Err(fmt::Error);
        }
        place.copy_from_slice(text.as_bytes());
        Ok(())
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> TryFrom<&str> for Text<N> {
    type Error = TextError;
    fn try_from(text: &str) -> Result<Self, TextError> {
        Self::new(text)
    }
}

impl<const N: usize> PartialEq<str> for Text<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> Serialize for Text<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, const N: usize> Deserialize<'de> for Text<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::new(&text).map_err(D::Error::custom)
    }
}

const NO_TEXT: BadColumn = BadColumn { expected: "text (UTF-8, padded with zeros)" };

impl<const N: usize> Column for Text<N> {
    const TYPE: ColumnType = ColumnType::Text(N);
    const WIDTH: usize = N;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        let text = Self(bytes.try_into().map_err(|_| NO_TEXT)?);
        if text.is_plain() || text.is_sound() { Ok(text) } else { Err(NO_TEXT) }
    }

    #[inline(always)]
    fn load_sound(bytes: super::sound::Sound<'_>) -> Self {
        Self(*bytes.bytes())
    }
}

impl<const N: usize> KeyColumn for Text<N> {
    const KEY_WIDTH: usize = N;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        to.push_bytes(&self.0);
    }

    fn placement(&self) -> u64 {
        placement_of_bytes(&self.0)
    }
}

// Texts made of parts.

impl<const N: usize> Text<N> {
    /// A text that is known when the program is compiled.
    ///
    /// # Panics
    /// When it has more than `N` bytes or holds a zero byte; in a constant, the program is then refused.
    pub const fn literal(text: &str) -> Self {
        let (text, mut bytes, mut at) = (text.as_bytes(), [0; N], 0);
        assert!(text.len() <= N, "the text is longer than its column");
        while at < text.len() {
            assert!(text[at] != 0, "a text may not hold a zero byte");
            bytes[at] = text[at];
            at += 1;
        }
        Self(bytes)
    }

    /// Appends as many whole characters of `part` as fit.
    #[inline]
    pub fn push<const M: usize>(&mut self, part: &Text<M>) {
        let length = self.len();
        match self.0.get_mut(length..length + M) {
            // With the zeros after it, so that its length is not needed.
            Some(room) => room.copy_from_slice(&part.0),
            None => *self = Self::joined(&[self.as_str(), part.as_str()]),
        }
    }

    /// Keeps as many whole characters as fit, up to the first zero byte.
    #[inline]
    pub fn truncated(text: &str) -> Self {
        Self::joined(&[text])
    }

    /// Keeps as many whole characters of the parts, one after the other, as fit, up to the first zero byte.
    #[inline]
    pub fn joined(parts: &[&str]) -> Self {
        let (mut bytes, mut length) = ([0xff; N], 0);
        for part in parts {
            let fits = part.len() <= N - length;
            let kept = if fits { part } else { &part[..part.floor_char_boundary(N - length)] };
            bytes[length..length + kept.len()].copy_from_slice(kept.as_bytes());
            length += kept.len();
            if !fits {
                break;
            }
        }
        // After the text there is no zero yet. So all bytes can be compared, which the compiler does many at a time.
        if bytes.iter().fold(false, |found, &byte| found | (byte == 0)) {
            length = bytes.iter().position(|&byte| byte == 0).unwrap_or(length);
        }
        bytes[length..].fill(0);
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn what_does_not_fit_falls_off_at_a_character() {
        assert_eq!(Text::<5>::joined(&["abc", "dé"]), "abcd");
        assert_eq!(Text::<6>::joined(&["abc", "dé", "f"]), "abcdé");
        assert_eq!(Text::<6>::joined(&["ab\0c", "d"]), "ab");
        assert_eq!(Text::<3>::truncated("éé"), "é");
    }

    #[test]
    fn length_is_found_from_the_end() {
        for length in 0..=21 {
            let text = Text::<21>::new(&"é1234567890123456789012"[..length + usize::from(length == 1)]).unwrap();
            assert_eq!(text.len(), text.padded().iter().filter(|&&byte| byte != 0).count(), "{length}");
        }
    }

    #[test]
    fn stored_bytes_are_text_then_zeros() {
        fn check<const N: usize>(bytes: [u8; N]) {
            let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(N);
            let right = bytes[length..].iter().all(|&byte| byte == 0) && std::str::from_utf8(&bytes[..length]).is_ok();
            assert_eq!(Text::<N>::load(&bytes).is_ok(), right, "{bytes:02x?}");
        }
        // All that nine bytes can be, of five kinds: the end, ASCII, and what characters of two bytes are made of.
        for number in 0..5_u32.pow(9) {
            let digit = |at: u32| [0, b'a', 0x7f, 0xc3, 0xa9][(number / 5_u32.pow(at) % 5) as usize];
            check::<9>(std::array::from_fn(|at| digit(at as u32)));
        }
        for zero in 0..24 {
            for other in 0..24 {
                let mut bytes = [b'x'; 24];
                bytes[zero..].fill(0);
                bytes[other] = b'y';
                check(bytes);
                bytes[other] = 0;
                check(bytes);
            }
        }
        assert!(Text::<3>::load(b"four").is_err());
    }

    #[test]
    fn writing_appends_or_fails() {
        let mut text = Text::<6>::EMPTY;
        write!(text, "{}-a", 12).unwrap();
        assert!(write!(text, "xyz").is_err() && write!(text, "\0").is_err());
        assert_eq!(text, "12-a");
    }
}
