//! Where a transaction comes from: the call of a stored procedure, which names its keys and can be logged; or code that
//! can do neither.

use super::held::Held;
use super::lookups::Lookups;
use super::prefetch::prefetch;
use super::transaction::PartitionedTransaction;
use crate::config::LogKind;
use crate::executed::RunningCall;
use crate::partitioned::log_records::command::{CommandHead, digest_of_changes, write_command};
use crate::partitioned::log_records::record_buffer::RecordTooLarge;
use crate::procedure::{Procedure, Stop};
use crate::record::Timestamp;

/// A transaction's body.
pub(super) type AnyBody<'r> = dyn FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send + 'r;

/// The origin of a transaction: all that the engine has to know besides its body. Paths that are seldom taken, or wait,
/// have a `dyn` of both: so they are compiled once, not for each procedure.
pub(super) trait Origin {
    /// Whether it is a transaction: its runs are counted and logged.
    fn is_counted(&self) -> bool {
        true
    }
    /// The procedure's name, for messages.
    fn name(&self) -> &'static str;
    /// The code of its run in [`RunningCall`].
    fn code(&self) -> u32 {
        RunningCall::UNNAMED
    }
    /// Prefetches the keys that are known beforehand; earlier lookups are gone.
    fn prefetch(&self, lookups: &mut Lookups, _held: &mut Held<'_>) {
        lookups.ready(0);
    }
    /// Whether the changes that are collected while it runs are its record, for this kind of log.
    fn values(&self, log: Option<LogKind>) -> bool;
    /// Writes the record of the call, in place of the changes, if they were collected while it ran; with their digest.
    fn write_command(
        &self,
        transaction: &mut PartitionedTransaction<'_>,
        max_bytes: usize,
    ) -> Result<(), RecordTooLarge>;
}

impl Origin for &dyn Origin {
    fn is_counted(&self) -> bool {
        (**self).is_counted()
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn code(&self) -> u32 {
        (**self).code()
    }

    fn prefetch(&self, lookups: &mut Lookups, held: &mut Held<'_>) {
        (**self).prefetch(lookups, held);
    }

    fn values(&self, log: Option<LogKind>) -> bool {
        (**self).values(log)
    }

    fn write_command(
        &self,
        transaction: &mut PartitionedTransaction<'_>,
        max_bytes: usize,
    ) -> Result<(), RecordTooLarge> {
        (**self).write_command(transaction, max_bytes)
    }
}

/// A stored procedure's call: logged by value or by command, as the log is.
pub(super) struct ProcedureCall<'a, P> {
    pub(super) procedure: &'a P,
    pub(super) number: u16,
}

impl<P: Procedure> Origin for ProcedureCall<'_, P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    #[inline(always)]
    fn code(&self) -> u32 {
        RunningCall::procedure(self.number)
    }

    #[inline(always)]
    fn prefetch(&self, lookups: &mut Lookups, held: &mut Held<'_>) {
        prefetch(lookups, held, self.procedure);
    }

    #[inline(always)]
    fn values(&self, log: Option<LogKind>) -> bool {
        log == Some(LogKind::Values)
    }

    #[inline(always)]
    fn write_command(
        &self,
        transaction: &mut PartitionedTransaction<'_>,
        max_bytes: usize,
    ) -> Result<(), RecordTooLarge> {
        let now = transaction.now.unwrap_or(Timestamp::from_micros(0));
        let collected = transaction.changes.values;
        let record = &mut transaction.changes.scratch.record;
        let digest = collected.then(|| digest_of_changes(record.as_slice()));
        let head = CommandHead { procedure: self.number, now, seed: transaction.seed, digest };
        write_command(head, self.procedure, record, max_bytes)
    }
}

/// Code that the log cannot name.
pub(super) struct AdHoc;

impl Origin for AdHoc {
    fn name(&self) -> &'static str {
        "a closure"
    }

    fn values(&self, log: Option<LogKind>) -> bool {
        log.is_some()
    }

    fn write_command(
        &self,
        _transaction: &mut PartitionedTransaction<'_>,
        _max_bytes: usize,
    ) -> Result<(), RecordTooLarge> {
        unreachable!("its changes are its record");
    }
}
