//! The code of a record: its offsets as a chain of constants, its schema, and `impl Record`.
//!
//! The constants are free items rather than associated ones: the compiler evaluates them even when they are not used,
//! and so finds a column that is an `Option` of an `Option` hidden by an alias.

use proc_macro2::TokenStream;
use quote::quote;

use crate::keys::{self, encoded_type, indexed_columns, key_type, key_value, option, placement};
use crate::model::Record;
use crate::parse::{DefaultText, DroppedColumn, FieldAttributes, FormerName, Version};
use crate::row::{load, load_changes, load_sound, of_column, offset, store, store_changes};

/// All code for one record.
pub fn record(record: &Record) -> TokenStream {
    let name = &record.name;
    let index_types = keys::types(record);
    let offsets = offsets(record);
    let schema = schema(record);
    let header = header(record);
    let methods = [store, load, load_sound, store_changes, load_changes].map(|method| method(record));
    let index_impls = keys::impls(record);
    let ordered = (record.access == "Ordered").then(|| {
        quote! {
            #[automatically_derived]
            impl ::glassbox::record::OrderedRecord for #name {}
        }
    });
    quote! {
        #index_types

        const _: () = {
            #offsets
            #schema

            #ordered

            #[automatically_derived]
            impl ::glassbox::record::Record for #name {
                #header
                #(#methods)*
            }

            #index_impls
        };
    }
}

fn offsets(record: &Record) -> TokenStream {
    let first = offset(0);
    let others = record.columns.iter().enumerate().map(|(at, column)| {
        let (this, next, width) = (offset(at), offset(at + 1), of_column(column, "WIDTH"));
        quote!(const #next: usize = #this + #width;)
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
        let (name, offset) = (&column.name, offset(at));
        let [kind, nullable, width] = ["TYPE", "NULLABLE", "WIDTH"].map(|item| of_column(column, item));
        quote! {
            ::glassbox::record::ColumnSchema {
                name: ::std::borrow::Cow::Borrowed(#name),
                kind: #kind,
                nullable: #nullable,
                offset: #offset,
                width: #width,
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

/// Earlier versions of the schema, from the attributes.
fn history(record: &Record) -> TokenStream {
    let was = former_names(&record.was);
    let columns = record.columns.iter().map(|column| {
        let FieldAttributes { added, default, was } = &column.history;
        let added = version(*added);
        let default = default_text(default.as_ref());
        let was = former_names(was);
        quote!(::glassbox::record::ColumnHistory { added: #added, default: #default, was: #was })
    });
    let dropped = record.dropped.iter().map(|DroppedColumn { name, kind, added, default, at }| {
        let added = version(*added);
        let default = default_text(default.as_ref());
        let at = at.number;
        quote! {
            ::glassbox::record::DroppedColumn {
                name: #name,
                kind: <#kind as ::glassbox::record::Column>::TYPE,
                nullable: <#kind as ::glassbox::record::Column>::NULLABLE,
                added: #added,
                default: #default,
                at: #at,
            }
        }
    });
    quote! {
        ::glassbox::record::TableHistory { was: #was, columns: &[#(#columns),*], dropped: &[#(#dropped),*] }
    }
}

fn former_names(was: &[FormerName]) -> TokenStream {
    let each = was.iter().map(|FormerName { name, until }| {
        let until = until.number;
        quote!(::glassbox::record::FormerName { name: #name, until: #until })
    });
    quote!(&[#(#each),*])
}

fn version(version: Option<Version>) -> u32 {
    version.map_or(1, |version| version.number)
}

fn default_text(default: Option<&DefaultText>) -> TokenStream {
    option(default.map(|default| &default.text))
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
    let indexed = indexed_columns(record);
    let history = history(record);
    quote! {
        #indexed

        type Key = #key_type;
        type Encoded = #encoded;
        const TABLE: &'static str = #table;
        const SCHEMA: ::glassbox::record::TableSchema = __SCHEMA;
        const ROW_WIDTH: usize = __ROW_WIDTH;
        const ACCESS: ::glassbox::record::Access = ::glassbox::record::Access::#access;
        const PLACEMENT: ::core::option::Option<usize> = #placement;
        const COLUMNS: usize = #columns;
        const INDEXES: usize = #indexes;
        const HISTORY: ::glassbox::record::TableHistory = #history;

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
