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

    /// Adds what `add` gives, one after the other; how many there are is noted once.
    ///
    /// # Errors
    /// As `add`; what it gave before is added.
    #[inline(always)]
    pub fn add_each<E>(&mut self, add: impl FnOnce(&mut Places<'_, T>) -> Result<(), E>) -> Result<(), E> {
        let mut places = Places(self.values[usize::from(self.len)..].iter_mut());
        let result = add(&mut places);
        self.len = (N - places.0.len()) as u16;
        result
    }
}

/// Places behind the values of an [`UpTo`].
pub struct Places<'a, T>(std::slice::IterMut<'a, MaybeUninit<T>>);

impl<T: Copy> Places<'_, T> {
    /// Fills the next one.
    ///
    /// # Panics
    /// When the list is full.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.0.next().expect("a list is full").write(value);
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

    #[test]
    fn what_is_added_before_an_error_is_there() {
        let mut list: UpTo<4, u16> = [1].into_iter().collect();
        let result = list.add_each(|places| {
            places.push(2);
            places.push(3);
            Err("enough")
        });
        assert_eq!((result, &list[..]), (Err("enough"), &[1, 2, 3][..]));
    }

    #[test]
    #[should_panic = "a list is full"]
    fn a_full_list_takes_no_more() {
        let mut list = UpTo::<1, u16>::new();
        let _ = list.add_each(|places| {
            places.push(1);
            places.push(2);
            Ok::<_, ()>(())
        });
    }
}
