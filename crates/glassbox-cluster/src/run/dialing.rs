//! Whom a party calls, until it is here.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::conversation::Conversation;
use super::link::{Letter, Link, NOT_HERE};
use super::sockets::Sockets;
use crate::protocol::address::Address;
use crate::wire::{Hello, Kind};

/// Pause before those who are not there are called again.
const PAUSE: Duration = Duration::from_millis(20);

impl Sockets {
    /// Keeps what a member is to be told until it is here. A client that is not here waits for nothing.
    pub(super) fn keep(&mut self, to: Address, kind: Kind, payload: &[u8]) {
        if !to.is_member() {
            return self.arrived.push(Letter::Gone(to, NOT_HERE.to_owned()));
        }
        let talk = self.talks.entry(to).or_insert_with(|| Conversation::new(self.who.me, to));
        // Who is away for too long has to begin anew, and is told so when it is here.
        let _ = talk.say(&self.who, kind, payload);
    }

    /// From now on calls a party whenever it is not here.
    pub fn call(&mut self, to: Address, at: SocketAddr) {
        self.calls.insert(to, at);
        self.missing.insert(to);
        self.call_at = Instant::now();
    }

    /// Whether a party can be reached now.
    pub fn reaches(&self, peer: Address) -> bool {
        self.peers.contains_key(&peer)
    }

    /// Waits for a party that is called.
    ///
    /// # Errors
    /// Why it is not here, as far as is known at `until`.
    pub fn wait_for(&mut self, to: Address, until: Instant) -> Result<(), String> {
        while !self.reaches(to) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("{to} cannot be reached: {}", self.unreached));
            }
            self.flush();
            self.work(left.min(PAUSE));
        }
        Ok(())
    }

    /// Calls a party and waits for it.
    ///
    /// # Errors
    /// Why it is not here, as far as is known at `until`.
    pub fn dial(&mut self, to: Address, at: SocketAddr, until: Instant) -> Result<(), String> {
        self.call(to, at);
        self.wait_for(to, until)
    }

    /// Waits until each party that is called is here, or was called in vain.
    pub(super) fn find_called(&mut self, until: Instant) {
        self.failed.clear();
        // Who has gone a moment ago still seems to be here.
        self.work(Duration::ZERO);
        while self.calls.keys().any(|it| !self.reaches(*it) && !self.failed.contains(it)) && Instant::now() < until {
            self.flush();
            self.work(PAUSE);
        }
    }

    /// Calls those who are not here, if it is time.
    pub(super) fn call_missing(&mut self) {
        if self.missing.is_empty() || Instant::now() < self.call_at {
            return;
        }
        self.call_at = Instant::now() + PAUSE;
        for to in std::mem::take(&mut self.missing) {
            let heard = self.talks.get(&to).and_then(Conversation::heard);
            let hello = Hello { from: self.who.me, to, life: self.life, heard };
            let called = Connection::call(&self.who, &hello, self.next, self.calls[&to]);
            match called.and_then(|mut connection| connection.write().map(|()| connection)) {
                Ok(connection) => {
                    self.next += 1;
                    self.connections.push(connection);
                }
                Err(why) => self.is_missing(to, &why),
            }
        }
    }

    pub(super) fn is_missing(&mut self, to: Address, why: &str) {
        self.unreached = format!("{to} at {}: {why}", self.calls[&to]);
        self.missing.insert(to);
        // Who refuses is there, and may think otherwise a moment later.
        if !why.starts_with(Connection::SAYS) {
            self.failed.insert(to);
        }
    }
}
