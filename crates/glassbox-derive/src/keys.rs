//! The code of keys, primary and secondary: a key's type, its value in a row, its encoding, and where it holds the
//! partition; and for each secondary index a type, outside of everything so that users can name it, and `impl Index`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Key, Record};
use crate::names::listed;

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
pub fn option(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// `pub struct CustomerByName;`, as visible as the record.
pub fn types(record: &Record) -> TokenStream {
    let types = record.indexes.iter().map(|index| {
        let (visibility, kind) = (&record.visibility, &index.kind);
        let columns = listed(index.key.columns.iter().map(|&column| &record.columns[column].name));
        let unique = if index.unique { ", unique" } else { "" };
        let text = format!("The index `{}` of [`{}`]: {columns}{unique}.", index.name, record.name);
        quote! {
            #[doc = #text]
            #[derive(Debug, Clone, Copy)]
            #[allow(dead_code)]
            #visibility struct #kind;
        }
    });
    quote!(#(#types)*)
}

/// `impl Index` for each of them.
pub fn impls(record: &Record) -> TokenStream {
    let row_type = &record.name;
    let impls = record.indexes.iter().enumerate().map(|(position, index)| {
        let (kind, name, unique) = (&index.kind, &index.name, index.unique);
        let key_type = key_type(record, &index.key);
        let encoded = encoded_type(record, &index.key);
        let key = key_value(record, &index.key, &quote!(row));
        let placement = placement(record, &index.key);
        quote! {
            #[automatically_derived]
            impl ::glassbox::record::Index for #kind {
                type Record = #row_type;
                type Key = #key_type;
                type Encoded = #encoded;
                const NAME: &'static str = #name;
                const POSITION: usize = #position;
                const UNIQUE: bool = #unique;
                const PLACEMENT: ::core::option::Option<usize> = #placement;

                #[inline(always)]
                fn key(row: &Self::Record) -> Self::Key {
                    #key
                }
            }
        }
    });
    quote!(#(#impls)*)
}

/// The columns that indexes hold of a row besides its primary key: the type, as pairs in pairs; reading them; and
/// writing them.
pub fn indexed_columns(record: &Record) -> TokenStream {
    let of_index = |column: &usize| record.indexes.iter().any(|index| index.key.columns.contains(column));
    let columns = (0..record.columns.len()).filter(of_index).filter(|column| !record.key.columns.contains(column));
    let columns: Vec<_> = columns.map(|column| &record.columns[column]).collect();
    let pairs = |item: &dyn Fn(usize) -> TokenStream| {
        (0..columns.len()).rev().fold(quote!(()), |rest, at| {
            let item = item(at);
            quote!((#item, #rest))
        })
    };
    let name = |at: usize| format_ident!("column_{at}");
    let kinds = pairs(&|at| columns[at].kind.to_token_stream());
    let (fields, names) =
        (columns.iter().map(|column| &column.field).collect::<Vec<_>>(), (0..columns.len()).map(name));
    let taken = pairs(&|at| {
        let field = fields[at];
        quote!(self.#field)
    });
    let given = pairs(&|at| name(at).to_token_stream());
    let kinds_of = columns.iter().map(|column| &column.kind);
    let compared = (0..columns.len()).map(name);
    quote! {
        type Indexed = #kinds;

        // Without an index there are none.
        #[allow(clippy::unused_unit)]
        #[inline(always)]
        fn indexed(&self) -> Self::Indexed {
            #taken
        }

        #[inline(always)]
        fn has_indexed(&self, #given: &Self::Indexed) -> bool {
            true #(&& <#kinds_of as ::glassbox::record::KeyColumn>::is_key(&self.#fields, #compared))*
        }

        fn put_indexed(&mut self, #given: Self::Indexed) {
            #(self.#fields = #names;)*
        }
    }
}
