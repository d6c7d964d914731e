//! A short list kept in place: arguments and answers of procedures hold several values without allocating.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// At most `N` values, in place.
///
/// Encoded as a sequence: its length, then that many values. Decoding refuses a longer one.
#[derive(Clone, Copy)]
pub struct UpTo<const N: usize, T: Copy> {
    /// The first `len` are values.
    values: [MaybeUninit<T>; N],
    len: u16,
}

impl<const N: usize, T: Copy> UpTo<N, T> {
    /// An empty list.
    #[inline(always)]
    pub const fn new() -> Self {
        const { assert!(N <= u16::MAX as usize) };
        Self { values: [const { MaybeUninit::uninit() }; N], len: 0 }
    }

    /// Adds a value at the end; gives it back when the list is full.
    ///
    /// # Errors
    /// The value, when there are `N` already.
    #[inline(always)]
    pub fn try_push(&mut self, value: T) -> Result<(), T> {
        match self.values.get_mut(usize::from(self.len)) {
            Some(place) => {
                place.write(value);
                self.len += 1;
                Ok(())
            }
            None => Err(value),
        }
    }

    /// Adds a value at the end.
    ///
    /// # Panics
    /// When there are `N` already.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        assert!(self.try_push(value).is_ok(), "a list of at most {N} is full");
    }
}

impl<const N: usize, T: Copy> Default for UpTo<N, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize, T: Copy> Deref for UpTo<N, T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many, which are at most `N`, are values.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr().cast(), usize::from(self.len)) }
    }
}

impl<const N: usize, T: Copy> DerefMut for UpTo<N, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.values.as_mut_ptr().cast(), usize::from(self.len)) }
    }
}

impl<const N: usize, T: Copy> FromIterator<T> for UpTo<N, T> {
    /// # Panics
    /// When there are more than `N`.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::new();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<const N: usize, T: Copy + PartialEq> PartialEq for UpTo<N, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize, T: Copy + Eq> Eq for UpTo<N, T> {}

impl<const N: usize, T: Copy + fmt::Debug> fmt::Debug for UpTo<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<const N: usize, T: Copy + Serialize> Serialize for UpTo<N, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.len()))?;
        self.iter().try_for_each(|value| sequence.serialize_element(value))?;
        sequence.end()
    }
}

impl<'de, const N: usize, T: Copy + Deserialize<'de>> Deserialize<'de> for UpTo<N, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<const N: usize, T>(PhantomData<T>);

impl<'de, const N: usize, T: Copy + Deserialize<'de>> Visitor<'de> for ListVisitor<N, T> {
    type Value = UpTo<N, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {N}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut list = UpTo::new();
        while let Some(value) = sequence.next_element()? {
            list.try_push(value).map_err(|_| A::Error::invalid_length(N + 1, &self))?;
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_encoding_and_refuses_a_longer_list() {
        let list: UpTo<3, u16> = [1, 2, 300].into_iter().collect();
        let bytes = postcard::to_stdvec(&list).unwrap();
        assert_eq!(bytes, [3, 1, 2, 0xac, 2]);
        assert_eq!(postcard::from_bytes::<UpTo<3, u16>>(&bytes).unwrap(), list);
        assert!(postcard::from_bytes::<UpTo<2, u16>>(&bytes).is_err());
    }
}
