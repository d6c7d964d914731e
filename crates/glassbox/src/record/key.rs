//! Keys: one column, or a tuple of up to eight.

use super::column::{BadColumn, KeyColumn};
use super::encoded::{EncodedKey, KeyWriter};

/// What identifies a row: one key column, or a tuple of them in order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a key",
    note = "a key is one key column, or a tuple of up to eight"
)]
pub trait Key: Copy + PartialEq + Send + Sync + 'static {
    /// Width of the encoded key in bytes.
    const WIDTH: usize;

    /// Appends the encoding of every column.
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>);

    /// [`KeyColumn::placement`] of the column at `position`.
    fn placement_at(&self, position: usize) -> u64;

    /// Whether it is the same key as another one.
    fn is_key(&self, other: &Self) -> bool;

    /// Whether the columns up to and including `position` are the same in both.
    fn agrees_up_to(&self, other: &Self, position: usize) -> bool;

    /// The opposite of [`Key::encode`], from exactly [`Key::WIDTH`] bytes, most significant first.
    ///
    /// # Errors
    /// When the bytes are no key of these columns.
    fn decode(bytes: &[u8]) -> Result<Self, BadColumn>;

    /// The columns' values, for messages.
    fn values_as_text(&self) -> Vec<String>;

    /// The whole key, for a message.
    fn in_words(&self) -> String {
        format!("({})", self.values_as_text().join(", "))
    }

    /// The whole key, encoded.
    #[inline(always)]
    fn encode<E: EncodedKey>(&self) -> E {
        let mut writer = KeyWriter::default();
        self.push(&mut writer);
        writer.finish(0, Self::WIDTH)
    }
}

impl<C: KeyColumn> Key for C {
    const WIDTH: usize = C::KEY_WIDTH;

    #[inline(always)]
    fn push<E: EncodedKey>(&self, to: &mut KeyWriter<E>) {
        KeyColumn::push(self, to);
    }

    #[inline(always)]
    fn placement_at(&self, position: usize) -> u64 {
        debug_assert_eq!(position, 0);
        self.placement()
    }

    #[inline(always)]
    fn is_key(&self, other: &Self) -> bool {
        KeyColumn::is_key(self, other)
    }

    #[inline(always)]
    fn agrees_up_to(&self, other: &Self, _position: usize) -> bool {
        KeyColumn::is_key(self, other)
    }

    #[inline(always)]
    fn decode(bytes: &[u8]) -> Result<Self, BadColumn> {
        C::from_key(bytes)
    }

    fn values_as_text(&self) -> Vec<String> {
        vec![format!("{self:?}")]
    }
}

macro_rules! tuple_keys {
    ($(($($name:ident $position:tt),+))*) => {$(
        impl<$($name: KeyColumn),+> Key for ($($name,)+) {
            const WIDTH: usize = 0 $(+ $name::KEY_WIDTH)+;

            #[inline(always)]
            fn push<Enc: EncodedKey>(&self, to: &mut KeyWriter<Enc>) {
                $(KeyColumn::push(&self.$position, to);)+
            }

            #[inline(always)]
            fn placement_at(&self, position: usize) -> u64 {
                match position {
                    $($position => self.$position.placement(),)+
                    _ => unreachable!("a key has no column {position}"),
                }
            }

            #[inline(always)]
            fn is_key(&self, other: &Self) -> bool {
                true $(&& KeyColumn::is_key(&self.$position, &other.$position))+
            }

            #[inline(always)]
            fn agrees_up_to(&self, other: &Self, position: usize) -> bool {
                $(
                    if !KeyColumn::is_key(&self.$position, &other.$position) {
                        return false;
                    }
                    if position == $position {
                        return true;
                    }
                )+
                true
            }

            #[inline(always)]
            fn decode(bytes: &[u8]) -> Result<Self, BadColumn> {
                let (wrong, mut rest) = (BadColumn { expected: "key" }, bytes);
                let key = ($({
                    let (column, behind) = rest.split_at_checked($name::KEY_WIDTH).ok_or(wrong)?;
                    rest = behind;
                    $name::from_key(column)?
                },)+);
                if rest.is_empty() { Ok(key) } else { Err(wrong) }
            }

            fn values_as_text(&self) -> Vec<String> {
                vec![$(format!("{:?}", self.$position)),+]
            }
        }
    )*};
}

tuple_keys! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
