//! What can be chosen about a log, and what it counts.

use super::error::LogError;
use super::format::{PAGE_BYTES, SECTOR_BYTES};

/// How a log is laid out and served.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    /// Size of new segments in bytes: a multiple of 4096. Existing segments keep theirs.
    pub(crate) segment_bytes: u64,
    /// Size of the ring in bytes: a power of two of at least 4096. A record may take a quarter of it.
    pub(crate) buffer_bytes: usize,
    /// Whether `wait` waits. Without, everything is still written and forced, by the log thread, within tens of
    /// milliseconds.
    pub(crate) force: bool,
    /// How many [`Appender`](super::Appender)s there can be at a time. Each flush looks at all of them.
    pub(crate) appenders: usize,
    /// Whether the log has threads of its own: one that flushes, one that keeps segments ready. Without, flushing
    /// happens only in `wait`, in appends that find the ring full, and in `close`: what a deterministic test wants.
    pub(crate) threads: bool,
    /// How many truncated segments are kept for reuse at least. More are kept if more were truncated at once, until the
    /// log is truncated again or opened.
    pub(crate) spare_segments: usize,
}

impl Default for LogConfig {
    fn default() -> Self {
        let (segment_bytes, buffer_bytes) = (64 << 20, 32 << 20);
        Self { segment_bytes, buffer_bytes, force: true, appenders: 64, threads: true, spare_segments: 8 }
    }
}

impl LogConfig {
    pub(crate) fn check(&self) -> Result<(), LogError> {
        let complain = |what| Err(LogError::BadConfig { what });
        if !self.segment_bytes.is_multiple_of(PAGE_BYTES) || self.segment_bytes < PAGE_BYTES {
            return complain("segment_bytes must be a multiple of 4096, and not 0");
        }
        if self.segment_bytes > u64::from(u32::MAX) {
            return complain("segment_bytes must be below 4 GiB");
        }
        if !self.buffer_bytes.is_power_of_two() || self.buffer_bytes < 4096 {
            return complain("buffer_bytes must be a power of two of at least 4096");
        }
        if self.appenders == 0 {
            return complain("appenders must be at least 1");
        }
        Ok(())
    }

    /// Most bytes a record may have. It must pass through the ring and fit one fresh segment together with the
    /// segment's header, its own block header, and the block that ends the segment.
    pub(super) fn most_record_bytes(&self) -> usize {
        let segment = self.segment_bytes - 3 * SECTOR_BYTES;
        (self.buffer_bytes / 4).min(segment as usize) - 8
    }
}

/// What a log has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogStats {
    /// Forces of blocks. Forces of segment headers and directories are not counted.
    pub(crate) forces: u64,
    /// Blocks of records written.
    pub(crate) blocks: u64,
    /// Bytes of framed records in them.
    pub(crate) bytes: u64,
    /// Segments begun.
    pub(crate) segments: u64,
    /// Of these, those that had to be allocated while somebody waited.
    pub(crate) segments_unprepared: u64,
    /// Appends that found the ring full.
    pub(crate) full: u64,
}
