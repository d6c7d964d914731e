//! Exact decimals: an `i64` of units of 10⁻ˢ, so that money is never a float.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::column::{BadColumn, Column, KeyColumn};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

/// A number with exactly `S` digits after the point, between about ±9.2 × 10¹⁸⁻ˢ.
///
/// Arithmetic of the operators panics on overflow, in every build; use the `checked_` forms where input decides the
/// size.
///
/// Formats that people read, such as JSON, hold the text (`"12.50"`), never a number: a number of units would be read
/// as a hundred times as much, and a float is not exact. Binary formats hold the units.
///
/// ```
/// use glassbox::record::Decimal;
/// let price: Decimal<2> = "12.5".parse().unwrap();
/// assert_eq!((price.to_string(), format!("{price:.1}")), ("12.50".to_owned(), "12.5".to_owned()));
/// assert_eq!(serde_json::to_string(&price).unwrap(), r#""12.50""#);
/// assert_eq!(serde_json::from_str::<Decimal<2>>(r#""12.50""#).unwrap(), price);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal<const S: u32>(i64);

/// A text that is no decimal of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a number with at most {digits} digits after the point that fits 64 bits")]
pub struct DecimalError {
    text: String,
    digits: u32,
}

impl<const S: u32> Decimal<S> {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One whole.
    pub const ONE: Self = Self(Self::SCALE);
    /// The largest.
    pub const MAX: Self = Self(i64::MAX);
    /// The smallest; its magnitude is one unit more than that of [`Decimal::MAX`].
    pub const MIN: Self = Self(i64::MIN);
    /// Units in one whole.
    pub const SCALE: i64 = 10_i64.pow(S);

    /// From units of 10⁻ˢ: `Decimal::<2>::from_units(150)` is 1.50.
    #[inline(always)]
    pub const fn from_units(units: i64) -> Self {
        Self(units)
    }

    /// From whole numbers: `Decimal::<2>::from_whole(3)` is 3.00.
    ///
    /// # Panics
    /// On overflow.
    pub const fn from_whole(whole: i64) -> Self {
        match Self::checked_from_whole(whole) {
            Some(number) => number,
            None => panic!("decimal overflow"),
        }
    }

    /// From whole numbers, or `None` on overflow.
    pub const fn checked_from_whole(whole: i64) -> Option<Self> {
        match whole.checked_mul(Self::SCALE) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// Units of 10⁻ˢ.
    #[inline(always)]
    pub const fn units(self) -> i64 {
        self.0
    }

    /// The sum, or `None` on overflow.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The difference, or `None` on overflow.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The negative, or `None` for [`Decimal::MIN`], which has none.
    pub const fn checked_neg(self) -> Option<Self> {
        match self.0.checked_neg() {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The product with a whole number, or `None` on overflow.
    pub const fn checked_times(self, count: i64) -> Option<Self> {
        match self.0.checked_mul(count) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// The product with a decimal of any scale, rounded half away from zero to this one's scale; `None` on overflow.
    pub fn checked_multiply<const T: u32>(self, factor: Decimal<T>) -> Option<Self> {
        let scale = i128::from(Decimal::<T>::SCALE);
        let product = i128::from(self.0) * i128::from(factor.0);
        let half = if product < 0 { -scale / 2 } else { scale / 2 };
        i64::try_from((product + half) / scale).ok().map(Self)
    }

    /// The product with a decimal of any scale, rounded half away from zero to this one's scale.
    ///
    /// # Panics
    /// On overflow of 64 bits after rounding.
    #[inline]
    pub fn multiply<const T: u32>(self, factor: Decimal<T>) -> Self {
        // Nearly always 64 bits do, whose division is a multiplication.
        let (half, product) = (Decimal::<T>::SCALE / 2, self.0.checked_mul(factor.0));
        let rounded = product.and_then(|product| product.checked_add(if product < 0 { -half } else { half }));
        match rounded {
            Some(rounded) => Self(rounded / Decimal::<T>::SCALE),
            None => self.multiply_wide(factor),
        }
    }

    #[cold]
    fn multiply_wide<const T: u32>(self, factor: Decimal<T>) -> Self {
        self.checked_multiply(factor).expect("decimal overflow")
    }

    /// The product with a whole number.
    ///
    /// # Panics
    /// On overflow.
    #[inline]
    pub fn times(self, count: i64) -> Self {
        self.checked_times(count).expect("decimal overflow")
    }
}

impl<const S: u32> Add for Decimal<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("decimal overflow")
    }
}

impl<const S: u32> Sub for Decimal<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.checked_sub(other).expect("decimal overflow")
    }
}

/// The negative of [`Decimal::MIN`], which does not fit, is [`Decimal::MAX`]; [`Decimal::checked_neg`] tells.
impl<const S: u32> Neg for Decimal<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl<const S: u32> AddAssign for Decimal<S> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const S: u32> SubAssign for Decimal<S> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const S: u32> std::iter::Sum for Decimal<S> {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::ZERO, Add::add)
    }
}

/// With all digits, or as many as the format asks for (`{:.1}`), rounded half away from zero.
impl<const S: u32> fmt::Display for Decimal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(S as usize);
        let kept = digits.min(S as usize);
        let unit = 10_u64.pow(S - kept as u32);
        // At most half of 10^18 above 2^63.
        let rounded = (self.0.unsigned_abs() + unit / 2) / unit;
        let scale = 10_u64.pow(kept as u32);
        let (whole, part) = (rounded / scale, rounded % scale);
        let text = match (kept, digits) {
            (_, 0) => whole.to_string(),
            (0, _) => format!("{whole}.{:0<digits$}", ""),
            _ => format!("{whole}.{part:0kept$}{:0<more$}", "", more = digits - kept),
        };
        f.pad_integral(self.0 >= 0 || rounded == 0, "", &text)
    }
}

impl<const S: u32> Serialize for Decimal<S> {
    #[inline]
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de, const S: u32> Deserialize<'de> for Decimal<S> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(DecimalText::<S>)
        } else {
            i64::deserialize(deserializer).map(Self)
        }
    }
}

/// Reads a decimal from its text.
struct DecimalText<const S: u32>;

impl<const S: u32> Visitor<'_> for DecimalText<S> {
    type Value = Decimal<S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a decimal with at most {S} digits after the point as text, like \"12\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Decimal<S>, E> {
        text.parse().map_err(E::custom)
    }
}

impl<const S: u32> fmt::Debug for Decimal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const S: u32> FromStr for Decimal<S> {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        units(text, S).map(Self).ok_or_else(|| DecimalError { text: text.to_owned(), digits: S })
    }
}

/// The units of a number with at most `scale` digits after the point.
pub(super) fn units(text: &str, scale: u32) -> Option<i64> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.len() + part.len() == 0 || part.len() > scale as usize {
        return None;
    }
    let padded = format!("{whole}{part:0<width$}", width = scale as usize);
    let units: i128 = padded.parse().ok()?;
    i64::try_from(if negative { -units } else { units }).ok()
}

impl<const S: u32> Column for Decimal<S> {
    const TYPE: ColumnType = {
        assert!(S <= 18, "a Decimal has at most 18 digits after the point");
        ColumnType::Decimal(S)
    };
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

impl<const S: u32> KeyColumn for Decimal<S> {
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
