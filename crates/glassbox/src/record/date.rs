//! Days of the calendar, and times of day.

use std::fmt;
use std::str::FromStr;

use super::calendar::{self, DAY};
use super::meaningful_number::meaningful_number;

/// A day of the Gregorian calendar: days since 1970-01-01, negative before.
///
/// Text, and formats that people read, such as JSON, have the form of ISO 8601. Binary formats hold the days.
///
/// ```
/// use glassbox::record::Date;
/// let leap_day: Date = "2024-02-29".parse().unwrap();
/// assert_eq!((leap_day.days(), leap_day.to_string()), (19_782, "2024-02-29".to_owned()));
/// assert_eq!(serde_json::to_string(&leap_day).unwrap(), r#""2024-02-29""#);
/// assert!("2023-02-29".parse::<Date>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(i32);

/// A time of day, to the microsecond, without a day and a zone.
///
/// Text, and formats that people read, such as JSON, have the form of ISO 8601. Binary formats hold the microseconds
/// since midnight.
///
/// ```
/// use glassbox::record::TimeOfDay;
/// let opening: TimeOfDay = "09:30:00".parse().unwrap();
/// assert_eq!((opening.micros(), opening.to_string()), (34_200_000_000, "09:30:00.000000".to_owned()));
/// assert_eq!(TimeOfDay::from_micros(86_400_000_000), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeOfDay(i64);

/// A text that is no date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a date, like 2024-02-29")]
pub struct DateError {
    text: String,
}

/// A text that is no time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time of day with at most 6 digits of seconds, like 12:34:56.000007")]
pub struct TimeOfDayError {
    text: String,
}

impl Date {
    /// From days since 1970-01-01.
    #[inline(always)]
    pub const fn from_days(days: i32) -> Self {
        Self(days)
    }

    /// Days since 1970-01-01.
    #[inline(always)]
    pub const fn days(self) -> i32 {
        self.0
    }
}

impl TimeOfDay {
    /// From microseconds since midnight; `None` if that is not within a day.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if 0 <= micros && micros < DAY { Some(Self(micros)) } else { None }
    }

    /// Microseconds since midnight.
    #[inline(always)]
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        calendar::write_date(f, self.0.into())
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        calendar::write_time(f, self.0)
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let whole = calendar::parse_date(text).filter(|(_, rest)| rest.is_empty());
        let days = whole.and_then(|(days, _)| i32::try_from(days).ok());
        days.map(Self).ok_or_else(|| DateError { text: text.to_owned() })
    }
}

impl FromStr for TimeOfDay {
    type Err = TimeOfDayError;

    fn from_str(text: &str) -> Result<Self, TimeOfDayError> {
        let whole = calendar::parse_time(text).filter(|(_, rest)| rest.is_empty());
        whole.map(|(micros, _)| Self(micros)).ok_or_else(|| TimeOfDayError { text: text.to_owned() })
    }
}

impl Date {
    const fn of_number(days: i32) -> Option<Self> {
        Some(Self(days))
    }
}

meaningful_number!(Date, i32, Date::of_number, "date", "a date, like \"2024-02-29\"");
meaningful_number!(TimeOfDay, i64, TimeOfDay::from_micros, "time of day", "a time of day, like \"12:34:56\"");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Column;

    #[test]
    fn dates_have_a_text() {
        for (days, text) in [(0, "1970-01-01"), (-1, "1969-12-31"), (19_782, "2024-02-29"), (-719_528, "0000-01-01")] {
            assert_eq!((Date(days).to_string().as_str(), text.parse()), (text, Ok(Date(days))));
        }
        for days in [i32::MIN, i32::MAX] {
            assert_eq!(Date(days).to_string().parse(), Ok(Date(days)), "{}", Date(days));
        }
        for wrong in ["", "2024-2-29", "2023-02-29", "2024-02-29 ", "2024-02-29T00:00:00Z", "+9999999-01-01", "1970"] {
            assert!(wrong.parse::<Date>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_of_day_have_a_text() {
        let last = TimeOfDay(DAY - 1);
        assert_eq!((last.to_string().as_str(), "23:59:59.999999".parse()), ("23:59:59.999999", Ok(last)));
        assert_eq!("00:00:00.5".parse(), Ok(TimeOfDay(500_000)));
        for wrong in ["24:00:00", "12:60:00", "1:00:00", "12:00", "12:00:00.", "12:00:00.0000001", "12:00:00Z"] {
            assert!(wrong.parse::<TimeOfDay>().is_err(), "{wrong}");
        }
        let mut stored = [0; 8];
        DAY.store(&mut stored);
        assert!(TimeOfDay::load(&stored).is_err());
    }

    #[test]
    fn formats_for_people_have_the_text() {
        let date = Date(19_782);
        let time = TimeOfDay(7);
        let json = serde_json::to_string(&(date, time)).unwrap();
        assert_eq!(json, r#"["2024-02-29","00:00:00.000007"]"#);
        assert_eq!(serde_json::from_str::<(Date, TimeOfDay)>(&json).unwrap(), (date, time));
        let binary = postcard::to_allocvec(&(date, time)).unwrap();
        assert_eq!(postcard::from_bytes::<(Date, TimeOfDay)>(&binary), Ok((date, time)));
        assert!(postcard::from_bytes::<TimeOfDay>(&postcard::to_allocvec(&DAY).unwrap()).is_err());
    }
}
