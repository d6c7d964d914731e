//! What a session keeps from one transaction to the next.

use std::sync::Arc;

use super::lock::Locks;
use super::row_buffer::RowBuffer;
use super::stack::Stack;
use super::tree::Fingers;
use super::wal::forms::Logs;
use super::wal::transaction::TransactionLog;
use crate::executed::SharedCounters;

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
}
