//! The `Record` macro of Glassbox: a struct becomes a row of a table.
//!
//! The engines want everything about a table at compile time: where each column stands in the stored row, how wide the
//! encoded key is, which secondary indexes there are. A person wants to write a struct. So the macro works in three
//! steps: `parse` reads the attributes and knows only their grammar; `model` checks them against the struct and
//! resolves names to positions; `expand`, with `row` and `keys`, writes code and can no longer fail. A mistake
//! is reported at the word that holds it, and mistakes that are independent are reported together.

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
/// The struct must be `Copy`, with named fields (at most 64) whose types are columns: `u8` to `u64`, `i8` to `i64`,
/// `bool`, `Decimal<S>`, `Text<N>`, `Bytes<N>`, `Timestamp`, or an `Option` of one of these.
///
/// | `#[record(...)]` | |
/// | --- | --- |
/// | `table = "name"` | the table's name; by default the struct's, in snake case |
/// | `key = column`, `key = (a, b)` | the primary key, at most 8 columns and 128 bytes. Needed |
/// | `partition_by = column` | the key column that decides a row's partition; by default the first |
/// | `replicated` | instead: every partition holds the whole table |
/// | `access = ordered` | lookups and scans (the default) |
/// | `access = point` | lookups only, at about half the cost |
/// | `index(name = by_name, columns = (a, b))` | a secondary index; may be repeated |
/// | `index(name = by_mail, columns = (a, mail), unique)` | one in which no two rows have the same key |
///
/// Each index gives a type named after the struct and the index, which is what a procedure names it by. The key of an
/// index that is not unique ends with those columns of the primary key that it did not name, so that its entries
/// differ. A unique index of a partitioned table must contain the column that decides the partition, because uniqueness
/// is checked within a partition. It must not contain the whole primary key: no two rows could have the same key, and
/// the index would enforce nothing. What must be unique in all of a partitioned table is the primary key of another
/// table, into which a procedure inserts as well:
///
/// ```
/// use glassbox::{Record, Stop, Transaction, record::*};
///
/// #[derive(Record, Clone, Copy)]
/// #[record(key = id)]
/// struct Customer { id: u32, mail: Text<40> }
///
/// #[derive(Record, Clone, Copy)]
/// #[record(key = mail)]
/// struct CustomerByMail { mail: Text<40>, id: u32 }
///
/// fn insert(tx: &mut impl Transaction, customer: &Customer) -> Result<(), Stop> {
///     tx.insert(&CustomerByMail { mail: customer.mail, id: customer.id })?; // refused if the address is in use
///     tx.insert(customer)
/// }
/// ```
///
/// ```
/// use glassbox::{Record, record::*};
///
/// #[derive(Record, Clone, Copy, Debug, PartialEq)]
/// #[record(key = (w_id, id), index(name = by_name, columns = (w_id, name)))]
/// struct District {
///     w_id: u16,
///     id: u8,
///     tax: Decimal<4>,
///     name: Text<10>,
/// }
///
/// let row = District { w_id: 7, id: 2, tax: "0.0825".parse().unwrap(), name: Text::new("north").unwrap() };
/// assert_eq!(row.key(), (7, 2));
/// assert_eq!(District::TABLE, "district");
/// assert_eq!(District::ROW_WIDTH, 2 + 1 + 8 + 10);
///
/// // (w_id, id) takes 3 bytes: compared as one integer.
/// let encoded: <District as Record>::Encoded = row.key().encode();
/// assert_eq!(encoded, 0x00_0702_u64);
///
/// // The index ends with `id`, the key column it did not name.
/// assert_eq!(DistrictByName::key(&row), (7, row.name, 2));
///
/// let mut stored = [0; District::ROW_WIDTH];
/// row.store(&mut stored);
/// assert_eq!(District::load(&stored), Ok(row));
/// ```
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    model::Record::read(&input)
        .map(|record| expand::record(&record))
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
