//! Room on the disk for every appended record.
//!
//! Problem: a record in the ring belongs to a transaction whose changes other transactions may have read. If the disk
//! turns out to be full when the ring is flushed, the transaction can neither be made durable nor rolled back, and the
//! log has to stop. So an append gets positions only below a *limit*, and below the limit the existing files (the rest
//! of the segment being written, and the spares) have room. A transaction that would pass the limit is refused before
//! its record is in the log: it rolls back, reads continue, and the next attempt to make a spare may succeed.
//!
//! *Why the room below the limit suffices.* A block costs up to [`BLOCK_COST`] more than the records in it. A flush
//! writes everything complete, up to `MAX_BLOCK_BYTES`. So while appends stop at the limit, each further block except
//! the last is large or ends at a record that is being copied. The records in flight therefore need at most one block
//! for each appender, one for each half of `MAX_BLOCK_BYTES`, and two more: that cost is subtracted. A record that does
//! not fit the rest of a segment wastes less than its own length there.
//!
//! *A rollback needs room too.* In a log whose transactions append while they run (`LogConfig::undo_room`) each
//! appender sets how many bytes its rollback would append. Changes have a lower limit: a third of the room beyond those
//! bytes, since a change needs its own length, and its rollback up to twice that. Records that roll back or end a
//! transaction, and those of a checkpoint, may use all of the room.

use std::sync::PoisonError;
use std::sync::{Arc, Mutex};

use super::error::LogError;
use super::flush::{ANY_FLUSH, LogState};
use super::format::{BLOCK_HEADER_BYTES, SECTOR_BYTES, block_bytes, framed};
use super::order::Purpose;
use super::writer::{MAX_BLOCK_BYTES, Writer};
use crate::io::{Clock, IoError, RealClock};

/// Maximum bytes of a block beyond its records: its header, and the rest of its last sector.
const BLOCK_COST: u64 = BLOCK_HEADER_BYTES as u64 + SECTOR_BYTES;

/// Room reserved for the records of a checkpoint, which frees segments.
const CHECKPOINT_BYTES: u64 = 8 << 10;

/// Attempts to make a spare.
#[derive(Default)]
pub(super) struct SpareAttempts {
    /// The last failure to make a spare, and the time before which no other attempt is made.
    failed: Mutex<Option<(u64, Arc<IoError>)>>,
    clock: RealClock,
}

impl LogState {
    /// Sets the limits by the room that the files have now. The caller is the flusher.
    pub fn set_limits(&self, writer: &Writer) {
        let usable = self.usable(writer);
        let blocks = self.config.appenders as u64 + 2 + usable / (MAX_BLOCK_BYTES / 2);
        let room = usable.saturating_sub(blocks * BLOCK_COST);
        let (order, tail) = (self.ring.order(), self.ring.tail());
        let changes =
            if self.config.undo_room { room.saturating_sub(CHECKPOINT_BYTES + order.undo_bytes()) / 3 } else { room };
        order.set_limits(tail + changes, tail + room);
        order.set_scarce(room < self.segments.segment_bytes() / 2);
    }

    /// Bytes of blocks for which the rest of the segment and the spares have room, for any lengths of records.
    fn usable(&self, writer: &Writer) -> u64 {
        let rest = writer.rest();
        let Some(more) = (self.segments.spares() as u64).checked_sub(1) else { return rest };
        let segment = self.segments.segment_bytes() - 2 * SECTOR_BYTES;
        let largest = block_bytes(framed(self.max_record_bytes) as u64);
        // Only half of each further spare counts, because records may be as long as half a segment.
        segment.max((rest + segment).saturating_sub(largest)) + more * (segment - largest.min(segment / 2))
    }

    /// Returns when another attempt of an append of `size` positions, which was beyond the limit, is worthwhile: after
    /// the records in flight were flushed, or a spare was made.
    ///
    /// # Errors
    /// When the log has failed, or there is no room for the record.
    #[cold]
    pub fn raise_limit(&self, size: u64, purpose: Purpose) -> Result<(), LogError> {
        loop {
            self.healthy()?;
            let Some(role) = self.role_or_sleep(ANY_FLUSH) else { continue };
            let (order, head) = (self.ring.order(), self.ring.head());
            let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            self.set_limits(&writer);
            if head + size <= order.limit(purpose) {
                return Ok(());
            }
            let Err(cause) = self.make_spare() else { continue };
            if head == self.ring.tail() {
                let alone = block_bytes(size);
                let rolls_back = purpose == Purpose::Change && self.config.undo_room;
                let needed = if rolls_back { 3 * alone + CHECKPOINT_BYTES + order.undo_bytes() } else { alone };
                if needed > self.usable(&writer) {
                    return Err(LogError::NoRoom { cause });
                }
            self.check_process()?;
                // No record is in flight, so this one gets a block for itself.
                let change = if purpose == Purpose::Change { head + size } else { order.limit(Purpose::Change) };
                order.set_limits(change, order.limit(Purpose::Undo).max(head + size));
                return Ok(());
            }
            drop(writer);
            let moved = self.flush(&role);
            drop(role);
            if !moved {
                // An earlier record is still being copied.
                std::thread::yield_now();
            }
        }
    }

    /// Makes one more spare. After a failed attempt there is a pause as long as the attempt: on a nearly full disk, an
    /// attempt writes until the disk is full.
    fn make_spare(&self) -> Result<(), Arc<IoError>> {
        let mut failed = self.attempts.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = self.attempts.clock.monotonic_ns();
        if let Some((until, cause)) = &*failed
            && begun < *until
        {
            return Err(Arc::clone(cause));
        }
        let made = self.segments.prepare_another().map_err(Arc::new);
        *failed = made.as_ref().err().map(|cause| {
            let now = self.attempts.clock.monotonic_ns();
            (now + (now - begun), Arc::clone(cause))
        });
        made
    }
}
