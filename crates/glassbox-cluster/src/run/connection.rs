//! One TCP connection: bytes in, bytes out.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use serde::Serialize;

use super::channel::{Channel, ENDED, trouble, write_some};
use super::shape::Identity;
use crate::protocol::address::Address;
use crate::wire::{BadFrame, Hello, Kind, MAX_CATALOG_BYTES, MAX_HELLO_BYTES, MAX_PAYLOAD_BYTES, decode, encode};

/// Bytes in one read.
const READ_BYTES: usize = 64 << 10;
/// Idle time after which the system probes the other side, and the interval of probes.
const QUIET: Duration = Duration::from_secs(2);

/// How long an accepted connection may take to identify itself.
const HELLO_WITHIN: Duration = Duration::from_secs(5);

/// How long the system of a dialed party may take to answer before it is dialed again.
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);

/// How long sent bytes may stay unacknowledged before the connection ends.
const GONE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Connection {
    /// The connection's id.
    pub(super) number: u64,
    pub(super) stream: TcpStream,
    /// The channel on it, once the parties have identified each other.
    pub(super) channel: Option<Channel>,
    /// The party that this side dials.
    pub(super) calls: Option<Address>,
    pub(super) opened: Instant,
    input: Vec<u8>,
    /// Output before the channel: the first frame of each side.
    greeting: Vec<u8>,
    /// Whether the accepting side has sent its catalog.
    has_greeted: bool,
}

/// A frame, and the acknowledgement that is due.
type Taken = (Kind, Vec<u8>, Option<(Address, u64)>);

impl Connection {
    /// The prefix of a reason that the other side gave.
    pub(super) const SAYS: &'static str = "it says: ";

    fn new(stream: TcpStream, number: u64) -> Self {
        // A machine that loses power sends nothing. Without these options such a connection would never end.
        let _ = sockopt::set_socket_keepalive(&stream, true)
            .and_then(|()| sockopt::set_tcp_keepidle(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_keepintvl(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_user_timeout(&stream, GONE.as_millis() as u32));
        let (opened, input, greeting) = (Instant::now(), Vec::new(), Vec::new());
        Self { number, stream, channel: None, calls: None, opened, input, greeting, has_greeted: false }
    }

    pub(super) fn accepted(stream: TcpStream, number: u64) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, number))
    }

    /// Dials a party without waiting.
    pub(super) fn call(who: &Identity, hello: &Hello, number: u64, at: SocketAddr) -> Result<Self, String> {
        let in_words = |error: std::io::Error| format!("cannot connect: {error}");
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        // A process that is spawned meanwhile must not inherit the connection.
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(|error| in_words(error.into()))?;
        let stream = TcpStream::from(socket);
        stream.set_nonblocking(true).map_err(in_words)?;
        stream.set_nodelay(true).map_err(in_words)?;
        match connect(&stream, &at) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(in_words(error.into())),
        }
        let mut connection = Self { calls: Some(hello.to), ..Self::new(stream, number) };
        connection.greet(who, Kind::Hello, hello);
        Ok(connection)
    }

    /// Sends this side's catalog, unless it is very large, to a party that has dialed with another one.
    pub(super) fn send_catalog(&mut self, who: &Identity) {
        let payload = postcard::to_allocvec(&*who.catalog).expect("catalogs can be written");
        if payload.len() <= MAX_CATALOG_BYTES {
            self.greet_with(who, Kind::Catalog, &payload);
            self.has_greeted = true;
        }
    }

    /// Sends the first frame, which identifies this side.
    pub(super) fn greet(&mut self, who: &Identity, kind: Kind, with: &impl Serialize) {
        self.greet_with(who, kind, &postcard::to_allocvec(with).expect("greetings can be written"));
    }

    fn greet_with(&mut self, who: &Identity, kind: Kind, payload: &[u8]) {
        let of = who.frame(0, MAX_CATALOG_BYTES);
        encode(&mut self.greeting, kind, &of, |out| out.extend_from_slice(payload)).expect("greetings are small");
    }

    /// The other party, once it is identified.
    pub(super) fn peer(&self) -> Option<Address> {
        self.channel.as_ref().map(|channel| channel.peer)
    }

    /// Why the connection has failed to come about, if it has.
    pub(super) fn is_vain(&self) -> Option<&'static str> {
        if self.channel.is_some() {
            return None;
        }
        let waited = self.opened.elapsed();
        if self.calls.is_none() {
            return (waited > HELLO_WITHIN).then_some("it did not identify itself in time");
        }
        // A dialed process may be busy for longer, but its system answers.
        (waited > CONNECTED_WITHIN && self.stream.peer_addr().is_err()).then_some("no process answers there")
    }

    /// Reads what is available; an error: nothing more will come.
    pub(super) fn read(&mut self) -> Result<(), String> {
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let read = self.stream.read(&mut self.input[before..]);
        self.input.truncate(before + read.as_ref().map_or(0, |bytes| *bytes));
        match read {
            Ok(0) => Err(ENDED.to_owned()),
            Ok(_) => Ok(()),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected) =>
            {
                Ok(())
            }
            Err(error) => Err(trouble("read", &error)),
        }
    }

    /// The next whole frame.
    pub(super) fn take(&mut self, who: &Identity) -> Result<Option<Taken>, BadFrame> {
        let expected = match &self.channel {
            Some(channel) => who.frame(channel.received(), MAX_PAYLOAD_BYTES),
            None if self.calls.is_some() => who.frame(0, MAX_CATALOG_BYTES),
            None => who.frame(0, MAX_HELLO_BYTES),
        };
        let Some(frame) = decode(&self.input, &expected)? else { return Ok(None) };
        let (kind, payload, bytes) = (frame.kind, frame.payload.to_vec(), frame.bytes);
        self.input.drain(..bytes);
        // A refusal is not part of the channel.
        let channel = self.channel.as_mut().filter(|_| kind != Kind::Refusal);
        Ok(Some((kind, payload, channel.and_then(|channel| channel.on_frame(bytes)))))
    }

    pub(super) fn has_output(&self) -> bool {
        !self.greeting.is_empty() || self.channel.as_ref().is_some_and(Channel::has_output)
    }

    /// Writes as much as the stream accepts.
    pub(super) fn write(&mut self) -> Result<(), String> {
        let written = write_some(&mut self.stream, &self.greeting)?;
        self.greeting.drain(..written);
        match &mut self.channel {
            Some(channel) if self.greeting.is_empty() => channel.write(&mut self.stream),
            _ => Ok(()),
        }
    }

    /// Sends the reason of closing as the last frame, if that needs no waiting.
    pub(super) fn refuse(&mut self, who: &Identity, why: &str) {
        if self.write().is_ok() && !self.has_output() {
            let (mut refusal, number) = (Vec::new(), self.channel.as_ref().map_or(0, Channel::frames_sent));
            // Before the channel begins, the dialing side has sent its greeting only, and the accepting side its
            // catalog or nothing.
            let has_greeted = self.calls.is_some() || self.has_greeted;
            let number = if self.channel.is_none() && has_greeted { 1 } else { number };
            let of = who.frame(number, MAX_HELLO_BYTES);
            let _ = encode(&mut refusal, Kind::Refusal, &of, |out| out.extend_from_slice(why.as_bytes()));
            let _ = write_some(&mut self.stream, &refusal);
        }
    }
}
