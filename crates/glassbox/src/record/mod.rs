//! What a row is: columns, keys, stored layout, schema, placement.
//!
//! A record is a plain Rust struct. In memory it *is* the row: engines hand out references to it and nothing is
//! decoded. In files it has one fixed little-endian layout, the columns in declaration order without gaps, described by
//! [`TableSchema`] so that tools read it without the Rust type. This module knows no engine, file or transaction.

mod bounds;
mod bytes;
mod calendar;
mod column;
mod conversion;
mod date;
mod decimal;
mod encoded;
mod float;
mod key;
pub(crate) mod layout;
mod meaningful_number;
mod parsed;
mod row;
mod schema;
mod sound;
mod text;
mod timestamp;
mod value;

pub use bounds::{Bounds, Direction, Encoded, Prefix, PrefixOf};
pub use bytes::Bytes;
pub use column::{BadColumn, Column, KeyColumn};
pub(crate) use conversion::RowConversion;
pub use date::{Date, DateError, TimeOfDay, TimeOfDayError};
pub use decimal::{Decimal, DecimalError};
pub use encoded::{EncodedFor, EncodedKey, KeyWidth, KeyWriter};
pub(crate) use encoded::{digest, mix};
/// An enum as the type of a column:
///
/// ```
/// use glassbox::{Record, record::*};
///
/// #[derive(Column, Debug, Clone, Copy, PartialEq)]
/// enum Standing {
///     Open = 1,
///     Paid = 2,
///     Cancelled = 7,
/// }
///
/// #[derive(Record, Clone, Copy)]
/// #[record(key = id, index(name = by_standing, columns = standing))]
/// struct Invoice {
///     id: u64,
///     standing: Standing,
/// }
///
/// assert_eq!(Invoice::ROW_WIDTH, 9);
/// assert!(Standing::load(&[3]).is_err());
/// ```
pub use glassbox_derive::Column;
pub use key::Key;
pub use parsed::{BadText, parse};
pub use row::{Access, BadRow, Index, IndexVisitor, OrderedRecord, Record, TableId};
pub use schema::{
    ColumnHistory, ColumnSchema, ColumnType, DroppedColumn, EnumType, EnumValue, FormerName, IndexSchema, TableHistory,
    TableSchema,
};
pub(crate) use schema::{DifferenceWords, name_in};
pub use sound::Sound;
pub use text::{Text, TextError};
pub use timestamp::{Timestamp, TimestampError};
pub use uuid::Uuid;
pub(crate) use value::named_values;
pub use value::{BadValue, Value};
