//! The right to append, held by one thread at a time.

use std::sync::Arc;

use super::error::LogError;
use super::flush::Shared;
use super::format::framed;
use super::lsn::Lsn;
use super::order::{Purpose, RingSlot};

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
    /// Neither locks nor allocates. Only when the ring is full, or the room on the disk is used up, does it wait, for a
    /// force. Fails when the record is too large, the disk has no room for it, the log is poisoned or closed; then
    /// nothing was appended.
    #[inline]
    pub(crate) fn append(&mut self, record: &[u8]) -> Result<Lsn, LogError> {
        self.append_for(record, Purpose::Change)
    }

    /// As [`Appender::append`], for a record that rolls back or ends what is in the log already: it may use the room
    /// that is kept for this.
    #[inline]
    pub(crate) fn append_undo(&mut self, record: &[u8]) -> Result<Lsn, LogError> {
        self.append_for(record, Purpose::Undo)
    }

    /// Says how many bytes rolling back would append, of what was appended here: for so many, room is kept.
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
