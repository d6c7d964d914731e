//! Whom a party calls, until it is here; and questions, which wait for their answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::link::{Letter, Link};
use super::sockets::Sockets;
use crate::address::Address;
use crate::wire::{Answer, Kind, Question};

/// Pause before those who are not there are called again.
const PAUSE: Duration = Duration::from_millis(20);

impl Sockets {
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

    /// Calls those who are not here, if it is time.
    pub(super) fn call_missing(&mut self) {
        if self.missing.is_empty() || Instant::now() < self.call_at {
            return;
        }
        self.call_at = Instant::now() + PAUSE;
        for to in std::mem::take(&mut self.missing) {
            let called = Connection::call(&self.who, self.next, to, self.calls[&to]);
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
    }

    /// Asks, and waits for the answer. Messages that come meanwhile are lost: it is for those who only ask.
    ///
    /// # Errors
    /// When there is none before `until`.
    pub fn ask(&mut self, to: Address, question: Question, until: Instant) -> Result<Answer, String> {
        let bytes = postcard::to_allocvec(&question).expect("questions can be written");
        self.put(to, Kind::Question, &bytes);
        self.flush();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("{to} does not answer"));
            }
            match self.receive(left) {
                Some(Letter::Answer(from, answer)) if from == to => return Ok(answer),
                Some(Letter::Gone(from, why)) if from == to => return Err(format!("{to} is gone: {why}")),
                _ => {}
            }
        }
    }
}
