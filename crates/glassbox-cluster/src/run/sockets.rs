//! A party's TCP connections, in one thread.
//!
//! All sockets are non-blocking, with one `poll`: an idle party sleeps in it, for all connections and for delayed
//! messages. Output to a party is collected and goes in one write. The dialing side identifies itself and is welcomed
//! or refused; from then on both sides use the connection.
//!
//! A party is told which parties to dial, and dials until it is welcomed; messages to another member wait for that. So
//! processes may start in any order. A broken connection is made again, and members continue their [`Channel`]. There
//! is no encryption and no password: that is a private network's task.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::channel::{Channel, ENDED};
use super::connection::Connection;
use super::link::{Link, LinkEvent};
use super::oversized::{Oversized, oversized};
use super::shape::Identity;
use super::timing::DelayQueue;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Packet};
use crate::wire::{Answer, BadFrame, Kind, Question};

/// A wait shorter than this is a busy-wait.
const CLOSE: Duration = Duration::from_micros(8);
/// Bytes that wait for a party after which it is sent nothing that may be lost.
const MAX_UNWRITTEN_BYTES: usize = 4 << 20;
/// The maximum of open connections.
const MAX_CONNECTIONS: usize = 4_096;
/// The maximum of queued events; while it is reached, clients' connections are not read.
const MAX_QUEUED_EVENTS: usize = 1 << 16;
/// The maximum of distinct complaints that are reported.
const MAX_COMPLAINTS: usize = 1_000;

/// A party's connections.
#[derive(Debug)]
pub struct Sockets {
    pub(super) who: Identity,
    listener: Option<TcpListener>,
    pub(super) connections: Vec<Connection>,
    pub(super) peers: BTreeMap<Address, u64>,
    pub(super) next: u64,
    pub(super) arrived: DelayQueue<LinkEvent>,
    told: BTreeSet<String>,
    tell: fn(&str),
    /// The parties to dial, and where.
    pub(super) calls: BTreeMap<Address, SocketAddr>,
    /// Parties that are neither connected nor being dialed, when to dial them, and why the last attempt failed.
    pub(super) missing: BTreeSet<Address>,
    pub(super) call_at: Instant,
    pub(super) unreached: String,
    /// Why each of them is not connected.
    pub(super) reasons: BTreeMap<Address, String>,
    /// Members that have another process with this party's address, and since when.
    pub(super) taken: BTreeMap<Address, Instant>,
    /// Parties that were dialed in vain since they were last connected.
    pub(super) failed: BTreeSet<Address>,
    /// Channels with members that are not connected.
    pub(super) channels: BTreeMap<Address, Channel>,
    /// This process's incarnation.
    pub(super) incarnation: u64,
    /// How another thread wakes this one, if it may.
    woken: Option<Woken>,
}

impl Sockets {
    /// The connections of a party, which accepts others if it has a listener. `tell` is called once for each distinct
    /// refusal.
    ///
    /// # Errors
    /// The system's.
    pub fn new(
        who: Identity,
        listener: Option<TcpListener>,
        round_trip: Duration,
        tell: fn(&str),
    ) -> std::io::Result<Self> {
        super::timing::sleep_precisely();
        if let Some(listener) = &listener {
            listener.set_nonblocking(true)?;
        }
        Ok(Self {
            who,
            listener,
            connections: Vec::new(),
            peers: BTreeMap::new(),
            next: 0,
            arrived: DelayQueue::new(round_trip),
            told: BTreeSet::new(),
            tell,
            calls: BTreeMap::new(),
            missing: BTreeSet::new(),
            call_at: Instant::now(),
            unreached: String::new(),
            reasons: BTreeMap::new(),
            taken: BTreeMap::new(),
            failed: BTreeSet::new(),
            channels: BTreeMap::new(),
            incarnation: RandomState::new().build_hasher().finish(),
            woken: None,
        })
    }

    /// A function with which another thread wakes this one.
    ///
    /// # Errors
    /// The system's.
    pub fn waker(&mut self) -> std::io::Result<impl Fn() + Send + 'static> {
        let (woken, wake) = waker()?;
        self.woken = Some(woken);
        Ok(wake)
    }

    pub(super) fn at(&self, number: u64) -> Option<usize> {
        self.connections.iter().position(|connection| connection.number == number)
    }

    /// The present index of a connection.
    fn still(&self, at: usize, number: u64) -> Option<usize> {
        if self.connections.get(at).is_some_and(|it| it.number == number) { Some(at) } else { self.at(number) }
    }

    /// Whether a party is connected and reads what it is sent.
    fn reads(&self, to: Address) -> bool {
        let at = self.peers.get(&to).and_then(|number| self.at(*number));
        let channel = at.and_then(|at| self.connections[at].channel.as_ref());
        channel.is_some_and(|channel| channel.unwritten() < MAX_UNWRITTEN_BYTES)
    }

    fn put(&mut self, to: Address, kind: Kind, payload: &[u8]) {
        let Some(at) = self.peers.get(&to).and_then(|number| self.at(*number)) else {
            return self.keep(to, kind, payload);
        };
        let channel = self.connections[at].channel.as_mut().expect("a peer's connection has one");
        if let Err(why) = channel.send_frame(&self.who, kind, payload) {
            self.close(at, &why);
        }
    }

    /// Closes a connection, and tells the other side the reason, if it reads it.
    pub(super) fn close(&mut self, at: usize, why: &str) {
        let mut connection = self.connections.swap_remove(at);
        connection.refuse(&self.who, why);
        if let Some(to) = connection.calls {
            self.is_missing(to, why);
        }
        let peer = connection.peer();
        let who = match peer.or(connection.calls) {
            Some(peer) => peer.to_string(),
            None => "an unidentified party".to_owned(),
        };
        let line = format!("{}: the connection of {who} is closed: {why}", self.who.me);
        // An absent or disconnected party is not worth a report.
        let is_news = match (peer, connection.calls) {
            (None, Some(_)) => why.starts_with(Connection::SAYS),
            (None, None) => true,
            (Some(_), _) => why != ENDED,
        };
        if is_news && self.told.len() < MAX_COMPLAINTS && self.told.insert(line.clone()) {
            (self.tell)(&line);
        }
        let Some(mut channel) = connection.channel else { return };
        if self.peers.get(&channel.peer) == Some(&connection.number) {
            self.peers.remove(&channel.peer);
        }
        if channel.resumes() {
            channel.on_broken();
            self.arrived.push(LinkEvent::Interrupted(channel.peer));
            self.channels.insert(channel.peer, channel);
        } else {
            self.arrived.push(LinkEvent::Disconnected(channel.peer, why.to_owned()));
        }
    }

    /// Waits for at most this long until a socket is ready, and handles it.
    pub(super) fn work(&mut self, mut wait: Duration) {
        self.call_missing();
        if !self.missing.is_empty() {
            wait = wait.min(self.call_at.saturating_duration_since(Instant::now()));
        }
        let full = self.arrived.len() >= MAX_QUEUED_EVENTS;
        let mut fds = Vec::with_capacity(self.connections.len() + 1);
        for connection in &self.connections {
            let read = !(full && matches!(connection.peer(), Some(Address::Client(_))));
            let mut flags = if read { PollFlags::IN } else { PollFlags::empty() };
            flags.set(PollFlags::OUT, connection.has_output());
            fds.push(PollFd::new(&connection.stream, flags));
        }
        fds.extend(self.listener.as_ref().map(|listener| PollFd::new(listener, PollFlags::IN)));
        fds.extend(self.woken.as_ref().map(|woken| PollFd::new(&woken.stream, PollFlags::IN)));
        let time = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        if !matches!(poll(&mut fds, Some(&time)), Ok(1..)) && !self.connections.iter().any(|it| it.channel.is_none()) {
            return;
        }
        let flags = fds.iter().map(|fd| fd.revents());
        let ready: Vec<_> = self.connections.iter().map(|it| it.number).zip(flags).collect();
        let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        let calls = self.listener.is_some() && is_ready(fds.get(ready.len()));
        let is_woken = self.woken.is_some() && is_ready(fds.last());
        drop(fds);
        self.woken.iter_mut().filter(|_| is_woken).for_each(Woken::hear);
        // From the last on: a closed connection is replaced by the last one.
        for (at, (number, flags)) in ready.into_iter().enumerate().rev() {
            let Some(at) = self.still(at, number) else { continue };
            if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                self.read(at);
            } else if let Some(why) = self.connections[at].is_vain() {
                self.close(at, why);
            }
        }
        if calls {
            self.accept();
        }
    }

    fn accept(&mut self) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            let Ok(connection) = Connection::accepted(stream, self.next) else { continue };
            self.next += 1;
            self.connections.push(connection);
            if self.connections.len() > MAX_CONNECTIONS {
                self.close(self.connections.len() - 1, "too many connections; try again later");
            }
        }
    }

    /// Handles the frames that have arrived on a connection.
    fn read(&mut self, mut at: usize) {
        let number = self.connections[at].number;
        let ended = self.connections[at].read();
        loop {
            // Handling a frame may have closed this connection or another one.
            let Some(now) = self.still(at, number) else { return };
            at = now;
            let heard = match self.connections[at].take(&self.who) {
                Ok(Some((kind, payload, told))) => {
                    let heard = self.hear(at, kind, &payload);
                    if let Some((peer, taken)) = told {
                        self.put(peer, Kind::Taken, &postcard::to_allocvec(&taken).expect("a number can be written"));
                    }
                    heard
                }
                Ok(None) => break,
                Err(bad) => {
                    let connection = &mut self.connections[at];
                    if matches!(bad, BadFrame::Catalog { .. }) && connection.peer().or(connection.calls).is_none() {
                        connection.send_catalog(&self.who);
                    }
                    Err(bad.to_string())
                }
            };
            if let (Err(why), Some(at)) = (heard, self.at(number)) {
                return self.close(at, &why);
            }
        }
        if let Err(why) = ended {
            self.close(at, &why);
        }
    }
}

impl Link for Sockets {
    fn send(&mut self, to: Address, packet: Packet) {
        let bytes = postcard::to_allocvec(&packet).expect("packets can be written");
        match oversized(to, &packet, bytes.len()) {
            None => {}
            Some(Oversized::Instead(packet)) => return self.send(to, packet),
            Some(Oversized::Back(packet)) => return self.arrived.push(LinkEvent::Message(to, packet)),
        }
        let is_of_join = matches!(packet.message, Message::Rows { .. } | Message::Remember { .. });
        if is_of_join && let Some(at) = self.peers.get(&to).and_then(|it| self.at(*it)) {
            self.connections[at].channel.iter_mut().for_each(|channel| channel.expect_rows(bytes.len()));
        }
        if packet.message.may_be_lost() && !self.reads(to) {
            return;
        }
        self.put(to, Kind::Message, &bytes);
    }

    fn question(&mut self, to: Address, question: Question) {
        let bytes = postcard::to_allocvec(&question).expect("questions can be written");
        self.put(to, Kind::Question, &bytes);
    }

    fn reply(&mut self, to: Address, answer: Answer) {
        let bytes = postcard::to_allocvec(&answer).expect("answers can be written");
        self.put(to, Kind::Answer, &bytes);
    }

    fn announces(&self) -> bool {
        true
    }

    fn why_not(&self, party: Address) -> Option<String> {
        self.reasons.get(&party).filter(|_| !self.is_connected(party)).cloned()
    }

    fn find_reachable(&mut self, until: Instant) {
        self.find_called(until);
    }

    fn connected(&self) -> Vec<Address> {
        self.peers.keys().copied().collect()
    }

    fn is_connected(&self, party: Address) -> bool {
        self.peers.contains_key(&party)
    }

    fn flush(&mut self) {
        for at in (0..self.connections.len()).rev() {
            if let Err(why) = self.connections[at].write() {
                self.close(at, &why);
            }
        }
    }

    fn receive(&mut self, wait: Duration) -> Option<LinkEvent> {
        if let Some(event) = self.arrived.pop() {
            return Some(event);
        }
        let began = (!wait.is_zero()).then(Instant::now);
        loop {
            let waited = began.map_or(Duration::MAX, |began| began.elapsed());
            let left = wait.saturating_sub(waited);
            let sleep = self.arrived.next().sleep(waited, left, CLOSE).unwrap_or(Duration::ZERO);
            self.work(sleep);
            let event = self.arrived.pop();
            if event.is_some() || left.is_zero() || self.woken.as_mut().is_some_and(Woken::take) {
                return event;
            }
            self.flush();
            if sleep.is_zero() {
                std::thread::yield_now();
            }
        }
    }
}

/// The sleeping side of a waker.
#[derive(Debug)]
pub(super) struct Woken {
    /// Readable when the thread is to wake.
    pub(super) stream: UnixStream,
    was: bool,
}

/// Both sides; the other one wakes.
pub(super) fn waker() -> std::io::Result<(Woken, impl Fn() + Send + 'static)> {
    let (writes, stream) = UnixStream::pair()?;
    writes.set_nonblocking(true)?;
    stream.set_nonblocking(true)?;
    // A full pipe means that a wake-up is pending.
    Ok((Woken { stream, was: false }, move || drop((&writes).write(&[0]))))
}

impl Woken {
    /// Drains the pipe.
    pub(super) fn hear(&mut self) {
        // More bytes than this cause one more wake-up.
        self.was |= matches!(self.stream.read(&mut [0; 64]), Ok(1..));
    }

    /// Whether it was woken since the last call.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.was)
    }
}
