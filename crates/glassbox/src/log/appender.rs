//! The right to append, held by one thread at a time.

use std::sync::Arc;

use super::error::LogError;
use super::flush::Shared;
use super::lsn::Lsn;
use super::order::RingSlot;

/// Appends records. Each has a slot of its own in the ring, so appending needs `&mut`: that is what makes it certain
/// that one thread uses the slot at a time. Dropping it gives the slot back.
pub(crate) struct Appender {
    shared: Arc<Shared>,
    slot: RingSlot,
}

impl Appender {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self, LogError> {
        match shared.ring.order().take_slot() {
            Some(slot) => Ok(Self { shared, slot }),
            None => Err(LogError::NoAppender(shared.config.appenders)),
        }
    }

    /// Appends a record and returns the position behind it: it is durable once `durable()` is at least that. Records of
    /// one appender are in the order of its calls; those of several, in the order of their LSNs.
    ///
    /// Neither locks nor allocates. Only when the ring is full does it wait, for a force. Fails when the record is too
    /// large, the log is poisoned or closed; then nothing was appended.
    #[inline]
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<Lsn, LogError> {
        let shared = &*self.shared;
        if record.len() > shared.most_record_bytes {
            return Err(LogError::TooLarge { bytes: record.len(), most: shared.most_record_bytes });
        }
        shared.open_for_appending()?;
        let end = shared.ring.append(&mut self.slot, record, |tail| {
            shared.count_full();
            shared.reach(tail, false)
        })?;
        Ok(Lsn(end))
    }

    /// The end of the last record given a place, by whatever appender. It may still be being copied.
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
