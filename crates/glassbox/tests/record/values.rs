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
    for (text, expected) in printed {
        assert_eq!(money(text).to_string(), expected);
    }
    assert_eq!(Decimal::<0>::from_units(-12).to_string(), "-12");
    assert_eq!(format!("[{:>8}] [{:08}]", money("-1.5"), money("-1.5")), "[   -1.50] [-0001.50]");
    assert_eq!(money("92233720368547758.07"), Money::from_units(i64::MAX));
    assert_eq!(money("-92233720368547758.08").to_string(), "-92233720368547758.08");
    assert_eq!("0.999999999999999999".parse(), Ok(Decimal::<18>::from_units(999_999_999_999_999_999)));
}

#[test]
fn what_is_no_decimal_is_refused() {
    for text in ["", ".", "-", "+1", "1.234", "1e3", "1,5", " 1", "--1", "1.-1", "92233720368547758.08", "٣"] {
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
    assert_eq!(json, "[150,\"née\",[0,255],-1]");
    assert_eq!(serde_json::from_str::<(Money, Text<4>, Bytes<2>, Timestamp)>(&json).unwrap(), value);
}

proptest! {
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
