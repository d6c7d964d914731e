//! One connection: bytes in, bytes out, and how far both have come.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::sockets::Identity;
use crate::address::Address;
use crate::wire::{BadFrame, Expected, Hello, Kind, LARGEST_HELLO, decode, encode};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// After so long without a byte the system asks whether the other side is there, and again.
const QUIET: Duration = Duration::from_secs(2);

/// After so long without a sign of having received what was sent, the other side is gone.
const GONE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Connection {
    /// No other has it.
    pub(super) number: u64,
    pub(super) stream: TcpStream,
    /// Who is there, once it has said so and was welcomed.
    pub(super) peer: Option<Address>,
    /// Whom this side calls.
    pub(super) calls: Option<Address>,
    pub(super) opened: Instant,
    /// Frames so far.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// Bytes of `output`, or more, that are rows for a backup: as many as there are.
    pub(super) rows: usize,
    input: Vec<u8>,
    pub(super) output: Vec<u8>,
    /// Bytes of `output` that are on their way.
    written: usize,
}

impl Connection {
    /// The reason when the other side has simply gone.
    pub(super) const ENDED: &'static str = "the other side closed it";

    /// How the reason begins when the other side gave it.
    pub(super) const SAYS: &'static str = "it says: ";

    fn new(stream: TcpStream, number: u64) -> Self {
        // A machine that loses its power says nothing. Where the system cannot look after that, nobody does.
        let _ = sockopt::set_socket_keepalive(&stream, true)
            .and_then(|()| sockopt::set_tcp_keepidle(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_keepintvl(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_user_timeout(&stream, GONE.as_millis() as u32));
        let (opened, input, output) = (Instant::now(), Vec::new(), Vec::new());
        let (peer, calls, received, sent, written, rows) = (None, None, 0, 0, 0, 0);
        Self { number, stream, peer, calls, opened, received, sent, rows, input, output, written }
    }

    pub(super) fn accepted(stream: TcpStream, number: u64) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, number))
    }

    /// Calls somebody, and does not wait for anything.
    pub(super) fn call(who: &Identity, life: u64, number: u64, to: Address, at: SocketAddr) -> Result<Self, String> {
        let in_words = |error: std::io::Error| format!("cannot connect: {error}");
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        // A process that is started meanwhile must not keep the connection open.
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(|error| in_words(error.into()))?;
        let stream = TcpStream::from(socket);
        stream.set_nonblocking(true).map_err(in_words)?;
        stream.set_nodelay(true).map_err(in_words)?;
        match connect(&stream, &at) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(in_words(error.into())),
        }
        let mut connection = Self { calls: Some(to), ..Self::new(stream, number) };
        let payload = postcard::to_allocvec(&Hello { from: who.me, to, life }).expect("it can be written");
        let of = who.frame(0, LARGEST_HELLO);
        encode(&mut connection.output, Kind::Hello, &of, |out| out.extend_from_slice(&payload))
            .map_err(|bad| bad.to_string())?;
        connection.sent = 1;
        Ok(connection)
    }

    /// Whether somebody called so long ago and has not said who it is. Who is called may be busy for longer.
    pub(super) fn is_silent_for(&self, patience: Duration) -> bool {
        self.peer.is_none() && self.calls.is_none() && self.opened.elapsed() > patience
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
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected) =>
            {
                Ok(())
            }
            Err(error) => Err(Self::trouble("read", &error)),
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

    fn trouble(what: &str, error: &std::io::Error) -> String {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Self::ENDED.to_owned(),
            _ => format!("cannot {what}: {error}"),
        }
    }

    /// Writes as much as goes.
    pub(super) fn write(&mut self) -> Result<(), String> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(Self::ENDED.to_owned()),
                Ok(bytes) => self.written += bytes,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    self.output.drain(..self.written);
                    self.written = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Self::trouble("write", &error)),
            }
        }
        self.output.clear();
        (self.written, self.rows) = (0, 0);
        Ok(())
    }

    /// Says why it is closed, as the last thing, if that goes without waiting.
    pub(super) fn refuse(&mut self, who: &Identity, why: &str) {
        let of = who.frame(self.sent, LARGEST_HELLO);
        let _ = encode(&mut self.output, Kind::Refusal, &of, |out| out.extend_from_slice(why.as_bytes()));
        let _ = self.write();
    }
}
