//! Types that are a number with a meaning, such as a time: in rows, keys and binary formats they are the number, and in
//! formats that people read their text.

/// `Column`, `KeyColumn`, `Serialize` and `Deserialize` of a type around a signed number. `$of_number` gives `None` for
/// a number without a meaning; `$what` names the type, and `$example` describes its text.
macro_rules! meaningful_number {
    ($type:ident, $number:ty, $of_number:expr, $what:literal, $example:literal) => {
        impl $crate::record::Column for $type {
            const TYPE: $crate::record::ColumnType = $crate::record::ColumnType::$type;
            const WIDTH: usize = size_of::<$number>();

            #[inline(always)]
            fn store(&self, out: &mut [u8]) {
                self.0.store(out);
            }

            #[inline(always)]
            fn load(bytes: &[u8]) -> Result<Self, $crate::record::BadColumn> {
                let number = <$number as $crate::record::Column>::load(bytes)?;
                $of_number(number).ok_or($crate::record::BadColumn { expected: $what })
            }

            #[inline(always)]
            fn load_sound(bytes: $crate::record::Sound<'_>) -> Self {
                Self(<$number as $crate::record::Column>::load_sound(bytes))
            }
        }

        impl $crate::record::KeyColumn for $type {
            const KEY_WIDTH: usize = size_of::<$number>();

            #[inline(always)]
            fn push<E: $crate::record::EncodedKey>(&self, to: &mut $crate::record::KeyWriter<E>) {
                $crate::record::KeyColumn::push(&self.0, to);
            }

            #[inline(always)]
            fn from_key(bytes: &[u8]) -> Result<Self, $crate::record::BadColumn> {
                let number = <$number as $crate::record::KeyColumn>::from_key(bytes)?;
                $of_number(number).ok_or($crate::record::BadColumn { expected: $what })
            }

            #[inline(always)]
            fn placement(&self) -> u64 {
                self.0 as u64
            }
        }

        impl serde::Serialize for $type {
            #[inline]
            fn serialize<T: serde::Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
                if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            #[inline]
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                /// Reads it from its text.
                struct FromText;

                impl serde::de::Visitor<'_> for FromText {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($example)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                if deserializer.is_human_readable() {
                    return deserializer.deserialize_str(FromText);
                }
                let number = <$number>::deserialize(deserializer)?;
                $of_number(number).ok_or_else(|| serde::de::Error::custom(concat!("not ", $example)))
            }
        }
    };
}

pub(super) use meaningful_number;
