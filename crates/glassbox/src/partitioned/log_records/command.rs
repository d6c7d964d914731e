//! The command log's records: a procedure call and what the engine assigned to it.
//!
//! ```text
//! kind 3   procedure u16   time i64   seed u64   digest u64   arguments (postcard)
//! kind 2   procedure u16   time i64   seed u64   arguments
//! ```
//!
//! The number of the procedure stands for its name and version, as the manifest says. Replaying runs the same code on
//! the same data with the same time and random numbers, so it makes the same changes. Unless the procedure is not
//! deterministic, or its code has changed: so the record has a digest of the changes, of what the value log would have
//! been, and a replay that makes other ones fails. Records of kind 2 have none: those of earlier code, and of databases
//! that are [configured](crate::Config::command_digests) so.

use crate::partitioned::log_records::arguments::{BadArguments, encode};
use crate::partitioned::log_records::record_buffer::{RecordBuffer, RecordTooLarge};
use crate::partitioned::log_records::values::{COMMAND, COMMAND_WITHOUT_DIGEST};
use crate::procedure::Procedure;
use crate::record::Timestamp;

/// What stands before the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandHead {
    pub(crate) procedure: u16,
    pub(crate) now: Timestamp,
    pub(crate) seed: u64,
    /// The digest of its changes; `None`: not known.
    pub(crate) digest: Option<u64>,
}

impl CommandHead {
    /// Splits a record, without its kind byte, into head and arguments.
    pub(crate) fn split(kind: u8, bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (procedure, rest) = bytes.split_first_chunk()?;
        let (now, rest) = rest.split_first_chunk()?;
        let (seed, rest) = rest.split_first_chunk()?;
        let (digest, arguments) = match kind {
            COMMAND => rest.split_first_chunk().map(|(digest, rest)| (Some(u64::from_le_bytes(*digest)), rest))?,
            _ => (None, rest),
        };
        let head = Self {
            digest,
            procedure: u16::from_le_bytes(*procedure),
            now: Timestamp::from_micros(i64::from_le_bytes(*now)),
            seed: u64::from_le_bytes(*seed),
        };
        Some((head, arguments))
    }
}

/// The digest of changes, as a log of values has them: their length, and their CRC-32C.
pub(crate) fn digest_of_changes(record: &[u8]) -> u64 {
    (record.len() as u64) << 32 | u64::from(crc32c::crc32c(record))
}

/// Writes the record of a call. Encoding its arguments ends at `max_bytes`: the record is then given up.
#[inline(always)]
pub(crate) fn write_command<P: Procedure>(
    head: CommandHead,
    call: &P,
    record: &mut RecordBuffer,
    max_bytes: usize,
) -> Result<(), RecordTooLarge> {
    record.begin(if head.digest.is_some() { COMMAND } else { COMMAND_WITHOUT_DIGEST }, max_bytes);
    let mut bytes = [0; HEAD_WIDTH];
    bytes[..2].copy_from_slice(&head.procedure.to_le_bytes());
    bytes[2..10].copy_from_slice(&head.now.micros().to_le_bytes());
    bytes[10..18].copy_from_slice(&head.seed.to_le_bytes());
    bytes[18..].copy_from_slice(&head.digest.unwrap_or_default().to_le_bytes());
    record.push(if head.digest.is_some() { &bytes } else { &bytes[..18] })?;
    let most = max_bytes - record.as_slice().len();
    let mut room = most.min(256);
    loop {
        match encode(call, record.space(room)?) {
            Ok(written) => {
                record.advance(written);
                return Ok(());
            }
            Err(BadArguments::Full) if room == most => return Err(record.give_up()),
            Err(BadArguments::Full) => room = (room * 2).min(most),
            Err(error) => panic!("the arguments of procedure `{}` cannot be encoded: {error}", P::NAME),
        }
    }
}

/// Procedure, time, seed and digest, after the kind.
const HEAD_WIDTH: usize = 2 + 8 + 8 + 8;
