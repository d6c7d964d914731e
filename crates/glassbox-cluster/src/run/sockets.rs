//! A party's connections over TCP, in one thread.
//!
//! Sockets that never block and one `poll`: whoever has nothing to do sleeps in it, for all connections and for what is
//! still held up. What is to be sent to somebody is collected, and goes in one write. Whoever calls says who it is and
//! is welcomed or refused; from then on both sides use the connection.
//!
//! A party is told whom to call, and calls until it is welcomed; what it has to say to another member waits for that.
//! So nobody needs to be started before another. A connection that broke is made again, and members go on where they
//! were ([`Conversation`]). There is no encryption and no password: that is a private network's task.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::Connection;
use super::conversation::{Conversation, ENDED};
use super::link::{Letter, Link};
use super::shape::Identity;
use super::timing::Late;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Packet};
use crate::wire::{Answer, Kind, Question};

/// So soon a message is not waited for asleep.
const CLOSE: Duration = Duration::from_micros(8);
/// Connections at one time.
const MOST_CONNECTIONS: usize = 4_096;
/// Letters that wait here before clients are read no more, until they are fewer.
const MOST_LETTERS: usize = 1 << 16;
/// Different complaints that are told.
const MOST_TOLD: usize = 1_000;

/// A party's connections.
#[derive(Debug)]
pub struct Sockets {
    pub(super) who: Identity,
    listener: Option<TcpListener>,
    pub(super) connections: Vec<Connection>,
    pub(super) peers: BTreeMap<Address, u64>,
    pub(super) next: u64,
    pub(super) arrived: Late<Letter>,
    told: BTreeSet<String>,
    tell: fn(&str),
    /// Whom to call, and where.
    pub(super) calls: BTreeMap<Address, SocketAddr>,
    /// Those of them who are neither here nor being called, when to call them, and why the last one was not reached.
    pub(super) missing: BTreeSet<Address>,
    pub(super) call_at: Instant,
    pub(super) unreached: String,
    /// Those who were called in vain at least once since they were here last.
    pub(super) failed: BTreeSet<Address>,
    /// Those with members who are not here.
    pub(super) talks: BTreeMap<Address, Conversation>,
    /// Which process this is.
    pub(super) life: u64,
    /// Whether another thread has woken this one, if one may.
    woken: Option<Woken>,
}

impl Sockets {
    /// Connections of a party that, with a listener, may be called. `tell` hears, once each, of what was refused.
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
            arrived: Late::new(round_trip),
            told: BTreeSet::new(),
            tell,
            calls: BTreeMap::new(),
            missing: BTreeSet::new(),
            call_at: Instant::now(),
            unreached: String::new(),
            failed: BTreeSet::new(),
            talks: BTreeMap::new(),
            life: RandomState::new().build_hasher().finish(),
            woken: None,
        })
    }

    /// What another thread calls to wake this one, when it waits for messages.
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

    /// Where a connection is that was there a moment ago.
    fn still(&self, at: usize, number: u64) -> Option<usize> {
        if self.connections.get(at).is_some_and(|it| it.number == number) { Some(at) } else { self.at(number) }
    }

    fn put(&mut self, to: Address, kind: Kind, payload: &[u8]) {
        let Some(at) = self.peers.get(&to).and_then(|number| self.at(*number)) else {
            return self.keep(to, kind, payload);
        };
        let talk = self.connections[at].talk.as_mut().expect("a peer's connection has one");
        if let Err(why) = talk.say(&self.who, kind, payload) {
            self.close(at, &why);
        }
    }

    /// Ends a connection and tells the other side why, if it listens.
    pub(super) fn close(&mut self, at: usize, why: &str) {
        let mut connection = self.connections.swap_remove(at);
        connection.refuse(&self.who, why);
        if let Some(to) = connection.calls {
            self.is_missing(to, why);
        }
        let peer = connection.peer();
        let who = match peer.or(connection.calls) {
            Some(peer) => peer.to_string(),
            None => "somebody who did not say who it is".to_owned(),
        };
        let line = format!("{}: the connection of {who} is closed: {why}", self.who.me);
        // That somebody is not there, or not there any more, need not be told.
        let is_news = match (peer, connection.calls) {
            (None, Some(_)) => why.starts_with(Connection::SAYS),
            (None, None) => true,
            (Some(_), _) => why != ENDED,
        };
        if is_news && self.told.len() < MOST_TOLD && self.told.insert(line.clone()) {
            (self.tell)(&line);
        }
        let Some(mut talk) = connection.talk else { return };
        if self.peers.get(&talk.peer) == Some(&connection.number) {
            self.peers.remove(&talk.peer);
        }
        if talk.resumes() {
            talk.breaks();
            self.talks.insert(talk.peer, talk);
        } else {
            self.arrived.push(Letter::Gone(talk.peer, why.to_owned()));
        }
    }

    /// Waits for at most so long until something can be done with a socket, and does it.
    pub(super) fn work(&mut self, mut wait: Duration) {
        self.call_missing();
        if !self.missing.is_empty() {
            wait = wait.min(self.call_at.saturating_duration_since(Instant::now()));
        }
        let full = self.arrived.len() >= MOST_LETTERS;
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
        if !matches!(poll(&mut fds, Some(&time)), Ok(1..)) && !self.connections.iter().any(|it| it.talk.is_none()) {
            return;
        }
        let flags = fds.iter().map(|fd| fd.revents());
        let ready: Vec<_> = self.connections.iter().map(|it| it.number).zip(flags).collect();
        let is_ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        let calls = self.listener.is_some() && is_ready(fds.get(ready.len()));
        let is_woken = self.woken.is_some() && is_ready(fds.last());
        drop(fds);
        self.woken.iter_mut().filter(|_| is_woken).for_each(Woken::hear);
        // From the last on: those that are closed let the last take their place.
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
            if self.connections.len() > MOST_CONNECTIONS {
                self.close(self.connections.len() - 1, "there are too many connections: try again later");
            }
        }
    }

    /// Takes what has come on a connection.
    fn read(&mut self, mut at: usize) {
        let number = self.connections[at].number;
        let ended = self.connections[at].read();
        loop {
            // What was heard may have closed another, or this one.
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
                Err(bad) => Err(bad.to_string()),
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
        if let (Message::Rows { .. }, Some(at)) = (&packet.message, self.peers.get(&to).and_then(|it| self.at(*it))) {
            self.connections[at].talk.iter_mut().for_each(|talk| talk.expect_rows(bytes.len()));
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

    fn look_around(&mut self, until: Instant) {
        self.find_called(until);
    }

    fn everybody(&self) -> Vec<Address> {
        self.peers.keys().copied().collect()
    }

    fn flush(&mut self) {
        for at in (0..self.connections.len()).rev() {
            if let Err(why) = self.connections[at].write() {
                self.close(at, &why);
            }
        }
    }

    fn receive(&mut self, wait: Duration) -> Option<Letter> {
        if let Some(letter) = self.arrived.pop() {
            return Some(letter);
        }
        let began = (!wait.is_zero()).then(Instant::now);
        loop {
            let waited = began.map_or(Duration::MAX, |began| began.elapsed());
            let left = wait.saturating_sub(waited);
            let sleep = self.arrived.next().sleep(waited, left, CLOSE).unwrap_or(Duration::ZERO);
            self.work(sleep);
            let letter = self.arrived.pop();
            if letter.is_some() || left.is_zero() || self.woken.as_mut().is_some_and(Woken::take) {
                return letter;
            }
            self.flush();
            if sleep.is_zero() {
                std::thread::yield_now();
            }
        }
    }
}

/// The side of who sleeps.
#[derive(Debug)]
pub(super) struct Woken {
    /// Can be read from when it is to wake.
    pub(super) stream: UnixStream,
    was: bool,
}

/// Both sides; the other one wakes.
pub(super) fn waker() -> std::io::Result<(Woken, impl Fn() + Send + 'static)> {
    let (writes, stream) = UnixStream::pair()?;
    writes.set_nonblocking(true)?;
    stream.set_nonblocking(true)?;
    // Full: it has been woken and has not looked yet.
    Ok((Woken { stream, was: false }, move || drop((&writes).write(&[0]))))
}

impl Woken {
    /// Takes what was sent.
    pub(super) fn hear(&mut self) {
        // More than this wakes it once more.
        self.was |= matches!(self.stream.read(&mut [0; 64]), Ok(1..));
    }

    /// Whether it was woken since this was asked before.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.was)
    }
}
