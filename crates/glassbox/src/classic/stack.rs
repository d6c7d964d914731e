//! A stack: the components of a conventional engine, bundled.
//!
//! Each component is a type that can be taken out: beside its working form it has one that does less, or nothing, takes
//! no room, and leaves no trace in the program. The caller that runs an engine names its stack, and everything below is
//! compiled for it. A database runs on [`Standard`]; which others have names says [`stacks`](crate::research::stacks).
//!
//! What must not be is no type. Without latches or without locks there is nothing to keep threads apart, so these forms
//! are not [`Sync`], and neither is an engine of theirs. Records cannot be left out before the disk, nor LSNs before
//! records: they are three steps of one component, which has no form between.
//!
//! A [`Session`] is the state that is kept from one transaction to the next.

use std::sync::Arc;

use super::buffer::{BackgroundWriter, BufferPool, NoWriteAhead, PoolConfig, Resident, WriteAhead};
use super::directory::{Directory, HeldEntry};
use super::ids::StoreId;
use super::latch::{Latch, ReadWriteLatch};
use super::lock::{LockConfig, LockGranularity, LockManager, Locks, NoLocks};
use super::page::is_page_size;
use super::row_buffer::RowBuffer;
use super::tree::{Fingers, IntegerKeys, KeyPart, Keys, SchemaKeys};
use super::two_stage::{Pins, StageCounts};
use super::wal::forms::{Discarded, Logs, NoLog, Wal};
use super::wal::transaction::TransactionLog;
use crate::classic::engine::log_ahead::LogAhead;
use crate::classic::engine::sessions::{OneSession, SessionPool, Sessions};
use crate::classic::page::pages::Pages;
use crate::error::Error;
use crate::executed::SharedCounters;
use crate::io::{Clock, Files};
use crate::log::Log;

/// The components that an engine is made of.
pub(crate) trait Stack: Sized + 'static {
    /// How keys are compared.
    type Keys: TableKeys;
    /// Where log records go.
    type Logs: StackLogs;
    /// What keeps transactions from each other's records.
    type Locks: StackLocks;
    /// What keeps threads from each other's bytes.
    type Latch: Latch;
    /// How a store is found at each access.
    type Directory: Directory;
    /// Where pages are.
    type Pages: PageStore<AheadOf<Self>>;
    /// Who may run a transaction.
    type Sessions: StackSessions<Session = Session<Self>>;
    /// Whether transactions may have two stages; only where pages are in a pool with latches.
    const TWO_STAGE: bool = false;
    /// Bytes of a page, of an engine that is made for this stack.
    const PAGE_BYTES: usize = 8 << 10;
}

/// What the stack's pages wait for before they are written.
pub(crate) type AheadOf<S> = <<S as Stack>::Logs as StackLogs>::Ahead;
/// The background writer of the stack's pages.
pub(crate) type WriterOf<S> = <<S as Stack>::Pages as PageStore<AheadOf<S>>>::Writer;

/// The stack of a database: everything in its working form, and of those that only differ in speed the quicker ones.
pub(crate) enum Standard {}

impl Stack for Standard {
    type Keys = IntegerKeys;
    type Logs = Wal;
    type Locks = LockManager;
    type Latch = ReadWriteLatch;
    type Directory = HeldEntry;
    type Pages = Arc<BufferPool<ReadWriteLatch, LogAhead>>;
    type Sessions = SessionPool<Session<Standard>>;
    const TWO_STAGE: bool = true;
}

/// A way of comparing keys, made from what is known of the key's columns.
pub(crate) trait TableKeys: Keys {
    /// For keys of these columns.
    fn of(parts: &[KeyPart]) -> Self;
}

impl TableKeys for SchemaKeys {
    fn of(parts: &[KeyPart]) -> Self {
        Self::new(parts)
    }
}

impl TableKeys for IntegerKeys {
    fn of(parts: &[KeyPart]) -> Self {
        Self::new(SchemaKeys::new(parts).width())
    }
}

/// A form of the log that a stack can be made with.
pub(crate) trait StackLogs: Logs + Sized {
    /// What pages wait for before they are written.
    type Ahead: WriteAhead;
    /// Whether there are files.
    const ON_DISK: bool;

    /// The log; `open` opens it, if this form has one.
    ///
    /// # Errors
    /// Those of `open`.
    fn open(open: impl FnOnce() -> Result<Log, Error>) -> Result<Self, Error>;

    /// The log as pages see it.
    fn ahead(&self, files: &Arc<dyn Files>) -> Self::Ahead;
}

impl StackLogs for Wal {
    type Ahead = LogAhead;
    const ON_DISK: bool = true;

    fn open(open: impl FnOnce() -> Result<Log, Error>) -> Result<Self, Error> {
        Ok(Self(Arc::new(open()?)))
    }

    fn ahead(&self, files: &Arc<dyn Files>) -> LogAhead {
        LogAhead::of(Arc::clone(files), Arc::clone(&self.0))
    }
}

macro_rules! without_disk {
    ($form:ty $(, $stamped:ident)?) => {
        impl $(<const $stamped: bool>)? StackLogs for $form {
            type Ahead = NoWriteAhead;
            const ON_DISK: bool = false;

            fn open(_: impl FnOnce() -> Result<Log, Error>) -> Result<Self, Error> {
                Ok(Self::default())
            }

            fn ahead(&self, _: &Arc<dyn Files>) -> NoWriteAhead {
                NoWriteAhead
            }
        }
    };
}

without_disk!(Discarded);
without_disk!(NoLog<STAMPED>, STAMPED);

/// A form of locking that a stack can be made with.
pub(crate) trait StackLocks: Locks {
    /// Whether transactions run one after the other, so that none is ever rolled back because of another.
    const ALONE: bool;

    /// With these settings, if it has any.
    fn make(config: LockConfig, clock: &Arc<dyn Clock>) -> Self;

    /// Says what is locked in a store from now on.
    fn set_granularity(&self, store: StoreId, granularity: LockGranularity);
}

impl StackLocks for LockManager {
    const ALONE: bool = false;

    fn make(config: LockConfig, clock: &Arc<dyn Clock>) -> Self {
        Self::new(config, Arc::clone(clock))
    }

    fn set_granularity(&self, store: StoreId, granularity: LockGranularity) {
        Self::set_granularity(self, store, granularity);
    }
}

impl StackLocks for NoLocks {
    const ALONE: bool = true;

    fn make(_: LockConfig, _: &Arc<dyn Clock>) -> Self {
        Self::default()
    }

    fn set_granularity(&self, _: StoreId, _: LockGranularity) {}
}

/// A form of page access that a stack can be made with. `A`: what pages wait for before they are written.
pub(crate) trait PageStore<A>: Pages + Clone {
    /// A thread that writes pages before their frames are needed, if there is one.
    type Writer: Default;

    /// Room for so many pages of so many bytes, and an empty file for them if they have one.
    ///
    /// # Errors
    /// When there is not so much memory, or the file cannot be made.
    fn make(files: &dyn Files, page_bytes: usize, pages: usize, ahead: A) -> Result<Self, Error>;
}

/// Pages are in a file and come to memory when they are needed.
pub(crate) type Pool<L, A> = Arc<BufferPool<L, A>>;
/// All pages are in memory; nothing is waited for.
pub(crate) type InMemory<L, A> = <(L, A) as InMemoryOf>::Pages;

/// So that both forms are named alike.
pub(crate) trait InMemoryOf {
    /// See [`InMemory`].
    type Pages;
}

impl<L, A> InMemoryOf for (L, A) {
    type Pages = Arc<Resident<L>>;
}

impl<L: Latch, A: WriteAhead> PageStore<A> for Pool<L, A> {
    type Writer = Option<BackgroundWriter>;

    fn make(files: &dyn Files, page_bytes: usize, frames: usize, ahead: A) -> Result<Self, Error> {
        let config = PoolConfig { page_bytes, frames, ..PoolConfig::default() };
        Ok(Self::new(BufferPool::create(files, &config, ahead)?))
    }
}

impl<L: Latch, A> PageStore<A> for Arc<Resident<L>> {
    type Writer = ();

    fn make(_: &dyn Files, page_bytes: usize, pages: usize, _: A) -> Result<Self, Error> {
        Ok(Self::new(Resident::new(page_bytes, pages)?))
    }
}

/// A form of sessions that a stack can be made with.
pub(crate) trait StackSessions: Sessions + Sized {
    /// How many there are, if so many are wished for.
    fn count(wished: usize) -> usize;

    /// Of these, as many as [`StackSessions::count`] says.
    fn of(sessions: Vec<Self::Session>) -> Self;
}

impl<T> StackSessions for SessionPool<T> {
    fn count(wished: usize) -> usize {
        wished
    }

    fn of(sessions: Vec<T>) -> Self {
        Self::new(sessions)
    }
}

impl<T> StackSessions for OneSession<T> {
    fn count(_: usize) -> usize {
        1
    }

    fn of(mut sessions: Vec<T>) -> Self {
        Self::new(sessions.pop().expect("one session"))
    }
}

/// The conditions that every stack must meet.
pub(crate) const fn check<S: Stack>() {
    assert!(is_page_size(S::PAGE_BYTES), "a stack's pages have 4, 8, 16 or 32 KiB");
}

/// The journal, the locks and the buffers of the transaction that runs in this session.
pub(crate) struct Session<S: Stack> {
    pub(super) journal: TransactionLog<<S::Logs as Logs>::Device>,
    pub(super) owner: <S::Locks as Locks>::Owner,
    /// The row that the procedure was given last.
    pub(super) row: RowBuffer,
    /// Where it inserted keys last.
    pub(super) fingers: Fingers,
    /// A row in its stored form.
    pub(super) stored: Vec<u8>,
    /// Gives each transaction its own random numbers.
    pub(super) seed: u64,
    pub(super) counters: Arc<SharedCounters>,
    /// Pages that the transaction keeps in memory.
    pub(super) pins: Pins,
    /// By the position of the procedure.
    pub(super) stage_counts: Arc<[StageCounts]>,
}
