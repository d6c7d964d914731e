//! One connection: bytes in, bytes out.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use serde::Serialize;

use super::conversation::{Conversation, ENDED, trouble, write_some};
use super::shape::Identity;
use crate::protocol::address::Address;
use crate::wire::{BadFrame, Hello, Kind, LARGEST_HELLO, LARGEST_PAYLOAD, decode, encode};

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// After so long without a byte the system asks whether the other side is there, and again.
const QUIET: Duration = Duration::from_secs(2);

/// Who called and has not said who it is after so long is sent away.
const HELLO_WITHIN: Duration = Duration::from_secs(5);

/// Who is called and whose system has not answered after so long is called again.
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);

/// After so long without a sign of having received what was sent, the other side is gone.
const GONE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Connection {
    /// No other has it.
    pub(super) number: u64,
    pub(super) stream: TcpStream,
    /// What is said on it, with whom, once it has said who it is and was welcomed.
    pub(super) talk: Option<Conversation>,
    /// Whom this side calls.
    pub(super) calls: Option<Address>,
    pub(super) opened: Instant,
    input: Vec<u8>,
    /// What comes before that: the first frame of each side.
    greeting: Vec<u8>,
}

/// A frame, and who is now to be told of how many.
type Taken = (Kind, Vec<u8>, Option<(Address, u64)>);

impl Connection {
    /// How the reason begins when the other side gave it.
    pub(super) const SAYS: &'static str = "it says: ";

    fn new(stream: TcpStream, number: u64) -> Self {
        // A machine that loses its power says nothing. Where the system cannot look after that, nobody does.
        let _ = sockopt::set_socket_keepalive(&stream, true)
            .and_then(|()| sockopt::set_tcp_keepidle(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_keepintvl(&stream, QUIET))
            .and_then(|()| sockopt::set_tcp_user_timeout(&stream, GONE.as_millis() as u32));
        let (opened, input, greeting) = (Instant::now(), Vec::new(), Vec::new());
        Self { number, stream, talk: None, calls: None, opened, input, greeting }
    }

    pub(super) fn accepted(stream: TcpStream, number: u64) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, number))
    }

    /// Calls somebody, and does not wait for anything.
    pub(super) fn call(who: &Identity, hello: &Hello, number: u64, at: SocketAddr) -> Result<Self, String> {
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
        let mut connection = Self { calls: Some(hello.to), ..Self::new(stream, number) };
        connection.greet(who, Kind::Hello, hello);
        Ok(connection)
    }

    /// Says who this is, before anything else.
    pub(super) fn greet(&mut self, who: &Identity, kind: Kind, with: &impl Serialize) {
        let payload = postcard::to_allocvec(with).expect("greetings can be written");
        let of = who.frame(0, LARGEST_HELLO);
        encode(&mut self.greeting, kind, &of, |out| out.extend_from_slice(&payload)).expect("greetings are small");
    }

    /// Who is there, once it has said so and was welcomed.
    pub(super) fn peer(&self) -> Option<Address> {
        self.talk.as_ref().map(|talk| talk.peer)
    }

    /// Why nothing is to be expected of it any more.
    pub(super) fn is_vain(&self) -> Option<&'static str> {
        if self.talk.is_some() {
            return None;
        }
        let waited = self.opened.elapsed();
        if self.calls.is_none() {
            return (waited > HELLO_WITHIN).then_some("it did not say who it is in time");
        }
        // Whoever is called may be busy for longer, but its system answers.
        (waited > CONNECTED_WITHIN && self.stream.peer_addr().is_err()).then_some("nothing answers there")
    }

    /// Reads what is there; an error: there will be no more.
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
        let expected = match &self.talk {
            Some(talk) => who.frame(talk.received(), LARGEST_PAYLOAD),
            None => who.frame(0, LARGEST_HELLO),
        };
        let Some(frame) = decode(&self.input, &expected)? else { return Ok(None) };
        let (kind, payload, bytes) = (frame.kind, frame.payload.to_vec(), frame.bytes);
        self.input.drain(..bytes);
        // A refusal is no part of the conversation.
        let talk = self.talk.as_mut().filter(|_| kind != Kind::Refusal);
        Ok(Some((kind, payload, talk.and_then(|talk| talk.took(bytes)))))
    }

    pub(super) fn has_output(&self) -> bool {
        !self.greeting.is_empty() || self.talk.as_ref().is_some_and(Conversation::has_output)
    }

    /// Writes as much as goes.
    pub(super) fn write(&mut self) -> Result<(), String> {
        let written = write_some(&mut self.stream, &self.greeting)?;
        self.greeting.drain(..written);
        match &mut self.talk {
            Some(talk) if self.greeting.is_empty() => talk.write(&mut self.stream),
            _ => Ok(()),
        }
    }

    /// Says why it is closed, as the last thing, if that goes without waiting.
    pub(super) fn refuse(&mut self, who: &Identity, why: &str) {
        if self.write().is_ok() && !self.has_output() {
            let (mut refusal, number) = (Vec::new(), self.talk.as_ref().map_or(0, Conversation::said));
            // Who called has said nothing but its greeting, and so has who was called.
            let number = if self.talk.is_none() && self.calls.is_some() { 1 } else { number };
            let of = who.frame(number, LARGEST_HELLO);
            let _ = encode(&mut refusal, Kind::Refusal, &of, |out| out.extend_from_slice(why.as_bytes()));
            let _ = write_some(&mut self.stream, &refusal);
        }
    }
}
