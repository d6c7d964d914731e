//! The code of a record: its offsets as a chain of constants, and `impl Record`.
//!
//! Every range into a row is made of constants and indexes an array of constant length, so no bound check is left in the
//! code. The constants are free items rather than associated ones: the compiler evaluates those even when nobody uses them,
//! and so finds a column that is an `Option` of an `Option` behind an alias.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::index;
use crate::model::{Column, Key, Record};

/// All code for one record.
pub fn record(record: &Record) -> TokenStream {
    let name = &record.name;
    let index_types = index::types(record);
    let offsets = offsets(record);
    let schema = schema(record);
    let header = header(record);
    let [store, load] = [store(record), load(record)];
    let [store_changes, load_changes] = [store_changes(record), load_changes(record)];
    let index_impls = index::impls(record);
    quote! {
        #index_types

        const _: () = {
            #offsets
            #schema

            #[automatically_derived]
            impl ::glassbox::record::Record for #name {
                #header
                #store
                #load
                #store_changes
                #load_changes
            }

            #index_impls
        };
    }
}

/// The constant that holds the offset of a column; one more stands for the end of the row.
fn offset(column: usize) -> Ident {
    format_ident!("__OFFSET_{column}")
}

/// `<Type as Column>`, so placed that an error about the type points at the field.
fn as_column(column: &Column) -> TokenStream {
    let kind = &column.kind;
    quote_spanned!(kind.span()=> <#kind as ::glassbox::record::Column>)
}

fn offsets(record: &Record) -> TokenStream {
    let first = offset(0);
    let others = record.columns.iter().enumerate().map(|(at, column)| {
        let (this, next, column) = (offset(at), offset(at + 1), as_column(column));
        quote!(const #next: usize = #this + #column::WIDTH;)
    });
    let row_width = offset(record.columns.len());
    quote! {
        const #first: usize = 0;
        #(#others)*
        const __ROW_WIDTH: usize = #row_width;
    }
}

fn schema(record: &Record) -> TokenStream {
    let table = &record.table;
    let access = &record.access;
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (name, offset, column) = (&column.name, offset(at), as_column(column));
        quote! {
            ::glassbox::record::ColumnSchema {
                name: ::std::borrow::Cow::Borrowed(#name),
                kind: #column::TYPE,
                nullable: #column::NULLABLE,
                offset: #offset,
                width: #column::WIDTH,
            }
        }
    });
    let key = &record.key.columns;
    let partition_by = option(record.partition_by);
    let indexes = record.indexes.iter().map(|index| {
        let (name, columns, unique) = (&index.name, &index.key.columns, index.unique);
        quote! {
            ::glassbox::record::IndexSchema {
                name: ::std::borrow::Cow::Borrowed(#name),
                columns: ::std::borrow::Cow::Borrowed(&[#(#columns),*]),
                unique: #unique,
            }
        }
    });
    quote! {
        const __SCHEMA: ::glassbox::record::TableSchema = ::glassbox::record::TableSchema {
            name: ::std::borrow::Cow::Borrowed(#table),
            columns: ::std::borrow::Cow::Borrowed(&[#(#columns),*]),
            key: ::std::borrow::Cow::Borrowed(&[#(#key),*]),
            row_width: __ROW_WIDTH,
            partition_by: #partition_by,
            access: ::glassbox::record::Access::#access,
            indexes: ::std::borrow::Cow::Borrowed(&[#(#indexes),*]),
        };
    }
}

/// Types, constants, and the short methods.
fn header(record: &Record) -> TokenStream {
    let table = &record.table;
    let access = &record.access;
    let key_type = key_type(record, &record.key);
    let encoded = encoded_type(record, &record.key);
    let key = key_value(record, &record.key, &quote!(self));
    let placement = placement(record, &record.key);
    let columns = record.columns.len();
    let indexes = record.indexes.len();
    let index_types = record.indexes.iter().map(|index| &index.kind);
    quote! {
        type Key = #key_type;
        type Encoded = #encoded;
        const TABLE: &'static str = #table;
        const SCHEMA: ::glassbox::record::TableSchema = __SCHEMA;
        const ROW_WIDTH: usize = __ROW_WIDTH;
        const ACCESS: ::glassbox::record::Access = ::glassbox::record::Access::#access;
        const PLACEMENT: ::core::option::Option<usize> = #placement;
        const COLUMNS: usize = #columns;
        const INDEXES: usize = #indexes;

        #[inline(always)]
        fn table_id() -> &'static ::glassbox::record::TableId {
            static ID: ::glassbox::record::TableId = ::glassbox::record::TableId::new();
            &ID
        }

        #[inline(always)]
        fn key(&self) -> Self::Key {
            #key
        }

        #[inline(always)]
        fn each_index<V: ::glassbox::record::IndexVisitor<Self>>(visitor: &mut V) {
            #(::glassbox::record::IndexVisitor::visit::<#index_types>(visitor);)*
            let _ = visitor;
        }
    }
}

fn store(record: &Record) -> TokenStream {
    let table = &record.table;
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, from, to, column) = (&column.field, offset(at), offset(at + 1), as_column(column));
        quote!(#column::store(&self.#field, &mut out[#from..#to]);)
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

fn load(record: &Record) -> TokenStream {
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

/// The value of a column read from `bytes`, or the end of the function with an error that names the column.
fn load_column(record: &Record, column: &Column, bytes: &TokenStream) -> TokenStream {
    let (table, name, column) = (&record.table, &column.name, as_column(column));
    quote! {
        match #column::load(#bytes) {
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

fn store_changes(record: &Record) -> TokenStream {
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, bit, column) = (&column.field, Literal::usize_unsuffixed(at), as_column(column));
        quote! {
            if self.#field != before.#field {
                #column::store(&self.#field, &mut out[at..at + #column::WIDTH]);
                columns |= 1 << #bit;
                at += #column::WIDTH;
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

fn load_changes(record: &Record) -> TokenStream {
    let table = &record.table;
    let unknown = match record.columns.len() {
        64 => quote!(false),
        count => {
            let count = Literal::usize_unsuffixed(count);
            quote!(columns >> #count != 0)
        }
    };
    let columns = record.columns.iter().enumerate().map(|(at, column)| {
        let (field, bit, as_column) = (&column.field, Literal::usize_unsuffixed(at), as_column(column));
        let load = load_column(record, column, &quote!(part));
        quote! {
            if columns & (1 << #bit) != 0 {
                let end = at + #as_column::WIDTH;
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

/// The column's type when there is one column, a tuple otherwise.
pub fn key_type(record: &Record, key: &Key) -> TokenStream {
    let kinds = key.columns.iter().map(|&column| &record.columns[column].kind);
    match key.columns.len() {
        1 => quote!(#(#kinds)*),
        _ => quote!((#(#kinds),*)),
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

/// The integer or byte string that holds the encoded key. The width is summed column by column, so that an error about a
/// column that cannot be in a key points at that column.
pub fn encoded_type(record: &Record, key: &Key) -> TokenStream {
    let widths = key.columns.iter().map(|&column| {
        let kind = &record.columns[column].kind;
        quote_spanned!(kind.span()=> <#kind as ::glassbox::record::KeyColumn>::KEY_WIDTH)
    });
    let width = quote_spanned!(key.span=> ::glassbox::record::KeyWidth<{ 0 #(+ #widths)* }>);
    quote_spanned!(key.span=> <#width as ::glassbox::record::EncodedFor>::Key)
}

/// Position within `key` of the column that decides the partition.
pub fn placement(record: &Record, key: &Key) -> TokenStream {
    option(record.partition_by.and_then(|column| key.columns.iter().position(|&of_key| of_key == column)))
}

fn option(value: Option<usize>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}
