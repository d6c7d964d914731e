//! Texts and byte strings of a fixed place in the row.
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
pub struct Text<const N: usize>([u8; N]);

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

    /// Keeps as many whole characters as fit, up to the first zero byte.
    pub fn truncated(text: &str) -> Self {
        let text = text.split('\0').next().unwrap_or_default();
        let end = text.floor_char_boundary(N);
        Self::new(&text[..end]).expect("cut to fit")
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        N - self.0.iter().rev().take_while(|&&byte| byte == 0).count()
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

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0[..self.len()]).expect("checked when the text was made")
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

impl<const N: usize> Column for Text<N> {
    const TYPE: ColumnType = ColumnType::Text(N);
    const WIDTH: usize = N;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        let error = BadColumn { expected: "text (UTF-8, padded with zeros)" };
        let text = Self(bytes.try_into().map_err(|_| error)?);
        let used = &bytes[..text.len()];
        (!used.contains(&0) && std::str::from_utf8(used).is_ok()).then_some(text).ok_or(error)
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

/// Exactly `N` bytes of any value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes<const N: usize>(pub [u8; N]);

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> Serialize for Bytes<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Bytes<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <std::borrow::Cow<'de, [u8]>>::deserialize(deserializer)?;
        bytes
            .as_ref()
            .try_into()
            .map(Self)
            .map_err(|_| D::Error::invalid_length(bytes.len(), &"exactly as many bytes as the column has"))
    }
}

impl<const N: usize> Column for Bytes<N> {
    const TYPE: ColumnType = ColumnType::Bytes(N);
    const WIDTH: usize = N;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        bytes.try_into().map(Self).map_err(|_| BadColumn { expected: "byte string" })
    }
}

impl<const N: usize> KeyColumn for Bytes<N> {
    const KEY_WIDTH: usize = N;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        to.push_bytes(&self.0);
    }

    fn placement(&self) -> u64 {
        placement_of_bytes(&self.0)
    }
}
