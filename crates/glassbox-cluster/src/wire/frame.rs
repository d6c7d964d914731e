//! A frame: 40 bytes of header, then a payload.
//!
//! A frame says whose it is (cluster, catalog), which it is on its connection (its sequence number, from 0 in each
//! direction; on a connection that goes on with a conversation, those after the greeting count on from there), and has
//! a checksum over all of that. So what is cut off, damaged, from somewhere else, repeated or out of order is noticed
//! before anything in it is believed. The length is compared with a limit before memory is taken.

/// Bytes of a frame before its payload.
pub const HEADER_BYTES: usize = 40;
/// The version of everything that is sent.
pub const VERSION: u16 = 5;
/// Bytes of the largest payload.
pub const LARGEST_PAYLOAD: usize = 16 << 20;
/// Bytes of the largest payload of one who has not been welcomed.
pub const LARGEST_HELLO: usize = 1 << 10;

const MAGIC: [u8; 4] = *b"GBX\xC1";

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The first frame of who calls: who it is.
    Hello = 1,
    /// The answer to it, when it fits.
    Welcome = 2,
    /// The answer to it, when it does not, or the last frame of a connection that is closed: the reason, as text.
    Refusal = 3,
    /// A message of the cluster.
    Message = 4,
    /// Somebody who looks after the cluster asks.
    Question = 5,
    /// The answer to that.
    Answer = 6,
    /// Between members: how many frames were taken.
    Taken = 7,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Hello, Self::Welcome, Self::Refusal, Self::Message, Self::Question, Self::Answer, Self::Taken];
}

/// A frame that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it is for.
    pub kind: Kind,
    /// What it says.
    pub payload: &'a [u8],
    /// Bytes of it, header and payload.
    pub bytes: usize,
}

/// What a frame must say to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The cluster's number.
    pub cluster: u64,
    /// The catalog's digest.
    pub catalog: u64,
    /// Which frame of its direction it is.
    pub sequence: u64,
    /// Bytes that its payload may have.
    pub largest: usize,
}

/// Bytes that are no frame, or not one that belongs here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// Somebody else's protocol.
    #[error("these bytes are no frame of Glassbox: connect programs of Glassbox only")]
    NoFrame,
    /// Another version.
    #[error("the other side speaks version {found} and this side version {VERSION}: run the same program on both")]
    Version {
        /// The other side's.
        found: u16,
    },
    /// Of another cluster.
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
    /// Repeated, out of order, or some are missing.
    #[error("frame {found} came where frame {expected} was due: frames were repeated, lost, or changed places")]
    Sequence {
        /// Its number.
        found: u64,
        /// The number that was due.
        expected: u64,
    },
    /// Too large.
    #[error("a frame has {bytes} bytes of payload, and may have {largest}")]
    TooLarge {
        /// What it says that it has.
        bytes: usize,
        /// What it may have.
        largest: usize,
    },
    /// Damaged.
    #[error("a frame's checksum is wrong: it was damaged on its way")]
    Checksum,
    /// A kind that there is not.
    #[error("there is no kind {found} of frames")]
    Kind {
        /// Its number.
        found: u8,
    },
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("so many were asked for")
}

/// The frame at the beginning of `bytes`; `None`: more bytes are needed to tell.
///
/// # Errors
/// Why the connection has to be closed.
pub fn decode<'a>(bytes: &'a [u8], expected: &Expected) -> Result<Option<Frame<'a>>, BadFrame> {
    // What is wrong at the very beginning is told without waiting for the rest.
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
    if length > expected.largest {
        return Err(BadFrame::TooLarge { bytes: length, largest: expected.largest });
    }
    let Some(payload) = bytes.get(HEADER_BYTES..HEADER_BYTES + length) else { return Ok(None) };
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..36]), payload);
    if checksum != u32::from_le_bytes(number(bytes, 36)) {
        return Err(BadFrame::Checksum);
    }
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == bytes[6] && bytes[7] == 0);
    let kind = kind.ok_or(BadFrame::Kind { found: bytes[6] })?;
    // A refusal is to be understood by whoever is not of this cluster, too.
    let (cluster, catalog) = (u64::from_le_bytes(number(bytes, 8)), u64::from_le_bytes(number(bytes, 16)));
    if kind != Kind::Refusal && cluster != expected.cluster {
        return Err(BadFrame::Cluster { found: cluster, expected: expected.cluster });
    }
    if kind != Kind::Refusal && catalog != expected.catalog {
        return Err(BadFrame::Catalog { found: catalog, expected: expected.catalog });
    }
    let sequence = u64::from_le_bytes(number(bytes, 24));
    if sequence != expected.sequence {
        return Err(BadFrame::Sequence { found: sequence, expected: expected.sequence });
    }
    Ok(Some(Frame { kind, payload, bytes: HEADER_BYTES + length }))
}

/// Adds a frame to `out`, whose payload `write` adds.
///
/// # Errors
/// When the payload is larger than any may be; nothing is added then.
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
    if bytes > LARGEST_PAYLOAD {
        out.truncate(start);
        return Err(BadFrame::TooLarge { bytes, largest: LARGEST_PAYLOAD });
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

    const OF: Expected = Expected { cluster: 7, catalog: 9, sequence: 3, largest: 100 };

    fn frame(of: &Expected) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, Kind::Message, of, |out| out.extend_from_slice(b"payload")).unwrap();
        out
    }

    #[test]
    fn golden_bytes() {
        let mut golden = b"GBX\xC1\x05\x00\x04\x00".to_vec();
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
    fn every_length_waits_and_every_flipped_bit_is_noticed() {
        let whole = frame(&OF);
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length], &OF), Ok(None));
        }
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // A length that grew is waited for; then the checksum tells.
            bytes.resize(bytes.len() + 200, 0);
            assert!(decode(&bytes, &OF).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_belongs_elsewhere_is_refused_with_the_reason() {
        let says = |of: Expected| decode(&frame(&of), &OF).unwrap_err();
        assert_eq!(says(Expected { cluster: 8, ..OF }), BadFrame::Cluster { found: 8, expected: 7 });
        assert_eq!(says(Expected { catalog: 8, ..OF }), BadFrame::Catalog { found: 8, expected: 9 });
        assert_eq!(says(Expected { sequence: 2, ..OF }), BadFrame::Sequence { found: 2, expected: 3 });
        let small = Expected { largest: 6, ..OF };
        assert_eq!(decode(&frame(&OF), &small), Err(BadFrame::TooLarge { bytes: 7, largest: 6 }));
        assert_eq!(decode(b"GET / HTTP/1.1", &OF), Err(BadFrame::NoFrame));
        let mut newer = frame(&OF);
        newer[4] = 6;
        assert_eq!(decode(&newer, &OF), Err(BadFrame::Version { found: 6 }));
    }
}
