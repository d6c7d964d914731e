//! One connection: bytes in, bytes out, and how far both have come.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::sockets::Identity;
use crate::address::Address;
use crate::wire::{BadFrame, Expected, Hello, Kind, LARGEST_HELLO, decode, encode};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Pause between two calls of somebody who is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Connection {
    /// No other has it.
    pub(super) number: u64,
    pub(super) stream: TcpStream,
    /// Who is there, once it has said so and was welcomed.
    pub(super) peer: Option<Address>,
    pub(super) opened: Instant,
    /// Frames so far.
    pub(super) received: u64,
    pub(super) sent: u64,
    input: Vec<u8>,
    pub(super) output: Vec<u8>,
    /// Bytes of `output` that are on their way.
    written: usize,
}

impl Connection {
    /// The reason when the other side has simply gone.
    pub(super) const ENDED: &'static str = "the other side closed it";

    fn new(stream: TcpStream, number: u64, peer: Option<Address>) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { number, stream, peer, opened: Instant::now(), received: 0, sent: 0, input, output, written: 0 }
    }

    pub(super) fn accepted(stream: TcpStream, number: u64) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, number, None))
    }

    /// Calls until somebody answers and says welcome.
    pub(super) fn dial(
        who: &Identity,
        number: u64,
        hello: &Hello,
        at: SocketAddr,
        until: Instant,
    ) -> Result<Self, String> {
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let error = match TcpStream::connect_timeout(&at, left) {
                Ok(stream) => return Self::greet(who, Self::new(stream, number, Some(hello.to)), hello, until),
                Err(error) => error,
            };
            if Instant::now() + PAUSE > until {
                return Err(format!("cannot connect: {error}"));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn greet(who: &Identity, mut connection: Self, hello: &Hello, until: Instant) -> Result<Self, String> {
        let in_words = |error: std::io::Error| format!("cannot speak: {error}");
        let payload = postcard::to_allocvec(hello).expect("it can be written");
        let of = who.frame(0, LARGEST_HELLO);
        encode(&mut connection.output, Kind::Hello, &of, |out| out.extend_from_slice(&payload))
            .map_err(|bad| bad.to_string())?;
        connection.sent = 1;
        connection.stream.set_nodelay(true).map_err(in_words)?;
        connection.stream.set_nonblocking(true).map_err(in_words)?;
        loop {
            connection.write()?;
            let ended = connection.read();
            match connection.take(&of) {
                Ok(Some((Kind::Welcome, _))) => return Ok(connection),
                Ok(Some((Kind::Refusal, why))) => return Err(format!("it says: {}", String::from_utf8_lossy(&why))),
                Ok(Some((kind, _))) => return Err(format!("it answers with a frame of kind {kind:?}")),
                Ok(None) => ended?,
                Err(bad) => return Err(bad.to_string()),
            }
            if Instant::now() > until {
                return Err("it does not say welcome".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads what is there; an error: there will be no more.
    pub(super) fn read(&mut self) -> Result<(), String> {
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.input[before..]);
        self.input.truncate(before + read.as_ref().map_or(0, |bytes| *bytes));
        match read {
            Ok(0) => Err(Self::ENDED.to_owned()),
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(format!("cannot read: {error}")),
        }
    }

    /// The next whole frame.
    pub(super) fn take(&mut self, expected: &Expected) -> Result<Option<(Kind, Vec<u8>)>, BadFrame> {
        let Some(frame) = decode(&self.input, expected)? else { return Ok(None) };
        let (kind, payload, bytes) = (frame.kind, frame.payload.to_vec(), frame.bytes);
        self.input.drain(..bytes);
        self.received += 1;
        Ok(Some((kind, payload)))
    }

    pub(super) fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Writes as much as goes.
    pub(super) fn write(&mut self) -> Result<(), String> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(Self::ENDED.to_owned()),
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.output.drain(..self.written);
                    self.written = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("cannot write: {error}")),
            }
        }
        self.output.clear();
        self.written = 0;
        Ok(())
    }

    /// Says why it is closed, as the last thing, if that goes without waiting.
    pub(super) fn refuse(&mut self, who: &Identity, why: &str) {
        let of = who.frame(self.sent, LARGEST_HELLO);
        let _ = encode(&mut self.output, Kind::Refusal, &of, |out| out.extend_from_slice(why.as_bytes()));
        let _ = self.write();
    }
}
