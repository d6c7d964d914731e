//! Values: arithmetic and text of decimals, and what a text refuses.

use proptest::prelude::*;

use super::*;

type Money = Decimal<2>;

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

#[test]
fn decimals_parse_and_print() {
    let printed = [("1.5", "1.50"), ("-0.07", "-0.07"), (".5", "0.50"), ("3.", "3.00"), ("0", "0.00"), ("007", "7.00")];
    let printed = printed.into_iter().chain([("+5", "5.00"), ("+.5", "0.50")]);
    for (text, expected) in printed {
        assert_eq!(money(text).to_string(), expected);
    }
    assert_eq!(Decimal::<0>::from_units(-12).to_string(), "-12");
    assert_eq!(format!("[{:>8}] [{:08}]", money("-1.5"), money("-1.5")), "[   -1.50] [-0001.50]");
    let rounded = |digits| [money("1.25"), money("-1.25"), money("-0.04")].map(|it| format!("{it:.digits$}"));
    assert_eq!(rounded(0), ["1", "-1", "0"]);
    assert_eq!(rounded(1), ["1.3", "-1.3", "0.0"]);
    assert_eq!(rounded(4), ["1.2500", "-1.2500", "-0.0400"]);
    assert_eq!(
        format!("{:.1}|{:.0}|{:8.1}", Decimal::<0>::from_units(7), Money::MAX, money("2")),
        "7.0|92233720368547758|     2.0"
    );
    assert_eq!(format!("{:.0} {:.1}", Decimal::<18>::MIN, Decimal::<18>::MIN), "-9 -9.2");
    assert_eq!(money("92233720368547758.07"), Money::from_units(i64::MAX));
    assert_eq!(money("-92233720368547758.08").to_string(), "-92233720368547758.08");
    assert_eq!("0.999999999999999999".parse(), Ok(Decimal::<18>::from_units(999_999_999_999_999_999)));
}

#[test]
fn what_is_no_decimal_is_refused() {
    for text in
        ["", ".", "-", "+", "+-1", "-+1", "1.234", "1e3", "1,5", " 1", "--1", "1.-1", "92233720368547758.08", "٣"]
    {
        assert!(text.parse::<Money>().is_err(), "{text}");
    }
    assert!("9".repeat(100).parse::<Money>().is_err());
    let error = "1.234".parse::<Money>().unwrap_err().to_string();
    assert_eq!(error, "`1.234` is not a number with at most 2 digits after the point that fits 64 bits");
}

#[test]
fn decimals_compute_exactly() {
    assert_eq!(money("0.10") + money("0.20") - money("0.05"), money("0.25"));
    assert_eq!(-money("1.25"), money("-1.25"));
    assert_eq!([money("1"), money("2.5")].into_iter().sum::<Money>(), money("3.50"));
    assert_eq!(money("1.99").times(3), money("5.97"));
    assert_eq!((Money::ONE.units(), Money::from_whole(3), Money::SCALE), (100, money("3"), 100));
    assert_eq!(Money::from_units(i64::MAX).checked_add(Money::from_units(1)), None);
    assert_eq!(Money::from_units(i64::MIN).checked_sub(Money::from_units(1)), None);
}

#[test]
fn arithmetic_has_checked_forms() {
    assert_eq!((-Money::MIN, Money::MIN.checked_neg()), (Money::MAX, None));
    assert_eq!((-Money::MAX, money("2").checked_neg()), (Money::from_units(-i64::MAX), Some(money("-2"))));
    assert_eq!((Money::checked_from_whole(i64::MAX), Money::checked_from_whole(-3)), (None, Some(money("-3"))));
    assert_eq!((Money::MAX.checked_times(2), money("1.99").checked_times(3)), (None, Some(money("5.97"))));
    assert_eq!(Money::MAX.checked_multiply(money("1.01")), None);
    assert_eq!(money("0.03").checked_multiply("-0.5".parse::<Decimal<1>>().unwrap()), Some(money("-0.02")));
}

#[test]
fn products_are_rounded_half_away_from_zero() {
    let half: Decimal<1> = "0.5".parse().unwrap();
    for (factor, product) in
        [("0.01", "0.01"), ("-0.01", "-0.01"), ("0.02", "0.01"), ("0.03", "0.02"), ("-0.03", "-0.02")]
    {
        assert_eq!(money(factor).multiply(half), money(product), "{factor}");
    }
    let rate: Decimal<4> = "0.0825".parse().unwrap();
    assert_eq!(money("100").multiply(rate), money("8.25"));
    assert_eq!(money("2.00").multiply(Decimal::<0>::from_units(4)), money("8"));
}

#[test]
#[should_panic = "decimal overflow"]
fn overflow_panics() {
    let _ = Money::from_units(i64::MAX) + Money::from_units(1);
}

#[test]
fn texts_refuse_what_they_cannot_hold() {
    assert_eq!(Text::<3>::new("née"), Err(TextError::TooLong { bytes: 4, most: 3 }));
    assert_eq!(Text::<3>::new("a\0"), Err(TextError::ZeroByte { at: 1 }));
    assert_eq!(Text::<3>::new("née").unwrap_err().to_string(), "text of 4 bytes is longer than its column (3 bytes)");
    assert!(serde_json::from_str::<Text<3>>("\"abcd\"").unwrap_err().to_string().contains("longer than its column"));
    // A whole character more would not fit.
    assert_eq!(Text::<2>::truncated("née"), "n");
    assert_eq!(Text::<9>::truncated("a\0b"), "a");
    let text = Text::<9>::new("née").unwrap();
    assert_eq!((text.len(), text.is_empty(), Text::<9>::EMPTY.is_empty()), (4, false, true));
    assert_eq!(format!("{text:>5}|{text:?}"), "  née|\"née\"");
}

#[test]
fn stored_bytes_that_are_no_text_are_refused() {
    for bytes in [[b'a', 0, b'b'], [0xff, 0, 0], [b'a', 0xc3, 0]] {
        assert!(Text::<3>::load(&bytes).is_err(), "{bytes:?}");
    }
    assert!(Text::<3>::load(&[0; 2]).is_err());
}

#[test]
fn values_survive_json() {
    let value = (money("1.50"), Text::<4>::new("née").unwrap(), Bytes([0, 255]), Timestamp::from_micros(-1));
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(json, "[\"1.50\",\"née\",[0,255],\"1969-12-31T23:59:59.999999Z\"]");
    assert_eq!(serde_json::from_str::<(Money, Text<4>, Bytes<2>, Timestamp)>(&json).unwrap(), value);
}

#[test]
fn json_numbers_are_no_decimals_and_no_times() {
    for json in ["1", "12.5", "150", "\"1.234\"", "\"\"", "null"] {
        assert!(serde_json::from_str::<Money>(json).is_err(), "{json}");
        assert!(serde_json::from_str::<Timestamp>(json).is_err(), "{json}");
    }
    let error = serde_json::from_str::<Money>("1").unwrap_err().to_string();
    assert!(error.contains("expected a decimal with at most 2 digits after the point as text"), "{error}");
}

#[test]
fn binary_formats_hold_units_and_microseconds() {
    let value = (money("1.50"), Timestamp::from_micros(-2));
    let bytes = postcard::to_stdvec(&value).unwrap();
    assert_eq!(bytes, postcard::to_stdvec(&(150_i64, -2_i64)).unwrap());
    assert_eq!(postcard::from_bytes::<(Money, Timestamp)>(&bytes).unwrap(), value);
}

#[test]
fn times_are_those_of_rfc_3339() {
    let time = |text: &str| text.parse::<Timestamp>().map(Timestamp::micros).ok();
    assert_eq!(time("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(time("1985-04-12T23:20:50.52Z"), Some(482_196_050_520_000));
    assert_eq!(time("1996-12-19T16:39:57-08:00"), Some(851_042_397_000_000));
    assert_eq!(time("1937-01-01t12:00:27.870000000+00:20"), Some(-1_041_337_172_130_000));
    assert_eq!(time("2024-02-29 12:34:56.000007z"), Some(1_709_210_096_000_007));
    for text in [
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-1-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.0000001Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00ZZ",
        "+1970-01-01T00:00:00Z",
        "é970-01-01T00:00:00Z",
        "+294247-01-10T04:00:54.775808Z",
        "+999999-01-01T00:00:00Z",
        "1970-01-01T00:00:00.000000000000000000001Z",
    ] {
        assert_eq!(time(text), None, "{text}");
    }
    let error = "now".parse::<Timestamp>().unwrap_err().to_string();
    assert!(error.contains("`now` is not a time as of RFC 3339"), "{error}");
}

proptest! {
    #[test]
    fn a_printed_time_parses_as_it_was(micros: i64) {
        let time = Timestamp::from_micros(micros);
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn no_text_makes_the_parser_of_times_panic(text in "[-+0-9TZ:.]{0,32}|\\PC{0,10}") {
        let _ = text.parse::<Timestamp>();
    }

    #[test]
    fn a_printed_decimal_parses_as_it_was(units: i64) {
        prop_assert_eq!(Decimal::<4>::from_units(units).to_string().parse(), Ok(Decimal::<4>::from_units(units)));
        prop_assert_eq!(Decimal::<0>::from_units(units).to_string().parse(), Ok(Decimal::<0>::from_units(units)));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-+0-9.]{0,30}|\\PC{0,10}") {
        let _ = text.parse::<Money>();
    }

    #[test]
    fn a_truncated_text_begins_the_text(text in ".{0,12}") {
        prop_assert!(text.starts_with(Text::<5>::truncated(&text).as_str()));
    }
}
