//! The code of a key, primary or secondary: its type, its value in a row, its encoding, and where it holds the
//! partition.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Key, Record};

/// The column's type when there is one column, a tuple otherwise.
pub fn key_type(record: &Record, key: &Key) -> TokenStream {
    let kinds = key.columns.iter().map(|&column| &record.columns[column].kind);
    match key.columns.len() {
        1 => quote!(#(#kinds)*),
        _ => quote_spanned!(key.span=> (#(#kinds),*)),
    }
}

/// The key of `row`.
pub fn key_value(record: &Record, key: &Key, row: &TokenStream) -> TokenStream {
    let fields = key.columns.iter().map(|&column| &record.columns[column].field);
    match key.columns.len() {
        1 => quote!(#(#row.#fields)*),
        _ => quote!((#(#row.#fields),*)),
    }
}

/// The integer or byte string that holds the encoded key. The width is summed column by column, so that an error about
/// a column that cannot be in a key points at that column.
pub fn encoded_type(record: &Record, key: &Key) -> TokenStream {
    let widths = key.columns.iter().map(|&column| {
        let kind = &record.columns[column].kind;
        quote_spanned!(kind.span()=> <#kind as ::glassbox::record::KeyColumn>::KEY_WIDTH)
    });
    let width = quote_spanned!(key.span=> ::glassbox::record::KeyWidth<{ #(#widths)+* }>);
    quote_spanned!(key.span=> <#width as ::glassbox::record::EncodedFor>::Key)
}

/// Position within `key` of the column that decides the partition.
pub fn placement(record: &Record, key: &Key) -> TokenStream {
    option(record.partition_by.and_then(|column| key.columns.iter().position(|&of_key| of_key == column)))
}

/// An option as code.
pub fn option(value: Option<usize>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
