//! The code of secondary indexes: a type for each, outside of everything so that users can name it, and `impl Index`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::key::{encoded_type, key_type, key_value, placement};
use crate::model::Record;
use crate::names::listed;

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
