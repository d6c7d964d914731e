//! Arguments as bytes, for the command log: exactly those that `postcard` makes, in half the instructions.
//!
//! Numbers are most of what there is, and short; here each is asked once whether there is room for the longest, and
//! written where it stays. The form is described in postcard's book: integers of more than a byte are written seven
//! bits at a time, lowest first; signed ones zigzag; lengths and numbers of variants likewise; the rest has no frame.

mod room;

use std::fmt::{self, Display, Write};

use serde::ser::{Error as _, Serialize, Serializer};

use room::{ArgumentsEncoder, Done};

pub(crate) use room::BadArguments;

/// Writes the encoding of `value` to the front of `room`; its length.
#[inline(always)]
pub(crate) fn encode(value: &impl Serialize, room: &mut [u8]) -> Result<usize, BadArguments> {
    let all = room.len();
    let mut arguments = ArgumentsEncoder { room };
    value.serialize(&mut arguments)?;
    Ok(all - arguments.room.len())
}

impl Write for ArgumentsEncoder<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

macro_rules! primitives {
    ($($method:ident($value:ident: $type:ty) $write:ident($bits:expr);)*) => {$(
        #[inline(always)]
        fn $method(self, $value: $type) -> Done {
            self.$write($bits)
        }
    )*};
}

impl<'a, 'b> Serializer for &'a mut ArgumentsEncoder<'b> {
    type Ok = ();
    type Error = BadArguments;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    primitives! {
        serialize_bool(value: bool) byte(value.into());
        serialize_i8(value: i8) byte(value as u8);
        serialize_i16(value: i16) number((value << 1 ^ value >> 15) as u16 as u64);
        serialize_i32(value: i32) number((value << 1 ^ value >> 31) as u32 as u64);
        serialize_i64(value: i64) number((value << 1 ^ value >> 63) as u64);
        serialize_i128(value: i128) wide_number((value << 1 ^ value >> 127) as u128);
        serialize_u8(value: u8) byte(value);
        serialize_u16(value: u16) number(value.into());
        serialize_u32(value: u32) number(value.into());
        serialize_u64(value: u64) number(value);
        serialize_u128(value: u128) wide_number(value);
        serialize_f32(value: f32) bytes(&value.to_le_bytes());
        serialize_f64(value: f64) bytes(&value.to_le_bytes());
        serialize_char(value: char) counted(value.encode_utf8(&mut [0; 4]).as_bytes());
        serialize_str(value: &str) counted(value.as_bytes());
        serialize_bytes(value: &[u8]) counted(value);
    }

    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline(always)]
    fn serialize_none(self) -> Done {
        self.byte(0)
    }

    #[inline(always)]
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Done {
        self.byte(1)?;
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_unit(self) -> Done {
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit_struct(self, _name: &'static str) -> Done {
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit_variant(self, _name: &'static str, number: u32, _variant: &'static str) -> Done {
        self.number(number.into())
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _name: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
        value: &T,
    ) -> Done {
        self.number(number.into())?;
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, BadArguments> {
        self.length(length)
    }

    #[inline(always)]
    fn serialize_tuple(self, _length: usize) -> Result<Self, BadArguments> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self, BadArguments> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        number: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, BadArguments> {
        self.number(number.into())?;
        Ok(self)
    }

    #[inline(always)]
    fn serialize_map(self, length: Option<usize>) -> Result<Self, BadArguments> {
        self.length(length)
    }

    #[inline(always)]
    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, BadArguments> {
        Ok(self)
    }

    #[inline(always)]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        number: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self, BadArguments> {
        self.serialize_tuple_variant(name, number, variant, length)
    }

    fn collect_str<T: ?Sized + Display>(self, value: &T) -> Done {
        // Its length stands before it.
        let mut length = Length(0);
        write!(length, "{value}").map_err(BadArguments::custom)?;
        self.number(length.0 as u64)?;
        if self.room.len() < length.0 {
            return Err(BadArguments::Full);
        }
        write!(self, "{value}").map_err(BadArguments::custom)
    }
}

macro_rules! compounds {
    ($($compound:ident: $($method:ident($($name:ident)?))*;)*) => {$(
        impl serde::ser::$compound for &mut ArgumentsEncoder<'_> {
            type Ok = ();
            type Error = BadArguments;

            $(#[inline(always)]
            fn $method<T: ?Sized + Serialize>(&mut self, $($name: &'static str,)? value: &T) -> Done {
                value.serialize(&mut **self)
            })*

            #[inline(always)]
            fn end(self) -> Done {
                Ok(())
            }
        }
    )*};
}

compounds! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key() serialize_value();
    SerializeStruct: serialize_field(_name);
    SerializeStructVariant: serialize_field(_name);
}

#[cfg(test)]
mod tests;
