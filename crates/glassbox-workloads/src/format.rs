//! Numbers as text.

/// With commas: 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Rounded, with commas from a hundred on; else three digits: 1,234, 56.7, 0.0312.
pub fn number(value: f64) -> String {
    if value >= 100.0 {
        return count(value.round() as u64);
    }
    three_digits(value)
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v if v >= 0.0995 => format!("{v:.3}"),
        v if v > 0.0 => format!("{v:.4}"),
        _ => "0".to_owned(),
    }
}

/// Bytes in decimal units: 12.3 MB.
pub fn bytes(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|&(size, _)| bytes as f64 >= size) {
        Some((size, unit)) => format!("{} {unit}", three_digits(bytes as f64 / size)),
        None => format!("{bytes} B"),
    }
}

/// A time in the unit that suits it: 812 ns, 1.23 ms, 4.56 s.
pub fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match units.into_iter().find(|&(size, _)| ns >= size) {
        Some((size, unit)) => format!("{} {unit}", three_digits(ns / size)),
        None => format!("{ns:.0} ns"),
    }
}

/// One digit after the point, with a real minus; no minus zero.
pub fn one_digit(value: f64) -> String {
    let text = format!("{:.1}", value + 0.0);
    if text == "-0.0" { "0.0".to_owned() } else { text.replace('-', "−") }
}

/// With a sign.
pub fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", count(value.abs().round() as u64))
}

/// Without a sign where it is positive, rounded.
pub fn difference(value: f64) -> String {
    signed(value).replace('+', "")
}

/// Whole, or with one digit after the point.
pub fn short(value: f64) -> String {
    format!("{}", (value * 10.0).round() / 10.0)
}

/// With a capital letter at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!((count(0), count(999), count(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
        assert_eq!(
            (number(98_765.4), number(12.34), number(0.03125)),
            ("98,765".into(), "12.3".into(), "0.0312".into())
        );
        assert_eq!(
            (bytes(999), bytes(64 << 20), bytes(4_200_000_000)),
            ("999 B".into(), "67.1 MB".into(), "4.20 GB".into())
        );
        assert_eq!(
            (time(812.0), time(1_234_567.0), time(99_960.0)),
            ("812 ns".into(), "1.23 ms".into(), "100 µs".into())
        );
    }
}
