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
//! appender sets how many bytes its rollback would append, in the worst case with a block for each record. Changes have
//! a lower limit: a part of the room beyond those bytes (see [`SHARE`]). Records that roll back or end a transaction,
//! and those of a checkpoint, may use all of the room.
//!
//! *Where the blocks in flight would need all the room*, because appenders are many and segments small, or the segment
//! is nearly used up, records are admitted one at a time: each is flushed before the next gets its position, so no
//! block but its own is in flight. A change is admitted then if the files have room for it, for its rollback, and for
//! the rollbacks of all active transactions. This needs no relation between the number of appenders and the size of
//! segments, so every configuration keeps the room of its rollbacks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::LogError;
use super::flush::{ANY_FLUSH, LogState};
use super::format::{BLOCK_HEADER_BYTES, SECTOR_BYTES, block_bytes, framed};
use super::order::Purpose;
use super::writer::{MAX_BLOCK_BYTES, Writer};
use crate::io::{Clock, IoError, RealClock};

/// Maximum bytes of a block beyond its records: its header, and the rest of its last sector.
pub(crate) const BLOCK_COST: u64 = BLOCK_HEADER_BYTES as u64 + SECTOR_BYTES;

/// The part of the room that changes in flight may take, as a divisor: each needs its own length, and its rollback up
/// to twice that if the records of a rollback share blocks; where the disk is known to be full, as many bytes as a
/// rollback of the smallest records takes in blocks of their own.
const SHARE: u64 = 3;
const SHARE_WHEN_FULL: u64 = 18;

/// Room reserved for the records of a checkpoint, which frees segments.
const CHECKPOINT_BYTES: u64 = 8 << 10;

/// Attempts to make a spare.
#[derive(Default)]
pub(super) struct SpareAttempts {
    /// The last failure to make a spare, and the time before which no other attempt is made.
    failed: Mutex<Option<(u64, Arc<IoError>)>>,
    /// Whether the last attempt failed.
    is_failing: AtomicBool,
    clock: RealClock,
}

impl LogState {
    /// Sets the limits by the room that the files have now. The caller is the flusher.
    pub fn set_limits(&self, writer: &Writer) {
        let usable = self.usable(writer);
        let blocks = self.config.appenders as u64 + 2 + usable / (MAX_BLOCK_BYTES / 2);
        let room = usable.saturating_sub(blocks * BLOCK_COST);
        let (order, tail) = (self.ring.order(), self.ring.tail());
        let share = if self.attempts.is_failing.load(Ordering::Relaxed) { SHARE_WHEN_FULL } else { SHARE };
        let changes = match self.config.undo_room {
            true => room.saturating_sub(CHECKPOINT_BYTES + order.undo_bytes()) / share,
            false => room,
        };
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
            self.check_process()?;
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
                let rollback = 2 * size + 3 * BLOCK_COST + CHECKPOINT_BYTES + order.undo_bytes();
                let needed = if rolls_back { alone + rollback } else { alone };
                let usable = self.usable(&writer);
                if needed > usable {
                    return Err(LogError::NoRoom { cause });
                }
                // No record is in flight, so a change gets a block for itself, and the records of a rollback one block
                // together: a flush in between computes the limits from the room that is left.
                let (change, undo) = match purpose {
                    Purpose::Change => (head + size, head + size),
                    Purpose::Undo => {
                        let together = usable.saturating_sub(BLOCK_COST).min(MAX_BLOCK_BYTES / 2).max(size);
                        (order.limit(Purpose::Change), head + together)
                    }
                };
                order.set_limits(change, order.limit(Purpose::Undo).max(undo));
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
        self.attempts.is_failing.store(made.is_err(), Ordering::Relaxed);
        *failed = made.as_ref().err().map(|cause| {
            let now = self.attempts.clock.monotonic_ns();
            (now + (now - begun), Arc::clone(cause))
        });
        made
    }
}
