//! A stack: the components of a conventional engine, bundled.
//!
//! Each component is a type that can be taken out: beside its working form it has one that does nothing, takes no room,
//! and leaves no trace in the program. Whoever runs an engine names its stack, and everything below is compiled for it.

use std::sync::Arc;

use super::buffer::BufferPool;
use super::latch::{Latch, ReadWriteLatch};
use super::lock::{LockManager, Locks};
use super::log_ahead::LogAhead;
use super::pages::Pages;
use super::session::Session;
use super::sessions::{SessionPool, Sessions};
use super::tree::{IntegerKeys, KeyPart, Keys, SchemaKeys};
use super::wal::forms::{Logs, Wal};

/// The components that an engine is made of.
pub(crate) trait Stack: Sized + 'static {
    /// How keys are compared.
    type Keys: TableKeys;
    /// Where log records go.
    type Logs: Logs;
    /// What keeps transactions from each other's records.
    type Locks: Locks;
    /// What keeps threads from each other's bytes.
    type Latch: Latch;
    /// Where pages are.
    type Pages: Pages;
    /// Who may run a transaction.
    type Sessions: Sessions<Session = Session<Self>>;
}

/// Everything in its working form; keys are compared as integers.
pub(crate) enum Full {}

impl Stack for Full {
    type Keys = IntegerKeys;
    type Logs = Wal;
    type Locks = LockManager;
    type Latch = ReadWriteLatch;
    type Pages = Arc<BufferPool<ReadWriteLatch, LogAhead>>;
    type Sessions = SessionPool<Session<Full>>;
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
