//! An enum as the type of a column.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, Result};

/// An enum that has been checked.
struct ColumnEnum<'a> {
    name: &'a Ident,
    values: Vec<&'a Ident>,
    /// The integer that is stored, and its bytes.
    number: Ident,
    bytes: usize,
}

/// The code of an enum.
pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let data = data(input)?;
    let (number, bytes) = number_type(input)?;
    let values = data.variants.iter().map(|variant| &variant.ident).collect();
    let read = ColumnEnum { name: &input.ident, values, number, bytes };
    let items = [named, column, key_column].map(|item| item(&read));
    Ok(quote! {
        const _: () = {
            #(#items)*
        };
    })
}

/// The values by ascending numbers, which the enum's own order need not be.
fn named(of: &ColumnEnum<'_>) -> TokenStream {
    let ColumnEnum { name, values, number, .. } = of;
    let count = values.len();
    let places = 0..count;
    let names = values.iter().map(|value| value.unraw().to_string());
    let fits = quote_spanned! {name.span()=>
        #(::core::assert!(
            #name::#values as i128 >= 0 && #name::#values as i128 <= #number::MAX as i128,
            "a value of the enum has a number that its column cannot hold: add #[repr(u16)] or #[repr(u32)]"
        );)*
    };
    quote! {
        const __SORTED: [(u64, &str); #count] = {
            #fits
            let mut values = [#((#name::#values as u64, #names)),*];
            let mut at = 1;
            while at < values.len() {
                let mut place = at;
                while place > 0 && values[place - 1].0 > values[place].0 {
                    let value = values[place];
                    values[place] = values[place - 1];
                    values[place - 1] = value;
                    place -= 1;
                }
                at += 1;
            }
            values
        };

        static __NAMED: [::glassbox::record::EnumValue; #count] = [#(
            ::glassbox::record::EnumValue {
                number: __SORTED[#places].0,
                name: ::std::borrow::Cow::Borrowed(__SORTED[#places].1),
            }
        ),*];
    }
}

/// `impl Column`.
fn column(of: &ColumnEnum<'_>) -> TokenStream {
    let ColumnEnum { name, values, number, bytes } = of;
    let expected = format!("`{name}`");
    quote! {
        #[automatically_derived]
        impl ::glassbox::record::Column for #name {
            const TYPE: ::glassbox::record::ColumnType =
                ::glassbox::record::ColumnType::Enum(::glassbox::record::EnumType {
                    bytes: #bytes,
                    values: ::std::borrow::Cow::Borrowed(&__NAMED),
                });
            const WIDTH: usize = #bytes;

            #[inline(always)]
            fn store(&self, out: &mut [u8]) {
                out.copy_from_slice(&(*self as #number).to_le_bytes());
            }

            #[inline]
            fn load(bytes: &[u8]) -> ::core::result::Result<Self, ::glassbox::record::BadColumn> {
                match <#number as ::glassbox::record::Column>::load(bytes)? {
                    #(number if number == #name::#values as #number => ::core::result::Result::Ok(#name::#values),)*
                    _ => ::core::result::Result::Err(::glassbox::record::BadColumn { expected: #expected }),
                }
            }

            // Whatever `==` says.
            #[inline(always)]
            fn is_stored_as(&self, other: &Self) -> bool {
                *self as #number == *other as #number
            }
        }
    }
}

/// `impl KeyColumn`.
fn key_column(of: &ColumnEnum<'_>) -> TokenStream {
    let ColumnEnum { name, number, bytes, .. } = of;
    quote! {
        #[automatically_derived]
        impl ::glassbox::record::KeyColumn for #name {
            const KEY_WIDTH: usize = #bytes;

            #[inline(always)]
            fn push<E: ::glassbox::record::EncodedKey>(&self, to: &mut ::glassbox::record::KeyWriter<E>) {
                to.push_uint(*self as u64, #bytes);
            }

            #[inline]
            fn from_key(bytes: &[u8]) -> ::core::result::Result<Self, ::glassbox::record::BadColumn> {
                let number = <#number as ::glassbox::record::KeyColumn>::from_key(bytes)?;
                <Self as ::glassbox::record::Column>::load(&number.to_le_bytes())
            }

            #[inline(always)]
            fn is_key(&self, other: &Self) -> bool {
                *self as #number == *other as #number
            }

            #[inline(always)]
            fn placement(&self) -> u64 {
                *self as u64
            }
        }
    }
}

/// The enum, whose values have no fields.
fn data(input: &DeriveInput) -> Result<&DataEnum> {
    const SHAPE: &str = "a column's type is an enum, whose values have no fields";
    let Data::Enum(data) = &input.data else { return Err(Error::new(input.ident.span(), SHAPE)) };
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new(parameter.span(), "a column has one type, so it cannot be generic"));
    }
    if data.variants.is_empty() {
        return Err(Error::new(input.ident.span(), "an enum without values has no value that a row could have"));
    }
    match data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        Some(variant) => Err(Error::new(variant.fields.span(), SHAPE)),
        None => Ok(data),
    }
}

/// The integer that is stored, and its bytes.
fn number_type(input: &DeriveInput) -> Result<(Ident, usize)> {
    let mut number = (Ident::new("u8", input.ident.span()), 1);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let ident = meta.path.require_ident()?;
            number.1 = match ident.to_string().as_str() {
                "u8" => 1,
                "u16" => 2,
                "u32" => 4,
                _ => return Err(meta.error("the number of a column's enum is a u8, u16 or u32")),
            };
            number.0 = ident.clone();
            Ok(())
        })?;
    }
    Ok(number)
}
