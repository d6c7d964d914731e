//! The log's interface for the engines.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::{LogConfig, LogStats};
use super::error::LogError;
use super::flush::LogState;
use super::format::{SECTOR_BYTES, framed};
use super::look::LogFound;
use super::lsn::Lsn;
use super::order::{Purpose, RingSlot};
use super::reader::LogScan;
use super::segments::{DIRECTORY, Named, Segments, parse_name};
use super::threads::{Threads, Work};
use super::writer::Writer;
use crate::io::{Files, IoError};

/// An open log. Dropping it without [`Log::close`] is like a crash: only unforced records may be lost.
pub(crate) struct Log {
    shared: Arc<LogState>,
    threads: Mutex<Threads>,
}

impl Log {
    /// Creates a log that begins at `start` (a multiple of 8). Fails if there is one already. After a crash during
    /// creation there is either an empty log or none.
    pub(crate) fn create(
        files: Arc<dyn Files>,
        database_id: u128,
        config: LogConfig,
        start: Lsn,
    ) -> Result<Log, LogError> {
        config.check()?;
        if !start.can_begin() || !start.can_append() {
            let possible = "a multiple of 8 below 2^61".to_owned();
            return Err(LogError::BadConfig { setting: "the first position of a log", value: start.0, possible });
        }
        files.create_directory(DIRECTORY)?;
        if let Some(file) = files.list(DIRECTORY)?.into_iter().find(|n| matches!(parse_name(n), Named::Segment(_))) {
            return Err(LogError::Exists { file });
        }
        let segments = Segments::new(files, database_id, config.segment_bytes, config.spare_segments);
        segments.adopt(&[], &[])?;
        let epoch = 1;
        let (file, _) = segments.begin(start, epoch)?;
        let (offset, segment_bytes) = (SECTOR_BYTES, config.segment_bytes);
        let writer = Writer { file, offset, segment_bytes, database_id, epoch, generation: 0 };
        Log::start(config, segments, writer, start)
    }

    /// Opens a log for appends, after [`look_into_log`](super::look_into_log) has read it: forces the segments read,
    /// cuts off a torn end, makes spares of empty files. Repeatable: after a crash meanwhile, another opening gives the
    /// same records.
    pub(crate) fn open(files: Arc<dyn Files>, config: LogConfig, LogFound(found): LogFound) -> Result<Log, LogError> {
        config.check()?;
        // After a crash of the process alone, the bytes read may be only in the system's cache. New records depend on
        // them, so they are forced first, oldest segment first.
        found.force(&*files)?;
        let segments = Segments::new(files, found.database_id(), config.segment_bytes, config.spare_segments);
        let segments = segments.keep_all(config.undo_room);
        segments.adopt(&found.chain, &found.empty)?;
        let end = found.end;
        Log::start(config, segments, found.into_writer(), end)
    }

    fn start(config: LogConfig, segments: Segments, writer: Writer, end: Lsn) -> Result<Log, LogError> {
        let shared = Arc::new(LogState::new(config, segments, writer, end));
        shared.set_limits(&shared.writer.lock().unwrap_or_else(PoisonError::into_inner));
        let threads = Mutex::new(Threads::start(&shared)?);
        Ok(Log { shared, threads })
    }

    /// An appender; at most `LogConfig::appenders` exist at a time.
    pub(crate) fn appender(&self) -> Result<Appender, LogError> {
        Appender::new(self.shared.clone())
    }

    /// Everything up to here survives a crash.
    #[inline]
    pub(crate) fn durable(&self) -> Lsn {
        Lsn(self.shared.ring.tail())
    }

    /// The end of the last record with a position. Its bytes may not be copied yet.
    #[inline]
    pub(crate) fn appended(&self) -> Lsn {
        Lsn(self.shared.ring.head())
    }

    /// Returns when everything up to `lsn` is durable; forces it if no other thread does. At once if the log is
    /// configured not to wait. Fails when the log is poisoned.
    ///
    /// # Panics
    /// When `lsn` was never appended.
    #[inline]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), LogError> {
        if self.shared.config.force && lsn <= self.durable() { Ok(()) } else { self.wait_for(lsn) }
    }

    #[inline(never)]
    fn wait_for(&self, lsn: Lsn) -> Result<(), LogError> {
        assert!(lsn <= self.appended(), "waiting for {lsn}, which was never appended");
        if self.shared.config.force { self.shared.reach(lsn.0, true) } else { self.shared.healthy() }
    }

    /// Returns when everything appended before the call is durable, whatever the configuration says.
    pub(crate) fn force(&self) -> Result<(), LogError> {
        self.shared.reach(self.shared.ring.head(), false)
    }

    /// Returns when everything up to `lsn` is durable, whatever the configuration says.
    ///
    /// # Panics
    /// When `lsn` was never appended.
    pub(crate) fn force_up_to(&self, lsn: Lsn) -> Result<(), LogError> {
        assert!(lsn <= self.appended(), "forcing up to {lsn}, which was never appended");
        self.shared.reach(lsn.0, false)
    }

    /// Wakes the log thread if it sleeps, so that appended records are forced soon although no caller waits.
    #[inline]
    pub(crate) fn nudge(&self) {
        self.shared.nudge();
    }

    /// Maximum bytes of a record.
    #[inline]
    pub(crate) fn max_record_bytes(&self) -> usize {
        self.shared.max_record_bytes
    }

    /// Whether the disk is nearly full, so that an append may be refused and its transaction must be able to roll back.
    #[inline]
    pub(crate) fn is_room_scarce(&self) -> bool {
        self.shared.ring.order().is_scarce()
    }

    /// Fails when the log is poisoned.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.shared.healthy()
    }

    /// The generation in the blocks that are written now.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.writer().generation
    }

    /// Sets the generation of the blocks written from now on.
    pub(crate) fn set_generation(&self, generation: u64) {
        self.shared.writer().generation = generation;
    }

    /// Declares that records before `below` will not be read again: segments that end before it are reused or removed.
    pub(crate) fn truncate(&self, below: Lsn) {
        self.shared.send(Work::Truncate(below));
    }

    /// Forces everything, ends the log with a closing block and stops its threads, so that its files can be opened
    /// again. No append may be running; later ones fail. A second close has no effect.
    pub(crate) fn close(&self) -> Result<(), LogError> {
        self.shared.check_process()?;
        if self.shared.closed.swap(true, Ordering::SeqCst) {
            return self.shared.healthy();
        }
        self.force()?;
        self.shared.write_closed()?;
        self.stop_threads();
        Ok(())
    }

    fn stop_threads(&self) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).stop(&self.shared);
    }

    /// Counts since the log was opened.
    pub(crate) fn stats(&self) -> LogStats {
        self.shared.stats()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.stop_threads();
    }
}

impl LogScan {
    /// Forces the segments read.
    fn force(&self, files: &dyn Files) -> Result<(), IoError> {
        for name in &self.read {
            files.open(name)?.sync_data()?;
        }
        self.cut_torn_end()?;
        files.sync_directory(DIRECTORY)
    }
}

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
