//! Points in time: microseconds since 1970, UTC; as text in the form of RFC 3339.

use std::fmt;
use std::str::FromStr;

use super::calendar::{self, DAY, SECOND};
use super::meaningful_number::meaningful_number;

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

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        calendar::write_date(f, self.0.div_euclid(DAY))?;
        f.write_str("T")?;
        calendar::write_time(f, self.0.rem_euclid(DAY))?;
        f.write_str("Z")
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
    let (days, rest) = calendar::parse_date(text)?;
    let (of_day, rest) = calendar::parse_time(rest.strip_prefix(['T', 't', ' '])?)?;
    let offset_minutes = match rest {
        "Z" | "z" => 0,
        _ => {
            let (hours, minutes) = calendar::field(rest.strip_prefix(['+', '-'])?)?;
            let (minutes, end) = calendar::field(minutes.strip_prefix(':')?)?;
            (end.is_empty() && hours < 24 && minutes < 60).then_some(())?;
            (hours * 60 + minutes) * if rest.starts_with('-') { -1 } else { 1 }
        }
    };
    let micros = i128::from(days) * i128::from(DAY) + i128::from(of_day - offset_minutes * 60 * SECOND);
    i64::try_from(micros).ok()
}

const fn of_number(micros: i64) -> Option<Timestamp> {
    Some(Timestamp(micros))
}

meaningful_number!(Timestamp, i64, of_number, "timestamp", "a time as of RFC 3339, like \"2024-02-29T12:34:56Z\"");
