//! A partition: its tables, and the buffers of the transaction that has it as its home.

use super::lookups::Lookups;
use super::transaction::undo::UndoBuffer;
use crate::log::{Appender, Lsn};
use crate::partitioned::log_records::record_buffer::RecordBuffer;
use crate::partitioned::storage::any_table::AnyTable;
use crate::partitioned::storage::table::Table;
use crate::record::Record;

/// Buffers that a transaction fills and its end empties.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) undo: UndoBuffer,
    pub(crate) record: RecordBuffer,
    /// The partition's right to append to the log; `None` without a log.
    pub(super) appender: Option<Appender>,
    /// Where the declared rows are.
    pub(crate) lookups: Lookups,
}

pub(crate) struct Partition {
    /// By [`TableId`](crate::record::TableId); `None` for records that this database's catalog does not name.
    pub(crate) tables: Vec<Option<Box<dyn AnyTable>>>,
    /// End of the last log record that changed this partition: what a reader of it must wait for.
    pub(crate) last: Lsn,
    /// Gives each transaction its own random numbers.
    pub(crate) seed: u64,
}

impl Partition {
    pub(crate) fn new(tables: Vec<Option<Box<dyn AnyTable>>>, seed: u64) -> Self {
        Self { tables, last: Lsn::NONE, seed }
    }

    /// The table of a record.
    ///
    /// # Panics
    /// When the database's catalog does not name it.
    #[inline(always)]
    pub(crate) fn table<R: Record>(&mut self) -> &mut Table<R> {
        match self.tables.get_mut(R::table_id().get()) {
            // SAFETY: the place of a record's id holds a Table of just that record: `TableKind::of` makes both from one
            // type.
            Some(Some(table)) => unsafe { &mut *(&raw mut **table).cast::<Table<R>>() },
            _ => unknown_table(R::TABLE),
        }
    }
}

#[cold]
fn unknown_table(table: &str) -> ! {
    panic!("table `{table}` is not in this database's catalog: add `.table::<...>()` for its record where it is opened")
}
