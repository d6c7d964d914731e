//! Settings of a log, and its counts.

use super::error::LogError;
use super::format::{PAGE_BYTES, SECTOR_BYTES};
use crate::huge_pages::{memory_bytes, would_give};

/// Positions within a segment are 32 bits wide.
const MAX_SEGMENT_BYTES: u64 = (1 << 32) - PAGE_BYTES;
const MIN_BUFFER_BYTES: usize = 4096;

/// Settings of a log.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    /// Size of new segments in bytes: a multiple of 4096. Existing segments keep theirs.
    pub(crate) segment_bytes: u64,
    /// Size of the ring in bytes: a power of two of at least 4096. A record has at most a quarter of it.
    pub(crate) log_buffer_bytes: usize,
    /// Whether the ring's memory is present from the beginning, so that appends cause no page faults.
    pub(crate) prefault: bool,
    /// Whether `wait` waits for a force. If not, the log thread still writes and forces everything, within tens of
    /// milliseconds.
    pub(crate) force: bool,
    /// Maximum number of [`Appender`](super::Appender)s at a time. Each flush reads the slots of all of them.
    pub(crate) appenders: usize,
    /// Whether the log has threads of its own: one that flushes, one that keeps segments ready. If not, only `wait`,
    /// `close` and appends that find the ring full flush, as a deterministic test needs it.
    pub(crate) threads: bool,
    /// Whether transactions append before they commit, so that the disk must keep room for records that roll back.
    pub(crate) undo_room: bool,
    /// Minimum number of truncated segments kept for reuse. If more were truncated at once, all of them are kept until
    /// the next truncation or opening.
    pub(crate) spare_segments: usize,
}

impl Default for LogConfig {
    fn default() -> Self {
        let (segment_bytes, log_buffer_bytes) = (64 << 20, 32 << 20);
        Self {
            segment_bytes,
            log_buffer_bytes,
            prefault: true,
            force: true,
            appenders: 64,
            threads: true,
            undo_room: false,
            spare_segments: 8,
        }
    }
}

impl LogConfig {
    /// Refuses settings that are invalid or need more memory than the machine has.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        let bad = |setting, value, possible| Err(LogError::BadConfig { setting, value, possible });
        let (segment, buffer) = (self.segment_bytes, self.log_buffer_bytes);
        if !segment.is_multiple_of(PAGE_BYTES) || !(PAGE_BYTES..=MAX_SEGMENT_BYTES).contains(&segment) {
            let possible = format!("a multiple of {PAGE_BYTES} from {PAGE_BYTES} to {MAX_SEGMENT_BYTES}");
            return bad("segment_bytes", segment, possible);
        }
        let max = memory_bytes() / 2;
        if !buffer.is_power_of_two() || !(MIN_BUFFER_BYTES..=max).contains(&buffer) {
            let possible =
                format!("a power of two from {MIN_BUFFER_BYTES} to {max}, which is half of this machine's memory");
            return bad("log_buffer_bytes", buffer as u64, possible);
        }
        if !would_give(buffer) {
            let possible = "smaller, as the system does not give so much memory now".to_owned();
            return bad("log_buffer_bytes", buffer as u64, possible);
        }
        if self.appenders == 0 {
            return bad("the number of appenders", 0, "at least 1".to_owned());
        }
        Ok(())
    }

    /// Maximum bytes of a record. It must pass through the ring and fit an empty segment together with the segment's
    /// header, its own block header, and the block that ends the segment.
    pub(crate) fn max_record_bytes(&self) -> usize {
        let segment = self.segment_bytes - 3 * SECTOR_BYTES;
        (self.log_buffer_bytes / 4).min(segment as usize) - 8
    }
}

/// Counts of a log since it was opened.
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
    /// Of these, those that had to be allocated while a caller waited.
    pub(crate) segments_unprepared: u64,
    /// Appends that found the ring full.
    pub(crate) full: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_up_to_their_limits_are_accepted_and_those_beyond_are_named() {
        let check = |segment_bytes, log_buffer_bytes| {
            LogConfig { segment_bytes, log_buffer_bytes, ..LogConfig::default() }
                .check()
                .map_err(|error| error.to_string())
        };
        let largest = 1 << (memory_bytes() / 2).ilog2();
        for segment_bytes in [4096, 64 << 20, MAX_SEGMENT_BYTES] {
            for log_buffer_bytes in [4096, 32 << 20, largest] {
                assert_eq!(check(segment_bytes, log_buffer_bytes), Ok(()));
            }
        }
        for segment_bytes in [0, 1, 4095, 4097, MAX_SEGMENT_BYTES + PAGE_BYTES, u64::MAX] {
            let text = check(segment_bytes, 4096).unwrap_err();
            assert!(
                text.starts_with(&format!("segment_bytes is {segment_bytes}: it must be a multiple of 4096")),
                "{text}"
            );
        }
        for log_buffer_bytes in [0, 1, 2048, 4097, largest * 2, 1 << 45, usize::MAX] {
            let text = check(4096, log_buffer_bytes).unwrap_err();
            let words = format!("log_buffer_bytes is {log_buffer_bytes}: it must be a power of two from 4096 to ");
            assert!(text.starts_with(&words), "{text}");
        }
    }
}
