//! The macros of Glassbox: with `Record` a struct becomes a row of a table, with `Column` an enum the type of a
//! column.
//!
//! The engines want everything about a table at compile time: where each column stands in the stored row, how wide the
//! encoded key is, which secondary indexes there are. A person wants to write a struct. So the macro works in three
//! steps: `parse` reads the attributes and knows only their grammar; `model` checks them against the struct and
//! resolves names to positions; `expand`, with `row` and `keys`, writes code and can no longer fail. A mistake
//! is reported at the word that holds it, and mistakes that are independent are reported together.

mod column;
mod expand;
mod keys;
mod model;
mod names;
mod parse;
mod row;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a row of a table.
///
/// The struct must be `Copy`, with named fields (at most 64) whose types are columns: `u8` to `u128`, `i8` to `i128`,
/// `f32`, `f64`, `bool`, `Decimal<S>`, `Text<N>`, `Bytes<N>`, `Timestamp`, `Date`, `TimeOfDay`, `Uuid`, an enum with
/// `#[derive(Column)]`, or an `Option` of one of these.
///
/// | `#[record(...)]` | |
/// | --- | --- |
/// | `table = "name"` | the table's name; by default the struct's, in snake case |
/// | `key = column`, `key = (a, b)` | the primary key, at most 8 columns and 512 bytes. Needed |
/// | `partition_by = column` | the key column that decides a row's partition; by default the first |
/// | `replicated` | instead: every partition holds the whole table |
/// | `access = ordered` | lookups and scans (the default) |
/// | `access = point` | lookups only, at about half the cost |
/// | `index(name = by_name, columns = (a, b))` | a secondary index; may be repeated |
/// | `index(name = by_mail, columns = (a, mail), unique)` | one in which no two rows have the same key |
/// | `was("name", version)` | the table had this name before this version of the schema; may be repeated |
/// | `dropped("name", type, at = version)` | a column that is gone since this version; with `added = version, default = …` if there were rows without it |
///
/// | `#[record(...)]` of a field | |
/// | --- | --- |
/// | `added = version` | the column is there since this version of the schema. Older rows have nothing in it, or |
/// | `default = …` | this number, text, `true` or `false` |
/// | `was("name", version)` | the column had this name before this version; may be repeated |
///
/// Each index gives a type named after the struct and the index, which is what a procedure names it by. The key of an
/// index that is not unique ends with those columns of the primary key that it did not name, so that its entries
/// differ. A unique index of a partitioned table must contain the column that decides the partition, because uniqueness
/// is checked within a partition. It must not contain the whole primary key: no two rows could have the same key, and
/// the index would enforce nothing. What must be unique in all of a partitioned table is the primary key of another
/// table, into which a procedure inserts as well.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    model::Record::read(&input)
        .map(|record| expand::record(&record))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Makes an enum the type of a column, also of a key: its values are stored as numbers, and the schema has their names.
///
/// The enum has only values without fields, and is `Copy`, `PartialEq` and `Debug`. A value's number is its
/// discriminant, which must not change as long as there are rows with it; the order of keys is that of the numbers.
/// They have one byte, or as many as `#[repr(u16)]` or `#[repr(u32)]` says.
#[proc_macro_derive(Column)]
pub fn derive_column(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    column::expand(&input).unwrap_or_else(|error| error.into_compile_error()).into()
}
