//! A reliable ordered channel to one party, over one connection or, between members, over several.
//!
//! Between members no frame may be lost, because neither re-sends at a higher level. So frames are kept until the other
//! side has acknowledged them, and a channel whose connection broke continues on the next one from the other side's
//! frame count. A restarted process with the same address starts an empty channel: frames sent to its predecessor are
//! dropped, frames sent since that one disconnected are delivered. A channel with a client keeps nothing: the client
//! learns which outcomes are unknown.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};

use super::shape::Identity;
use crate::protocol::address::Address;
use crate::wire::{BadFrame, Kind, MAX_PAYLOAD_BYTES, Received, decode, encode};

/// The maximum of bytes that wait for a party that does not read.
const MAX_UNREAD_BYTES: usize = 64 << 20;
/// Received bytes after which an acknowledgement is sent.
const TELL_AFTER: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Channel {
    /// The other party.
    pub(super) peer: Address,
    /// Whether the channel continues after its connection breaks.
    resumes: bool,
    /// The incarnation of the other process.
    incarnation: Option<u64>,
    /// Frames received, the greeting included.
    received: u64,
    /// Bytes received and not acknowledged.
    untold: usize,
    /// Frames sent, the greeting included.
    sent: u64,
    /// Frames before this one were sent to the process that is or was connected.
    sent_since: u64,
    /// Sent frames that are not written or, if the channel resumes, not acknowledged; before them, others.
    output: Vec<u8>,
    /// Where they begin.
    start: usize,
    /// Sizes of the frames in `output`, if the channel resumes.
    sizes: VecDeque<usize>,
    /// Bytes of `output` that were written, those before `start` included.
    written: usize,
    /// An upper bound of the bytes of rows for a joining backup in `output`, which do not count as unread.
    rows: usize,
    /// Why the channel cannot continue: frames are lost.
    lost: Option<String>,
}

impl Channel {
    pub(super) fn new(me: Address, peer: Address) -> Self {
        Self::fresh(peer, me.is_member() && peer.is_member())
    }

    fn fresh(peer: Address, resumes: bool) -> Self {
        Self {
            peer,
            resumes,
            incarnation: None,
            received: 1,
            untold: 0,
            sent: 1,
            sent_since: 1,
            output: Vec::new(),
            start: 0,
            sizes: VecDeque::new(),
            written: 0,
            rows: 0,
            lost: None,
        }
    }

    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }

    /// The incarnation of the other process, once it is known.
    pub(super) fn incarnation(&self) -> Option<u64> {
        self.incarnation
    }

    /// The frame count with which the other side can continue the channel.
    pub(super) fn heard(&self) -> Option<Received> {
        self.incarnation.map(|incarnation| Received { incarnation, received: self.received })
    }

    /// The sequence number of the next frame to receive.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// The sequence number of the next frame to send.
    pub(super) fn frames_sent(&self) -> u64 {
        self.sent
    }

    /// Counts a received frame; the party and the frame count, if an acknowledgement is due.
    pub(super) fn on_frame(&mut self, bytes: usize) -> Option<(Address, u64)> {
        self.received += 1;
        self.untold += bytes;
        let tells = self.resumes && self.untold >= TELL_AFTER;
        tells.then(|| {
            self.untold = 0;
            (self.peer, self.received)
        })
    }

    /// Announces rows or entries for a joining backup, which are sent all at once.
    pub(super) fn expect_rows(&mut self, bytes: usize) {
        self.rows += bytes;
    }

    /// Sends a frame; nothing once the channel is lost.
    ///
    /// # Errors
    /// Why the channel is lost.
    pub(super) fn send_frame(&mut self, who: &Identity, kind: Kind, payload: &[u8]) -> Result<(), String> {
        if self.lost.is_some() {
            return Ok(());
        }
        let before = self.output.len();
        let of = who.frame(self.sent, MAX_PAYLOAD_BYTES);
        let encoded = encode(&mut self.output, kind, &of, |out| out.extend_from_slice(payload));
        let encoded = encoded.map_err(|bad| bad.to_string());
        let fits = self.output.len() - self.written <= MAX_UNREAD_BYTES + self.rows;
        let ended = encoded.and_then(|()| if fits { Ok(()) } else { Err("it does not read its messages".to_owned()) });
        if let Err(why) = &ended {
            self.lose(why);
            return ended;
        }
        self.sent += 1;
        if self.resumes {
            self.sizes.push_back(self.output.len() - before);
        }
        Ok(())
    }

    /// Ends the channel: the other side, or a frame for it, is invalid.
    pub(super) fn lose(&mut self, why: &str) {
        self.lost.get_or_insert_with(|| why.to_owned());
        (self.output, self.sizes, self.start, self.written) = (Vec::new(), VecDeque::new(), 0, 0);
    }

    /// Bytes that the stream has not accepted yet.
    pub(super) fn unwritten(&self) -> usize {
        self.output.len() - self.written
    }

    pub(super) fn has_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// Writes as much as the stream accepts.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> Result<(), String> {
        self.written += write_some(stream, &self.output[self.written..])?;
        if !self.has_output() {
            self.rows = 0;
        }
        if !self.resumes {
            self.discard(self.written);
        }
        Ok(())
    }

    /// Discards the output up to a place. What follows is moved only when it is as much.
    fn discard(&mut self, upto: usize) {
        self.start = upto;
        self.written = self.written.max(upto);
        if 2 * self.start >= self.output.len() {
            self.output.drain(..self.start);
            (self.start, self.written) = (0, self.written - self.start);
        }
    }

    /// The other side acknowledges this number of frames.
    ///
    /// # Errors
    /// When fewer were sent.
    pub(super) fn on_ack(&mut self, frames: u64) -> Result<(), String> {
        let first = self.sent - self.sizes.len() as u64;
        if frames > self.sent {
            return Err(format!("it acknowledges {frames} frames, and {} were sent", self.sent));
        }
        // Acknowledgements that are re-sent may be older.
        let bytes: usize = self.sizes.drain(..frames.saturating_sub(first) as usize).sum();
        self.discard(self.start + bytes);
        Ok(())
    }

    /// The connection broke.
    pub(super) fn on_broken(&mut self) {
        self.sent_since = self.sent;
        (self.written, self.untold) = (self.start, 0);
    }

    /// Continues on a connection to a process that has received this number of frames. Whether it is another process
    /// than the one before.
    ///
    /// # Errors
    /// Why it cannot continue.
    pub(super) fn resume(&mut self, who: &Identity, incarnation: u64, taken: u64) -> Result<bool, String> {
        if !self.resumes {
            if self.lost.is_some() {
                *self = Self::fresh(self.peer, false);
            }
            self.incarnation = Some(incarnation);
            return Ok(false);
        }
        let is_other = self.incarnation.is_some_and(|before| before != incarnation);
        if is_other {
            self.restart(who).map_err(|bad| bad.to_string())?;
        }
        if let Some(why) = &self.lost {
            return Err(format!("frames for it are lost ({why}); restart it"));
        }
        if taken < self.sent - self.sizes.len() as u64 {
            return Err(format!("frames for it are lost (from frame {taken} on); restart it"));
        }
        self.on_ack(taken)?;
        self.incarnation = Some(incarnation);
        Ok(is_other)
    }

    /// Drops the frames for the predecessor of the other process.
    fn restart(&mut self, who: &Identity) -> Result<(), BadFrame> {
        let Self { output, start, sizes, sent, sent_since, .. } = std::mem::replace(self, Self::fresh(self.peer, true));
        let (mut rest, first) = (&output[start..], sent - sizes.len() as u64);
        for (number, size) in (first..).zip(sizes) {
            let (frame, others) = rest.split_at(size);
            if let (true, Some(frame)) = (number >= sent_since, decode(frame, &who.frame(number, MAX_PAYLOAD_BYTES))?) {
                // It fitted before.
                let _ = self.send_frame(who, frame.kind, frame.payload);
            }
            rest = others;
        }
        Ok(())
    }
}

/// The reason when the other side closed the connection.
pub(super) const ENDED: &str = "the other side closed it";

/// Writes as much as the stream accepts; the number of bytes.
pub(super) fn write_some(stream: &mut impl Write, bytes: &[u8]) -> Result<usize, String> {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(0) => return Err(ENDED.to_owned()),
            Ok(more) => written += more,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(trouble("write", &error)),
        }
    }
    Ok(written)
}

pub(super) fn trouble(what: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ENDED.to_owned(),
        _ => format!("cannot {what}: {error}"),
    }
}

#[cfg(test)]
mod tests;
