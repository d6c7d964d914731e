//! A partition: its tables, and what the one who holds its token needs at hand.

use std::cell::UnsafeCell;

use super::any_table::AnyTable;
use super::lookups::Lookups;
use super::record_buffer::RecordBuffer;
use super::table::Table;
use super::token::Token;
use super::undo::UndoBuffer;
use crate::executed::SharedCounters;
use crate::log::Lsn;
use crate::record::Record;

/// A partition and its token. The data may be touched only by the holder.
pub(crate) struct Cell {
    pub(crate) token: Token,
    /// Of the transactions whose home this is: added to by the holder of the token, read by any thread.
    pub(crate) counters: SharedCounters,
    partition: UnsafeCell<Partition>,
    scratch: UnsafeCell<Scratch>,
}

// SAFETY: partition and scratch are reached only through the unsafe methods below, whose caller holds the token; both
// may move between threads (`Partition: Send`, `Scratch: Send`, asserted below).
unsafe impl Sync for Cell {}
const fn assert_send<T: Send>() {}
const _: () = assert_send::<Partition>();
const _: () = assert_send::<Scratch>();

impl Cell {
    pub(crate) fn new(partition: Partition) -> Self {
        Self {
            token: Token::default(),
            counters: SharedCounters::default(),
            partition: UnsafeCell::new(partition),
            scratch: UnsafeCell::new(Scratch::default()),
        }
    }

    /// The partition's data.
    #[inline(always)]
    pub(crate) fn partition(&self) -> *mut Partition {
        self.partition.get()
    }

    /// Buffers of the transaction that runs with this partition as its home.
    #[inline(always)]
    pub(crate) fn scratch(&self) -> *mut Scratch {
        self.scratch.get()
    }

    /// For the only user, before others know of it or after they are gone.
    pub(crate) fn get_mut(&mut self) -> &mut Partition {
        self.partition.get_mut()
    }
}

/// Buffers that a transaction fills and its end empties.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) undo: UndoBuffer,
    pub(crate) record: RecordBuffer,
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
