//! Byte strings of a fixed place in the row, and UUIDs, which are 16 bytes in the order of their text.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::column::{BadColumn, Column, KeyColumn, placement_of_bytes};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

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

    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        Self(*bytes.bytes())
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

impl Column for Uuid {
    const TYPE: ColumnType = ColumnType::Uuid;
    const WIDTH: usize = 16;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        out.copy_from_slice(self.as_bytes());
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        Self::from_slice(bytes).map_err(|_| BadColumn { expected: "UUID" })
    }

    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        Self::from_bytes(*bytes.bytes())
    }
}

impl KeyColumn for Uuid {
    const KEY_WIDTH: usize = 16;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        to.push_bytes(self.as_bytes());
    }

    fn placement(&self) -> u64 {
        placement_of_bytes(self.as_bytes())
    }
}
