//! Dialing: how a party connects to the parties that it is told to call.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::connection::Connection;
use super::link::{Link, LinkEvent, NOT_HERE};
use super::sockets::Sockets;
use crate::protocol::address::Address;
use crate::wire::{Hello, Kind};

/// The pause before absent parties are dialed again.
const PAUSE: Duration = Duration::from_millis(20);

impl Sockets {
    /// Keeps a frame for an absent member. A frame for an absent client is dropped.
    pub(super) fn keep(&mut self, to: Address, kind: Kind, payload: &[u8]) {
        if !to.is_member() {
            return self.arrived.push(LinkEvent::Disconnected(to, NOT_HERE.to_owned()));
        }
        let channel = self.channels.entry(to).or_insert_with(|| Channel::new(self.who.me, to));
        // A party that is absent for too long has to be restarted, and is told so when it connects.
        let _ = channel.send_frame(&self.who, kind, payload);
    }

    /// Dials a party whenever it is not connected.
    pub fn call(&mut self, to: Address, at: SocketAddr) {
        self.calls.insert(to, at);
        self.missing.insert(to);
        self.call_at = Instant::now();
    }

    /// Whether a party is connected.
    pub fn reaches(&self, peer: Address) -> bool {
        self.peers.contains_key(&peer)
    }

    /// Waits for a party that is dialed.
    ///
    /// # Errors
    /// Why it is not connected, as far as is known at `until`.
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

    /// Dials a party and waits for it.
    ///
    /// # Errors
    /// Why it is not connected, as far as is known at `until`.
    pub fn dial(&mut self, to: Address, at: SocketAddr, until: Instant) -> Result<(), String> {
        self.call(to, at);
        self.wait_for(to, until)
    }

    /// Waits until each dialed party is connected, or was dialed in vain.
    pub(super) fn find_called(&mut self, until: Instant) {
        self.failed.clear();
        // Notices parties that have just disconnected.
        self.work(Duration::ZERO);
        while self.calls.keys().any(|it| !self.reaches(*it) && !self.failed.contains(it)) && Instant::now() < until {
            self.flush();
            self.work(PAUSE);
        }
    }

    /// Waits until each dialed party is connected, or was dialed in vain while another one is connected.
    ///
    /// # Errors
    /// Why none is connected, as far as is known at `until`.
    pub(super) fn wait_for_some(&mut self, until: Instant) -> Result<(), String> {
        loop {
            self.find_called(until);
            if !self.peers.is_empty() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("no member can be reached: {}", self.unreached));
            }
        }
    }

    /// Dials the absent parties, if it is time.
    pub(super) fn call_missing(&mut self) {
        if self.missing.is_empty() || Instant::now() < self.call_at {
            return;
        }
        self.call_at = Instant::now() + PAUSE;
        for to in std::mem::take(&mut self.missing) {
            let heard = self.channels.get(&to).and_then(Channel::heard);
            let hello = Hello { from: self.who.me, to, incarnation: self.incarnation, heard };
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
        // A party that refuses is there, and may accept a moment later.
        if !why.starts_with(Connection::SAYS) {
            self.failed.insert(to);
        }
    }
}
