//! Days and times of day as text, in the forms of RFC 3339 and ISO 8601.

use std::fmt;

/// Microseconds of a second, and of a day.
pub(super) const SECOND: i64 = 1_000_000;
pub(super) const DAY: i64 = 86_400 * SECOND;

/// Writes a day counted from 1970-01-01.
pub(super) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date(days);
    // RFC 3339 ends with the year 9999; ISO 8601 wants a sign where four digits do not do.
    match year {
        0..=9_999 => write!(f, "{year:04}")?,
        _ => write!(f, "{year:+07}")?,
    }
    write!(f, "-{month:02}-{day:02}")
}

/// Writes a time of day in microseconds.
pub(super) fn write_time(f: &mut fmt::Formatter<'_>, of_day: i64) -> fmt::Result {
    let seconds = of_day / SECOND;
    let [hour, minute, second] = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
    write!(f, "{hour:02}:{minute:02}:{second:02}.{:06}", of_day % SECOND)
}

/// The day at the beginning of a text, counted from 1970-01-01, and the rest of the text.
pub(super) fn parse_date(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = match text.strip_prefix(['+', '-']) {
        None => {
            let (year, rest) = text.split_at_checked(4)?;
            (number(year, 4)?, rest)
        }
        Some(unsigned) => {
            let (digits, rest) = unsigned.split_at(unsigned.find('-')?);
            (6..=7).contains(&digits.len()).then_some(())?;
            let year = number(digits, digits.len())?;
            (if text.starts_with('-') { -year } else { year }, rest)
        }
    };
    let (month, rest) = field(rest.strip_prefix('-')?)?;
    let (day, rest) = field(rest.strip_prefix('-')?)?;
    let days = days(year, month, day);
    (date(days) == (year, month, day)).then_some((days, rest))
}

/// The time of day at the beginning of a text, in microseconds, and the rest of the text.
pub(super) fn parse_time(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = field(text)?;
    let (minute, rest) = field(rest.strip_prefix(':')?)?;
    let (second, rest) = field(rest.strip_prefix(':')?)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, rest) = rest.split_at(end);
            // Digits below a microsecond must be zeros.
            let (kept, finer) = digits.split_at(digits.len().min(6));
            finer.bytes().all(|digit| digit == b'0').then_some(())?;
            (number(kept, kept.len())? * 10_i64.pow(6 - kept.len() as u32), rest)
        }
    };
    (hour < 24 && minute < 60 && second < 60).then_some(())?;
    Some((((hour * 60 + minute) * 60 + second) * SECOND + fraction, rest))
}

/// A number of two digits, and the rest.
pub(super) fn field(text: &str) -> Option<(i64, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    Some((number(digits, 2)?, rest))
}

/// A number of this count of digits, at least one.
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
