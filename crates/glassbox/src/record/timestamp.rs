//! Points in time: microseconds since 1970, UTC; as text in the form of RFC 3339.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::column::{BadColumn, Column, KeyColumn};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

/// Microseconds since 1970-01-01 00:00 UTC; negative before.
///
/// Text, and formats that people read, such as JSON, have the form of RFC 3339. Binary formats hold the microseconds.
///
/// ```
/// use glassbox::record::Timestamp;
/// let time: Timestamp = "2024-02-29T13:34:56.5+01:00".parse().unwrap();
/// assert_eq!(time.micros(), 1_709_210_096_500_000);
/// assert_eq!(serde_json::to_string(&time).unwrap(), r#""2024-02-29T12:34:56.500000Z""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A text that is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time as of RFC 3339 with at most 6 digits of seconds, like 2024-02-29T12:34:56.000007Z")]
pub struct TimestampError {
    text: String,
}

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

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

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        let (seconds, fraction) = (of_day / SECOND, of_day % SECOND);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        // RFC 3339 ends with the year 9999; ISO 8601 wants a sign where four digits do not do.
        match year {
            0..=9_999 => write!(f, "{year:04}")?,
            _ => write!(f, "{year:+07}")?,
        }
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        parse(text).map(Self).ok_or_else(|| TimestampError { text: text.to_owned() })
    }
}

/// Microseconds since 1970 of a text.
fn parse(text: &str) -> Option<i64> {
    let year_bytes = if text.starts_with(['+', '-']) { 7 } else { 4 };
    let (year, rest) = text.split_at_checked(year_bytes)?;
    let (negative, digits) = (year.starts_with('-'), year.trim_start_matches(['+', '-']));
    let year = number(digits, year_bytes.min(6))?;
    let year = if negative { -year } else { year };
    let (month, rest) = field(rest.strip_prefix('-')?)?;
    let (day, rest) = field(rest.strip_prefix('-')?)?;
    let (hour, rest) = field(rest.strip_prefix(['T', 't', ' '])?)?;
    let (minute, rest) = field(rest.strip_prefix(':')?)?;
    let (second, rest) = field(rest.strip_prefix(':')?)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let (digits, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
            // Digits below a microsecond must be zeros.
            let (kept, finer) = digits.split_at(digits.len().min(6));
            finer.bytes().all(|digit| digit == b'0').then_some(())?;
            (number(kept, kept.len())? * 10_i64.pow(6 - kept.len() as u32), rest)
        }
    };
    let offset_minutes = match rest {
        "Z" | "z" => 0,
        _ => {
            let (hours, minutes) = field(rest.strip_prefix(['+', '-'])?)?;
            let (minutes, end) = field(minutes.strip_prefix(':')?)?;
            (end.is_empty() && hours < 24 && minutes < 60).then_some(())?;
            (hours * 60 + minutes) * if rest.starts_with('-') { -1 } else { 1 }
        }
    };
    (hour < 24 && minute < 60 && second < 60).then_some(())?;
    let days = days(year, month, day);
    (date(days) == (year, month, day)).then_some(())?;
    let seconds = (hour * 60 + minute - offset_minutes) * 60 + second;
    i64::try_from(i128::from(days) * i128::from(DAY) + i128::from(seconds * SECOND + fraction)).ok()
}

/// A number of two digits, and the rest.
fn field(text: &str) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    Some((number(digits, 2)?, rest))
}

/// A number of so many digits, of which there is one.
fn number(digits: &str, count: usize) -> Option<i64> {
    let is_number = digits.len() == count && digits.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar (Hinnant, *chrono-Compatible
/// Low-Level Date Algorithms*: years begin in March, so that the leap day is the last).
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// The day of a date, counted from 1970-01-01: the inverse of [`date`].
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

impl Serialize for Timestamp {
    #[inline]
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TimestampText)
        } else {
            i64::deserialize(deserializer).map(Self)
        }
    }
}

/// Reads a time from its text.
struct TimestampText;

impl Visitor<'_> for TimestampText {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time as of RFC 3339, like \"2024-02-29T12:34:56Z\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}
