//! A frame: 40 bytes of header, then a payload.
//!
//! A frame carries its cluster, its catalog, its sequence number on the connection (from 0 in each direction; on a
//! connection that continues a channel, the frames after the greeting continue the channel's count), and a checksum
//! over all of it. So a frame that is cut off, damaged, foreign, repeated or out of order is detected before any of it
//! is used. The length is checked against a limit before memory is allocated.

/// Bytes of a frame before its payload.
pub const HEADER_BYTES: usize = 40;
/// The version of the protocol.
pub const VERSION: u16 = 18;
/// The maximum payload.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;
/// The maximum payload before the other side is identified.
pub const MAX_HELLO_BYTES: usize = 1 << 10;
/// The maximum payload of a dialed party before it is identified: it may send its catalog.
pub const MAX_CATALOG_BYTES: usize = 64 << 10;

const MAGIC: [u8; 4] = *b"GBX\xC1";

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first frame of the dialing side: identifies it.
    Hello = 1,
    /// Accepts a greeting.
    Welcome = 2,
    /// Refuses a greeting, or closes the connection: the reason, as text.
    Refusal = 3,
    /// A message of the cluster.
    Message = 4,
    /// A question of an operator, watcher or checker.
    Question = 5,
    /// The answer to a question.
    Answer = 6,
    /// Between members: acknowledges frames.
    Taken = 7,
    /// The dialed side's catalog, before it refuses a party that has another one.
    Catalog = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Hello,
        Self::Welcome,
        Self::Refusal,
        Self::Message,
        Self::Question,
        Self::Answer,
        Self::Taken,
        Self::Catalog,
    ];
}

/// A decoded frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its payload.
    pub payload: &'a [u8],
    /// Its bytes, header and payload.
    pub bytes: usize,
}

/// What a frame must state to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The cluster's number.
    pub cluster: u64,
    /// The catalog's digest.
    pub catalog: u64,
    /// The frame's number in its direction.
    pub sequence: u64,
    /// The maximum of its payload.
    pub payload_bytes_max: usize,
}

/// Bytes that are no frame, or an unacceptable one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Another protocol.
    #[error("these bytes are no frame of Glassbox: connect programs of Glassbox only")]
    NoFrame,
    /// Another version.
    #[error(
        "protocol version {found} of the other side is not version {VERSION} of this side; run the same program on both"
    )]
    Version {
        /// The other side's.
        found: u16,
    },
    /// Another cluster.
    #[error("the other side belongs to cluster {found:#x} and this side to {expected:#x}: correct its configuration")]
    Cluster {
        /// The other side's.
        found: u64,
        /// This side's.
        expected: u64,
    },
    /// Another catalog.
    #[error(
        "the other side's tables and procedures have digest {found:#x} and this side's {expected:#x}: build both from \
         the same source"
    )]
    Catalog {
        /// The other side's.
        found: u64,
        /// This side's.
        expected: u64,
    },
    /// Repeated, out of order, or after a gap.
    #[error("frame {found} arrived where frame {expected} was expected: frames were repeated, lost or reordered")]
    Sequence {
        /// Its number.
        found: u64,
        /// The expected number.
        expected: u64,
    },
    /// Too large.
    #[error("a frame has {bytes} bytes of payload: the maximum is {payload_bytes_max}")]
    TooLarge {
        /// The payload's bytes, as stated.
        bytes: usize,
        /// The maximum.
        payload_bytes_max: usize,
    },
    /// Damaged.
    #[error("a frame's checksum is wrong: it was damaged in transit")]
    Checksum,
    /// An unknown kind.
    #[error("frame kind {found} is unknown")]
    Kind {
        /// Its number.
        found: u8,
    },
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the slice has N bytes")
}

/// The frame at the beginning of `bytes`; `None`: more bytes are needed.
///
/// # Errors
/// Why the connection has to be closed.
pub fn decode<'a>(bytes: &'a [u8], expected: &Expected) -> Result<Option<Frame<'a>>, BadFrame> {
    // A wrong beginning is reported without waiting for the rest.
    let magic = bytes.len().min(MAGIC.len());
    if bytes[..magic] != MAGIC[..magic] {
        return Err(BadFrame::NoFrame);
    }
    if bytes.len() < HEADER_BYTES {
        return Ok(None);
    }
    let version = u16::from_le_bytes(number(bytes, 4));
    if version != VERSION {
        return Err(BadFrame::Version { found: version });
    }
    let length = u32::from_le_bytes(number(bytes, 32)) as usize;
    if length > expected.payload_bytes_max {
        return Err(BadFrame::TooLarge { bytes: length, payload_bytes_max: expected.payload_bytes_max });
    }
    let Some(payload) = bytes.get(HEADER_BYTES..HEADER_BYTES + length) else { return Ok(None) };
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..36]), payload);
    if checksum != u32::from_le_bytes(number(bytes, 36)) {
        return Err(BadFrame::Checksum);
    }
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == bytes[6] && bytes[7] == 0);
    let kind = kind.ok_or(BadFrame::Kind { found: bytes[6] })?;
    // A refusal has to be readable for parties of other clusters too, and a catalog for those with another one.
    let (cluster, catalog) = (u64::from_le_bytes(number(bytes, 8)), u64::from_le_bytes(number(bytes, 16)));
    if kind != Kind::Refusal && cluster != expected.cluster {
        return Err(BadFrame::Cluster { found: cluster, expected: expected.cluster });
    }
    if !matches!(kind, Kind::Refusal | Kind::Catalog) && catalog != expected.catalog {
        return Err(BadFrame::Catalog { found: catalog, expected: expected.catalog });
    }
    let sequence = u64::from_le_bytes(number(bytes, 24));
    if sequence != expected.sequence {
        return Err(BadFrame::Sequence { found: sequence, expected: expected.sequence });
    }
    Ok(Some(Frame { kind, payload, bytes: HEADER_BYTES + length }))
}

/// Appends a frame to `out`, whose payload `write` appends.
///
/// # Errors
/// When the payload exceeds the maximum; nothing is appended then.
pub fn encode(out: &mut Vec<u8>, kind: Kind, of: &Expected, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), BadFrame> {
    let start = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[kind as u8, 0]);
    for number in [of.cluster, of.catalog, of.sequence, 0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    write(out);
    let bytes = out.len() - start - HEADER_BYTES;
    if bytes > MAX_PAYLOAD_BYTES {
        out.truncate(start);
        return Err(BadFrame::TooLarge { bytes, payload_bytes_max: MAX_PAYLOAD_BYTES });
    }
    out[start + 32..start + 36].copy_from_slice(&(bytes as u32).to_le_bytes());
    let checksum = crc32c::crc32c(&out[start..start + 36]);
    let checksum = crc32c::crc32c_append(checksum, &out[start + HEADER_BYTES..]);
    out[start + 36..start + HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Expected = Expected { cluster: 7, catalog: 9, sequence: 3, payload_bytes_max: 100 };

    fn frame(of: &Expected) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, Kind::Message, of, |out| out.extend_from_slice(b"payload")).unwrap();
        out
    }

    #[test]
    fn golden_bytes() {
        let mut golden = b"GBX\xC1\x12\x00\x04\x00".to_vec();
        golden.extend([7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&golden), b"payload");
        golden.extend(checksum.to_le_bytes());
        golden.extend(b"payload");
        assert_eq!(frame(&OF), golden);
        assert_eq!(
            decode(&golden, &OF).unwrap().unwrap(),
            Frame { kind: Kind::Message, payload: b"payload", bytes: 47 }
        );
    }

    #[test]
    fn every_prefix_is_incomplete_and_every_flipped_bit_is_detected() {
        let whole = frame(&OF);
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length], &OF), Ok(None));
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A longer length waits for more bytes; then the checksum fails.
            bytes.resize(bytes.len() + 200, 0);
            assert!(decode(&bytes, &OF).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_foreign_frame_is_refused_with_the_reason() {
        let says = |of: Expected| decode(&frame(&of), &OF).unwrap_err();
        assert_eq!(says(Expected { cluster: 8, ..OF }), BadFrame::Cluster { found: 8, expected: 7 });
        assert_eq!(says(Expected { catalog: 8, ..OF }), BadFrame::Catalog { found: 8, expected: 9 });
        assert_eq!(says(Expected { sequence: 2, ..OF }), BadFrame::Sequence { found: 2, expected: 3 });
        let small = Expected { payload_bytes_max: 6, ..OF };
        assert_eq!(decode(&frame(&OF), &small), Err(BadFrame::TooLarge { bytes: 7, payload_bytes_max: 6 }));
        assert_eq!(decode(b"GET / HTTP/1.1", &OF), Err(BadFrame::NoFrame));
        let mut newer = frame(&OF);
        newer[4] += 1;
        assert_eq!(decode(&newer, &OF), Err(BadFrame::Version { found: VERSION + 1 }));
    }
}
