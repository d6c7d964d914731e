//! What is said to one party and what was heard from it, over one connection or, between members, over several.
//!
//! Between members nothing may be missing: neither believes that the other forgets. So what is said is kept until the
//! other side has taken it, and a connection that broke is made again and goes on where the other side's count of
//! frames says. Only another process with the same address begins from nothing: what was said to the one before is not
//! for it, but what was said since it went is. A client is told what became uncertain instead, and keeps nothing.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};

use super::shape::Identity;
use crate::protocol::address::Address;
use crate::wire::{BadFrame, Heard, Kind, LARGEST_PAYLOAD, decode, encode};

/// Bytes that wait for somebody who does not read them.
const MOST_UNREAD: usize = 64 << 20;
/// Bytes taken, after which the other side is told.
const TELL_AFTER: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Conversation {
    /// With whom.
    pub(super) peer: Address,
    /// Whether it goes on when its connection breaks.
    resumes: bool,
    /// Which process the other side is.
    life: Option<u64>,
    /// Frames taken, the greeting included.
    received: u64,
    /// Bytes taken of which the other side does not know.
    untold: usize,
    /// Frames said, the greeting included.
    said: u64,
    /// Those before this one were said to the process that is or was there.
    said_since: u64,
    /// The last of what was said: what is not written or, if it resumes, not known to be taken.
    output: Vec<u8>,
    /// Sizes of the frames in `output`, if it resumes.
    sizes: VecDeque<usize>,
    /// Bytes of `output` that are on their way.
    written: usize,
    /// Bytes of `output`, or more, that are rows for a backup: as many as there are.
    rows: usize,
    /// Why it cannot go on: something is missing.
    lost: Option<String>,
}

impl Conversation {
    pub(super) fn new(me: Address, peer: Address) -> Self {
        Self::fresh(peer, me.is_member() && peer.is_member())
    }

    fn fresh(peer: Address, resumes: bool) -> Self {
        Self {
            peer,
            resumes,
            life: None,
            received: 1,
            untold: 0,
            said: 1,
            said_since: 1,
            output: Vec::new(),
            sizes: VecDeque::new(),
            written: 0,
            rows: 0,
            lost: None,
        }
    }

    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }

    /// Which process the other side is, once it was heard.
    pub(super) fn life(&self) -> Option<u64> {
        self.life
    }

    /// What the other side has to know of this one to go on.
    pub(super) fn heard(&self) -> Option<Heard> {
        self.life.map(|life| Heard { life, received: self.received })
    }

    /// The number of the frame that is due.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// The number of the next frame that is said.
    pub(super) fn said(&self) -> u64 {
        self.said
    }

    /// A frame of so many bytes was taken; who is now to be told of how many.
    pub(super) fn took(&mut self, bytes: usize) -> Option<(Address, u64)> {
        self.received += 1;
        self.untold += bytes;
        let tells = self.resumes && self.untold >= TELL_AFTER;
        tells.then(|| {
            self.untold = 0;
            (self.peer, self.received)
        })
    }

    /// Rows for a backup are said all at once.
    pub(super) fn expect_rows(&mut self, bytes: usize) {
        self.rows += bytes;
    }

    /// Says something, or nothing any more.
    ///
    /// # Errors
    /// Why it cannot go on from here.
    pub(super) fn say(&mut self, who: &Identity, kind: Kind, payload: &[u8]) -> Result<(), String> {
        if self.lost.is_some() {
            return Ok(());
        }
        let before = self.output.len();
        let of = who.frame(self.said, LARGEST_PAYLOAD);
        let said = encode(&mut self.output, kind, &of, |out| out.extend_from_slice(payload));
        let said = said.map_err(|bad| bad.to_string());
        let fits = self.output.len() - self.written <= MOST_UNREAD + self.rows;
        let ended = said.and_then(|()| if fits { Ok(()) } else { Err("it does not read what it is sent".to_owned()) });
        if let Err(why) = &ended {
            self.lose(why);
            return ended;
        }
        self.said += 1;
        if self.resumes {
            self.sizes.push_back(self.output.len() - before);
        }
        Ok(())
    }

    /// It cannot go on: the other side, or what is said to it, is not right.
    pub(super) fn lose(&mut self, why: &str) {
        self.lost.get_or_insert_with(|| why.to_owned());
        (self.output, self.sizes, self.written) = (Vec::new(), VecDeque::new(), 0);
    }

    pub(super) fn has_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// Writes as much as goes.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> Result<(), String> {
        self.written += write_some(stream, &self.output[self.written..])?;
        if !self.has_output() {
            self.rows = 0;
        }
        if !self.resumes {
            self.output.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// The other side has taken so many frames.
    ///
    /// # Errors
    /// When there are not so many.
    pub(super) fn taken(&mut self, frames: u64) -> Result<(), String> {
        let first = self.said - self.sizes.len() as u64;
        if frames > self.said {
            return Err(format!("it has taken {frames} frames, and {} were sent", self.said));
        }
        // What is said again may be older.
        let bytes = self.sizes.drain(..frames.saturating_sub(first) as usize).sum();
        self.output.drain(..bytes);
        self.written = self.written.saturating_sub(bytes);
        Ok(())
    }

    /// The connection broke.
    pub(super) fn breaks(&mut self) {
        self.said_since = self.said;
        (self.written, self.untold) = (0, 0);
    }

    /// There is a connection to this process again, which has taken so many frames of this conversation. Whether it
    /// is another process than the one before.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(super) fn goes_on(&mut self, who: &Identity, life: u64, taken: u64) -> Result<bool, String> {
        if !self.resumes {
            if self.lost.is_some() {
                *self = Self::fresh(self.peer, false);
            }
            self.life = Some(life);
            return Ok(false);
        }
        let is_other = self.life.is_some_and(|before| before != life);
        if is_other {
            self.begin_anew(who).map_err(|bad| bad.to_string())?;
        }
        if let Some(why) = &self.lost {
            return Err(format!("what it was to be told before is missing ({why}): start it anew"));
        }
        if taken < self.said - self.sizes.len() as u64 {
            return Err(format!("what it was told before is missing (from frame {taken} on): start it anew"));
        }
        self.taken(taken)?;
        self.life = Some(life);
        Ok(is_other)
    }

    /// Forgets what was for the process before.
    fn begin_anew(&mut self, who: &Identity) -> Result<(), BadFrame> {
        let Self { output, sizes, said, said_since, .. } = std::mem::replace(self, Self::fresh(self.peer, true));
        let (mut rest, first) = (&output[..], said - sizes.len() as u64);
        for (number, size) in (first..).zip(sizes) {
            let (frame, others) = rest.split_at(size);
            if let (true, Some(frame)) = (number >= said_since, decode(frame, &who.frame(number, LARGEST_PAYLOAD))?) {
                // It was not too much before.
                let _ = self.say(who, frame.kind, frame.payload);
            }
            rest = others;
        }
        Ok(())
    }
}

/// The reason when the other side has simply gone.
pub(super) const ENDED: &str = "the other side closed it";

/// Writes as much as goes; how much that was.
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
