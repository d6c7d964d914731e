//! Glassbox: an embedded OLTP database. It runs stored procedures, which are plain Rust functions over typed rows,
//! durably. By default all data is in memory, in partitions, and each partition runs one transaction at a time.
//!
//! ```
//! use glassbox::{Catalog, Config, Database, Declared, KeySet, Procedure, Record, Stop, Transaction};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Record, Clone, Copy)]
//! #[record(key = id)]
//! struct Counter {
//!     id: u32,
//!     value: u64,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Count {
//!     id: u32,
//! }
//!
//! impl Procedure for Count {
//!     const NAME: &'static str = "count";
//!     type Output = u64;
//!
//!     fn declare(&self, set: &mut impl KeySet) -> Declared {
//!         set.write::<Counter>(&self.id);
//!         Declared::Complete
//!     }
//!
//!     fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
//!         let counted = tx.update::<Counter, _>(&self.id, |counter| {
//!             counter.value += 1;
//!             counter.value
//!         })?;
//!         counted.ok_or_else(|| Stop::abort(1, "no such counter"))
//!     }
//! }
//!
//! # fn main() -> Result<(), glassbox::Error> {
//! let db = Database::in_memory(Config::default(), Catalog::new().table::<Counter>().procedure::<Count>())?;
//! db.transaction(|tx| tx.insert(&Counter { id: 7, value: 0 }))?;
//! assert_eq!(db.call(&Count { id: 7 })?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! [`Database::open`] does the same on a directory; then what was answered survives a crash.
//!
//! # Where to read
//!
//! To use it: [`Record`] (what a row is), [`Procedure`] and [`Transaction`] (what runs), [`Catalog`], [`Config`] and
//! [`Database`] (where it runs), [`Error`] (what can go wrong). The engine's parts by themselves, for experiments and
//! tools, are in [`research`]. To understand it, in this order, each file opening with its argument: `record`,
//! `procedure`, `io`, `log/mod.rs` and `log/ring.rs`, `partitioned/engine.rs` and `partitioned/token.rs`,
//! `partitioned/storage/snapshot.rs` and `partitioned/checkpoint.rs`, `database/`. `ARCHITECTURE.md` is the map.

// The derive writes `::glassbox::record::…`; in here that name must mean this crate.
extern crate self as glassbox;

mod answer;
mod catalog;
mod classic;
pub mod config;
mod database;
pub mod error;
mod executed;
mod failure;
mod health;
mod huge_pages;
pub mod io;
mod log;
mod partitioned;
mod prefetch;
pub mod procedure;
pub mod record;
pub mod research;
pub mod stats;
mod store;

pub use catalog::Catalog;
pub use config::{Architecture, Config, Durability, Execution, LogKind};
pub use database::Database;
pub use database::any_transaction::AnyTransaction;
pub use database::bulk_load::BulkLoad;
pub use database::ticket::Ticket;
pub use error::Error;
/// A row, its keys and its stored form:
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
///
/// A mail address that is unique in all partitions, by a table of its own:
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
pub use glassbox_derive::Record;
pub use procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
pub use record::Record;

/// The examples of the README, compiled with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
