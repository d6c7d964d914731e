//! The appender: a slot of the ring, used by one thread at a time.

use std::sync::Arc;

use super::error::LogError;
use super::flush::LogState;
use super::format::framed;
use super::lsn::Lsn;
use super::order::{Purpose, RingSlot};

/// Appends records. Each appender has its own slot in the ring. An append needs `&mut`, so one thread uses the slot at
/// a time. Dropping the appender releases the slot.
pub(crate) struct Appender {
    shared: Arc<LogState>,
    slot: RingSlot,
}

impl Appender {
    pub(super) fn new(shared: Arc<LogState>) -> Result<Self, LogError> {
        match shared.ring.order().take_slot() {
            Some(slot) => Ok(Self { shared, slot }),
            None => Err(LogError::NoAppender(shared.config.appenders)),
        }
    }

    /// Appends a record and returns the position after it; the record is durable once `durable()` is at least that.
    /// Records of one appender are in the order of its calls; those of several, in the order of their LSNs.
    ///
    /// Neither locks nor allocates. It waits for a force only if the ring is full or the room on the disk is used up.
    /// Fails, and appends nothing, when the record is too large, the disk has no room for it, or the log is poisoned or
    /// closed.
    #[inline]
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<Lsn, LogError> {
        self.append_for(record, Purpose::Change)
    }

    /// As [`Appender::append`], for a record that rolls back earlier ones or ends their transaction: it may use the
    /// room reserved for rollback.
    #[inline]
    pub(crate) fn append_undo(&mut self, record: &[u8]) -> Result<Lsn, LogError> {
        self.append_for(record, Purpose::Undo)
    }

    /// Sets how many bytes a rollback of this appender's records would append; this much room stays reserved.
    #[inline]
    pub(crate) fn set_undo_bytes(&mut self, bytes: u64) {
        self.shared.ring.order().set_undo_bytes(&mut self.slot, bytes);
    }

    #[inline(always)]
    fn append_for(&mut self, record: &[u8], purpose: Purpose) -> Result<Lsn, LogError> {
        let shared = &*self.shared;
        if record.len() > shared.max_record_bytes {
            return Err(LogError::TooLarge { bytes: record.len(), most: shared.max_record_bytes });
        }
        shared.open_for_appending()?;
        let raise_limit = || shared.raise_limit(framed(record.len()) as u64, purpose);
        let end = shared.ring.append(&mut self.slot, record, purpose, raise_limit, |tail| {
            shared.count_full();
            shared.reach(tail, false)
        })?;
        Ok(Lsn(end))
    }

    /// The end of the last record of all appenders. Its bytes may not be copied yet.
    #[inline]
    pub(crate) fn appended(&self) -> Lsn {
        Lsn(self.shared.ring.head())
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.shared.ring.order().give_back(&mut self.slot);
    }
}
