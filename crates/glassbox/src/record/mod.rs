//! What a row is: columns, keys, stored layout, schema, placement.
//!
//! A record is a plain Rust struct. In memory it *is* the row: engines hand out references to it and nothing is
//! decoded. In files it has one fixed little-endian layout, the columns in declaration order without gaps, described by
//! [`TableSchema`] so that tools read it without the Rust type. This module knows no engine, file or transaction.

mod bounds;
mod bytes;
mod column;
mod decimal;
mod encoded;
mod key;
pub(crate) mod layout;
mod row;
mod schema;
mod sound;
mod text;
mod timestamp;
mod value;

pub use bounds::{Bounds, Direction, Encoded, Prefix, PrefixOf};
pub use bytes::Bytes;
pub use column::{BadColumn, Column, KeyColumn};
pub use decimal::{Decimal, DecimalError};
pub use encoded::{EncodedFor, EncodedKey, KeyWidth, KeyWriter};
pub(crate) use encoded::{digest, mix};
pub use key::Key;
pub use row::{Access, BadRow, Index, IndexVisitor, OrderedRecord, Record, TableId};
pub(crate) use schema::DifferenceWords;
pub use schema::{ColumnSchema, ColumnType, IndexSchema, TableSchema};
pub use sound::Sound;
pub use text::{Text, TextError};
pub use timestamp::{Timestamp, TimestampError};
pub(crate) use value::named_values;
pub use value::{BadValue, Value};
