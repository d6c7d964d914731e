//! The code that moves a row to and from its stored form.
//!
//! Every range into a whole row is made of constants and indexes an array of constant length, so no bound check is
//! left.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Column, Record};

/// The constant that holds the offset of a column; one more stands for the end of the row.
pub fn offset(column: usize) -> Ident {
    format_ident!("__OFFSET_{column}")
}

/// `<Type as Column>::item`, so placed that an error about the type points at the field.
pub fn of_column(column: &Column, item: &str) -> TokenStream {
    let (kind, item) = (&column.kind, Ident::new(item, column.kind.span()));
    quote_spanned!(kind.span()=> <#kind as ::glassbox::record::Column>::#item)
}

/// `Record::store`.
pub fn store(record: &Record) -> TokenStream {
    let table = &record.table;
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, from, to, store) = (&column.field, offset(at), offset(at + 1), of_column(column, "store"));
        quote!(#store(&self.#field, &mut out[#from..#to]);)
    });
    quote! {
        #[inline]
        fn store(&self, out: &mut [u8]) {
            let found = out.len();
            let ::core::result::Result::Ok(out) = <&mut [u8; __ROW_WIDTH]>::try_from(out) else {
                ::core::panic!("a row of table `{}` is stored in {} bytes, not {}", #table, __ROW_WIDTH, found)
            };
            #(#columns)*
        }
    }
}

/// `Record::load`.
pub fn load(record: &Record) -> TokenStream {
    let table = &record.table;
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, from, to) = (&column.field, offset(at), offset(at + 1));
        let load = load_column(record, column, &quote!(&bytes[#from..#to]));
        quote!(#field: #load,)
    });
    quote! {
        #[inline]
        fn load(bytes: &[u8]) -> ::core::result::Result<Self, ::glassbox::record::BadRow> {
            let ::core::result::Result::Ok(bytes) = <&[u8; __ROW_WIDTH]>::try_from(bytes) else {
                return ::core::result::Result::Err(::glassbox::record::BadRow::Width {
                    table: #table,
                    found: bytes.len(),
                    expected: __ROW_WIDTH,
                });
            };
            ::core::result::Result::Ok(Self { #(#columns)* })
        }
    }
}

/// `Record::load_sound`.
pub fn load_sound(record: &Record) -> TokenStream {
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, from, to, load) = (&column.field, offset(at), offset(at + 1), of_column(column, "load_sound"));
        quote!(#field: #load(bytes.column(#from, #to)),)
    });
    quote! {
        #[inline(always)]
        fn load_sound(bytes: ::glassbox::record::Sound<'_>) -> Self {
            // Whatever is asked of the columns is within it then.
            let _: &[u8; __ROW_WIDTH] = bytes.bytes();
            Self { #(#columns)* }
        }
    }
}

/// The value of a column read from `bytes`, or the end of the function with an error that names the column.
fn load_column(record: &Record, column: &Column, bytes: &TokenStream) -> TokenStream {
    let (table, name, load) = (&record.table, &column.name, of_column(column, "load"));
    quote! {
        match #load(#bytes) {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(bad) => {
                return ::core::result::Result::Err(::glassbox::record::BadRow::Column {
                    table: #table,
                    column: #name,
                    bad,
                });
            }
        }
    }
}

/// `Record::store_changes`. Columns of the primary key do not change, but for the forms that a value may have.
pub fn store_changes(record: &Record) -> TokenStream {
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, bit) = (&column.field, Literal::usize_unsuffixed(at));
        let [store, width, is_same] = ["store", "WIDTH", "is_stored_as"].map(|item| of_column(column, item));
        let may_change = if record.key.columns.contains(&at) {
            let has_one_form = of_column(column, "HAS_ONE_FORM");
            quote!(!#has_one_form &&)
        } else {
            TokenStream::new()
        };
        quote! {
            if #may_change !#is_same(&self.#field, &before.#field) {
                #store(&self.#field, &mut out[at..at + #width]);
                columns |= 1 << #bit;
                at += #width;
            }
        }
    });
    quote! {
        #[inline]
        fn store_changes(&self, before: &Self, out: &mut [u8]) -> (u64, usize) {
            let mut columns = 0_u64;
            let mut at = 0_usize;
            #(#columns)*
            (columns, at)
        }
    }
}

/// `Record::load_changes`.
pub fn load_changes(record: &Record) -> TokenStream {
    let table = &record.table;
    let unknown = match record.columns.len() {
        64 => quote!(false),
        count => {
            let count = Literal::usize_unsuffixed(count);
            quote!(columns >> #count != 0)
        }
    };
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, bit, width) = (&column.field, Literal::usize_unsuffixed(at), of_column(column, "WIDTH"));
        let load = load_column(record, column, &quote!(part));
        quote! {
            if columns & (1 << #bit) != 0 {
                let end = at + #width;
                let ::core::option::Option::Some(part) = bytes.get(at..end) else {
                    return ::core::result::Result::Err(::glassbox::record::BadRow::Width {
                        table: #table,
                        found: bytes.len(),
                        expected: end,
                    });
                };
                self.#field = #load;
                at = end;
            }
        }
    });
    quote! {
        #[inline]
        fn load_changes(
            &mut self,
            columns: u64,
            bytes: &[u8],
        ) -> ::core::result::Result<usize, ::glassbox::record::BadRow> {
            if #unknown {
                return ::core::result::Result::Err(::glassbox::record::BadRow::Mask { table: #table });
            }
            let mut at = 0_usize;
            #(#columns)*
            ::core::result::Result::Ok(at)
        }
    }
}
