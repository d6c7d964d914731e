//! Points in time: microseconds since 1970, UTC.

use serde::{Deserialize, Serialize};

use super::column::{BadColumn, Column, KeyColumn};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

/// Microseconds since 1970-01-01 00:00 UTC; negative before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since 1970, UTC.
    #[inline(always)]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970, UTC.
    #[inline(always)]
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl Column for Timestamp {
    const TYPE: ColumnType = ColumnType::Timestamp;
    const WIDTH: usize = 8;

    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        self.0.store(out);
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> Result<Self, BadColumn> {
        i64::load(bytes).map(Self)
    }

    #[inline(always)]
    fn load_sound(bytes: Sound<'_>) -> Self {
        Self(i64::load_sound(bytes))
    }
}

impl KeyColumn for Timestamp {
    const KEY_WIDTH: usize = 8;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        KeyColumn::push(&self.0, to);
    }

    #[inline(always)]
    fn from_key(bytes: &[u8]) -> Result<Self, BadColumn> {
        i64::from_key(bytes).map(Self)
    }

    #[inline(always)]
    fn placement(&self) -> u64 {
        self.0 as u64
    }
}
