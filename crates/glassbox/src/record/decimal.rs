//! Exact decimals: an `i64` of units of 10⁻ˢ, so that money is never a float.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::column::{BadColumn, Column, KeyColumn};
use super::encoded::{EncodedKey, KeyWriter};
use super::schema::ColumnType;
use super::sound::Sound;

/// A number with exactly `S` digits after the point, between about ±9.2 × 10¹⁸⁻ˢ.
///
/// Arithmetic of the operators panics on overflow, in every build; use the `checked_` forms where input decides the
/// size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
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
        match whole.checked_mul(Self::SCALE) {
            Some(units) => Self(units),
            None => panic!("decimal overflow"),
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
        let scale = i128::from(Decimal::<T>::SCALE);
        let product = i128::from(self.0) * i128::from(factor.0);
        let half = if product < 0 { -scale / 2 } else { scale / 2 };
        Self(i64::try_from((product + half) / scale).expect("decimal overflow"))
    }

    /// The product with a whole number.
    ///
    /// # Panics
    /// On overflow.
    #[inline]
    pub fn times(self, count: i64) -> Self {
        Self(self.0.checked_mul(count).expect("decimal overflow"))
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

impl<const S: u32> Neg for Decimal<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.checked_neg().expect("decimal overflow"))
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

impl<const S: u32> fmt::Display for Decimal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0.unsigned_abs() / Self::SCALE as u64, self.0.unsigned_abs() % Self::SCALE as u64);
        let digits = match S {
            0 => whole.to_string(),
            _ => format!("{whole}.{part:0width$}", width = S as usize),
        };
        f.pad_integral(self.0 >= 0, "", &digits)
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
        let error = || DecimalError { text: text.to_owned(), digits: S };
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
        if !all_digits || whole.len() + part.len() == 0 || part.len() > S as usize {
            return Err(error());
        }
        let padded = format!("{whole}{part:0<width$}", width = S as usize);
        let units: i128 = padded.parse().map_err(|_| error())?;
        i64::try_from(if negative { -units } else { units }).map(Self).map_err(|_| error())
    }
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
