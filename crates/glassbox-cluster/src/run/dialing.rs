//! Dialing: how a party connects to the parties that it is told to call.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::connection::Connection;
use super::link::{Link, LinkEvent, NOT_HERE, TAKEN};
use super::sockets::Sockets;
use crate::protocol::address::Address;
use crate::wire::{Hello, Kind};

/// The pause before absent parties are dialed again.
const PAUSE: Duration = Duration::from_millis(20);
/// How long another process may have this party's address: a predecessor that has ended is noticed sooner.
const TAKEN_FOR: Duration = Duration::from_millis(300);
/// How long the member that decides between two parties with one address is dialed, before another one decides.
const DECIDES_WITHIN: Duration = Duration::from_secs(1);

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
        while self.calls.keys().any(|it| !self.reaches(*it) && !self.failed.contains(it))
            && Instant::now() < until
            && self.check_address().is_ok()
        {
            self.flush();
            self.work(PAUSE);
        }
    }

    /// Why this party must not go on: another process has its address.
    fn check_address(&self) -> Result<(), String> {
        let is_late = |since: &&Instant| since.elapsed() > TAKEN_FOR;
        if self.taken.values().any(|since| is_late(&since)) { Err(self.unreached.clone()) } else { Ok(()) }
    }

    /// Dials these parties, the first one that can be reached before all others: of two processes with one address it
    /// lets one in, and the other one goes without having reached any.
    ///
    /// # Errors
    /// When another process has the address.
    pub(super) fn call_in_order(&mut self, parties: Vec<(Address, SocketAddr)>, until: Instant) -> Result<(), String> {
        let mut is_decided = false;
        for (to, at) in parties {
            self.call(to, at);
            let until = until.min(Instant::now() + DECIDES_WITHIN);
            while !is_decided && !self.reaches(to) && !self.failed.contains(&to) {
                self.check_address()?;
                if Instant::now() >= until && !self.taken.contains_key(&to) {
                    break;
                }
                self.flush();
                self.work(PAUSE);
            }
            is_decided |= self.reaches(to);
        }
        Ok(())
    }

    /// Waits until each dialed party is connected, or was dialed in vain while another one is connected.
    ///
    /// # Errors
    /// Why none is connected, as far as is known at `until`.
    pub(super) fn wait_for_some(&mut self, until: Instant) -> Result<(), String> {
        loop {
            self.find_called(until);
            self.check_address()?;
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
        self.reasons.insert(to, why.to_owned());
        if why.contains(TAKEN) {
            self.taken.entry(to).or_insert_with(Instant::now);
        } else {
            self.taken.remove(&to);
        }
        self.missing.insert(to);
        // A party that refuses is there, and may accept a moment later.
        if !why.starts_with(Connection::SAYS) {
            self.failed.insert(to);
        }
    }
}
