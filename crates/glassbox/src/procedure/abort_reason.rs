//! Why a transaction was rolled back for good: the decision of its procedure, or a row that a table cannot hold.
//!
//! A refused row is no decision of the procedure, so it has types of its own, and a caller that expects a business rule
//! (`Err(Error::Aborted(_))`) does not confuse the two. A procedure may match the refusal of a row and continue:
//! nothing was changed. The details are built only when a row is refused, which is rare, and are boxed: an accepted row
//! pays nothing for them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::stop::{Abort, Retry, Stop};
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record};

/// Why a transaction was rolled back for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AbortReason {
    /// The procedure decided not to commit.
    Procedure(Abort),
    /// A row would have shared a unique key with another one.
    DuplicateKey(Box<DuplicateKey>),
    /// A table has no memory for another row.
    TableFull(TableFull),
}

/// The refusal of a row whose primary key, or key of a unique index, another row has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateKey {
    /// The table's name.
    pub table: Cow<'static, str>,
    /// The unique secondary index; `None`: the primary key.
    pub index: Option<Cow<'static, str>>,
    /// The names of the key's columns.
    pub columns: Vec<Cow<'static, str>>,
    /// The values of the refused row in these columns, as text.
    pub values: Vec<String>,
}

/// The refusal of a row for which its table, or one of its indexes, has no memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "table \"{table}\" is full: its rows or one of its indexes use all memory that they may have; raise `table_bytes`"
)]
pub struct TableFull {
    /// The table's name.
    pub table: Cow<'static, str>,
}

impl AbortReason {
    /// Why this run is not restarted.
    ///
    /// # Errors
    /// The restart reason: what the run needs before it can restart.
    pub fn of(stop: Stop) -> Result<Self, Retry> {
        match stop {
            Stop::Abort(abort) => Ok(Self::Procedure(abort)),
            Stop::DuplicateKey(duplicate) => Ok(Self::DuplicateKey(duplicate)),
            Stop::TableFull(full) => Ok(Self::TableFull(full)),
            Stop::Retry(retry) => Err(retry),
        }
    }
}

impl From<AbortReason> for Stop {
    #[cold]
    fn from(reason: AbortReason) -> Self {
        match reason {
            AbortReason::Procedure(abort) => Self::Abort(abort),
            AbortReason::DuplicateKey(duplicate) => Self::DuplicateKey(duplicate),
            AbortReason::TableFull(full) => Self::TableFull(full),
        }
    }
}

impl From<Abort> for AbortReason {
    fn from(abort: Abort) -> Self {
        Self::Procedure(abort)
    }
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Procedure(abort) => abort.fmt(f),
            Self::DuplicateKey(duplicate) => duplicate.fmt(f),
            Self::TableFull(full) => full.fmt(f),
        }
    }
}

impl TableFull {
    /// The refusal of a row of this table.
    #[cold]
    pub fn of<R: Record>() -> Self {
        Self { table: Cow::Borrowed(R::TABLE) }
    }
}

impl DuplicateKey {
    /// The refusal of `row` by the secondary index at this position; `None`: by the primary key.
    ///
    /// # Panics
    /// When the record has no such index.
    #[cold]
    pub fn of<R: Record>(row: &R, index: Option<usize>) -> Self {
        struct ValuesAt<'a, R>(&'a R, usize, Vec<String>);
        impl<R: Record> IndexVisitor<R> for ValuesAt<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                if I::POSITION == self.1 {
                    self.2 = I::key(self.0).values_as_text();
                }
            }
        }
        let Some(position) = index else { return Self::of_primary::<R>(&row.key()) };
        let schema = R::SCHEMA;
        let index = &schema.indexes[position];
        let mut visitor = ValuesAt(row, position, Vec::new());
        R::each_index(&mut visitor);
        Self::new::<R>(Some(index.name.clone()), &index.columns, visitor.2)
    }

    /// The refusal of a row by its primary key, given in encoded form.
    #[cold]
    pub(crate) fn of_encoded<R: Record>(key: &R::Encoded) -> Self {
        let key = key.for_bytes(R::Key::WIDTH, <R::Key as Key>::decode);
        Self::of_primary::<R>(&key.expect("a key that was encoded can be decoded"))
    }

    fn of_primary<R: Record>(key: &R::Key) -> Self {
        Self::new::<R>(None, &R::SCHEMA.key, key.values_as_text())
    }

    fn new<R: Record>(index: Option<Cow<'static, str>>, columns: &[usize], values: Vec<String>) -> Self {
        let columns = columns.iter().map(|&column| R::SCHEMA.columns[column].name.clone()).collect();
        Self { table: Cow::Borrowed(R::TABLE), index, columns, values }
    }
}

impl std::error::Error for DuplicateKey {}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.index {
            None => write!(f, "duplicate key in table \"{}\"", self.table)?,
            Some(index) => write!(f, "duplicate key in index \"{index}\" of table \"{}\"", self.table)?,
        }
        let mut before = ": ";
        for (column, value) in self.columns.iter().zip(&self.values) {
            write!(f, "{before}{column} = {value}")?;
            before = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_abort_does_not_make_results_larger() {
        assert_eq!(size_of::<Stop>(), size_of::<Abort>());
        assert_eq!(size_of::<AbortReason>(), size_of::<Abort>());
        assert_eq!(size_of::<Result<(), Stop>>(), 32);
    }
}
