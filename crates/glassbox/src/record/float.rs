//! Floating-point numbers as columns.
//!
//! Floats are stored bit by bit. As keys they have the order and the equality of PostgreSQL: zero is the same with
//! either sign, and NaN, of whatever bits, is the same as itself and larger than all numbers.

use super::column::{BadColumn, Column, KeyColumn, stored_as_number};
use super::encoded::{EncodedKey, KeyWriter, mix};
use super::schema::ColumnType;
use super::sound::Sound;

macro_rules! float_columns {
    ($($type:ty, $bits:ty, $variant:ident, $ordered:ident, $from_ordered:ident;)*) => {$(
        /// The bits of a number as an integer in the order of the numbers: those of a negative one are inverted, and
        /// others have the sign bit set.
        #[inline(always)]
        pub(crate) fn $ordered(number: $type) -> $bits {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            // Zero with a sign is zero, and each NaN is the same.
            let bits = if number.is_nan() { <$type>::NAN.to_bits() & !SIGN } else { (number + 0.0).to_bits() };
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        }

        /// The inverse.
        #[inline(always)]
        fn $from_ordered(ordered: $bits) -> $type {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            <$type>::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
        }

        impl Column for $type {
            stored_as_number!($type, $variant);

            const HAS_ONE_FORM: bool = false;

            #[inline(always)]
            fn is_stored_as(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits()
            }
        }

        impl KeyColumn for $type {
            const KEY_WIDTH: usize = size_of::<$type>();

            #[inline(always)]
            fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
                to.push_uint($ordered(*self).into(), size_of::<$type>());
            }

            #[inline(always)]
            fn from_key(bytes: &[u8]) -> Result<Self, BadColumn> {
                let bytes = bytes.try_into().map_err(|_| BadColumn { expected: stringify!($type) })?;
                Ok($from_ordered(<$bits>::from_be_bytes(bytes)))
            }

            #[inline(always)]
            fn is_key(&self, other: &Self) -> bool {
                $ordered(*self) == $ordered(*other)
            }

            // The low bits of a round number are zeros.
            #[inline(always)]
            fn placement(&self) -> u64 {
                mix($ordered(*self).into())
            }
        }
    )*};
}

float_columns! {
    f32, u32, F32, ordered_f32, from_ordered_f32;
    f64, u64, F64, ordered_f64, from_ordered_f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_postgresql() {
        let ascending = [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, 0.0, 5e-324, 1.0, f64::MAX];
        let ascending: Vec<f64> = ascending.into_iter().chain([f64::INFINITY, f64::NAN]).collect();
        for pair in ascending.windows(2) {
            assert!(ordered_f64(pair[0]) < ordered_f64(pair[1]), "{pair:?}");
            assert!(ordered_f32(pair[0] as f32) <= ordered_f32(pair[1] as f32), "{pair:?}");
        }
        let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 1 << 63 | 3);
        assert!(other_nan.is_key(&f64::NAN) && (-0.0).is_key(&0.0_f64) && !1.0.is_key(&2.0_f64));
        assert!(!other_nan.is_stored_as(&f64::NAN) && !(-0.0).is_stored_as(&0.0_f64));
        assert!(Some(f32::NAN).is_key(&Some(-f32::NAN)) && !Some(0.0_f32).is_key(&None));
    }

    #[test]
    fn a_key_gives_its_number() {
        for number in [f64::NEG_INFINITY, -2.5, 0.0, 7e-300, f64::INFINITY] {
            assert_eq!(f64::from_key(&ordered_f64(number).to_be_bytes()), Ok(number));
        }
        assert!(f32::from_key(&ordered_f32(-f32::NAN).to_be_bytes()).unwrap().is_nan());
        assert!(f32::from_key(&[1, 2]).is_err());
    }
}
