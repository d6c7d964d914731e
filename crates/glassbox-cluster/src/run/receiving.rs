//! Frames received on a socket: admission and dispatch.

use glassbox::research::shard::CatalogSummary;
use serde::de::DeserializeOwned;

use super::channel::{Channel, ENDED};
use super::connection::Connection;
use super::link::{LinkEvent, TAKEN};
use super::sockets::Sockets;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
use crate::wire::{Hello, Kind, Question, Welcome, allowed};

impl Sockets {
    /// Handles a frame; an error is the reason to close the connection.
    pub(super) fn hear(&mut self, at: usize, kind: Kind, payload: &[u8]) -> Result<(), String> {
        if kind == Kind::Refusal {
            return Err(refusal(payload));
        }
        let Some(from) = self.connections[at].peer() else { return self.greeted(at, kind, payload) };
        let heard = self.hear_from(from, at, kind, payload);
        if let (Err(why), Some(channel)) = (&heard, &mut self.connections[at].channel) {
            channel.lose(why);
        }
        heard
    }

    /// Handles the first frame of a connection.
    fn greeted(&mut self, at: usize, kind: Kind, payload: &[u8]) -> Result<(), String> {
        match (self.connections[at].calls, kind) {
            (Some(to), Kind::Welcome) if !self.peers.contains_key(&to) => {
                let Welcome { incarnation, received } = read(kind, payload)?;
                self.is_here(at, to, incarnation, received)
            }
            (Some(_), Kind::Catalog) => Err(self.other_catalog(&read(kind, payload)?)),
            (Some(_), _) => Err(format!("it answers with a frame of kind {kind:?}")),
            (None, Kind::Hello) => self.welcome(at, &read(kind, payload)?),
            (None, _) => Err("its first frame does not identify it".to_owned()),
        }
    }

    /// Handles a later frame.
    fn hear_from(&mut self, from: Address, at: usize, kind: Kind, payload: &[u8]) -> Result<(), String> {
        let event = match kind {
            Kind::Message => {
                let packet: Packet = read(kind, payload)?;
                allowed(from, self.who.me, &packet.message)?;
                LinkEvent::Message(from, packet)
            }
            Kind::Question if matches!(from, Address::Client(_)) => {
                let question = read(kind, payload)?;
                let decides = matches!(
                    question,
                    Question::Begin(_) | Question::Configure(_) | Question::ChangeGroup(_) | Question::Settle(_)
                );
                if decides && from != Address::OPERATOR {
                    return Err(format!("{from} must not decide configurations"));
                }
                LinkEvent::Question(from, question)
            }
            Kind::Answer => LinkEvent::Answer(from, read(kind, payload)?),
            Kind::Taken if from.is_member() => {
                let channel = self.connections[at].channel.as_mut().expect("it says something");
                return channel.on_ack(read(kind, payload)?);
            }
            Kind::Hello | Kind::Welcome | Kind::Refusal | Kind::Question | Kind::Taken | Kind::Catalog => {
                return Err(format!("unexpected frame of kind {kind:?}"));
            }
        };
        self.arrived.push(event);
        Ok(())
    }

    /// Why a dialed party with another catalog does not welcome this one.
    fn other_catalog(&self, theirs: &CatalogSummary) -> String {
        let difference = self.who.catalog.difference(theirs).unwrap_or_else(|| "it does not say how".to_owned());
        let (says, difference) = (Connection::SAYS, shortened(&difference));
        format!(
            "{says}its tables and procedures are not the ones of this program: {difference}; build both programs from \
             the same source"
        )
    }

    fn welcome(&mut self, at: usize, hello: &Hello) -> Result<(), String> {
        if hello.to != self.who.me {
            return Err(format!("it dials {}, and this is {}", hello.to, self.who.me));
        }
        let number = self.connections[at].number;
        if let Some(before) = self.peers.get(&hello.from).and_then(|it| self.at(*it)) {
            let channel = self.connections[before].channel.as_ref();
            // A party that dials again knows that its former connection is broken. A former operator may have lost
            // power.
            if hello.from != Address::OPERATOR && channel.and_then(Channel::incarnation) != Some(hello.incarnation) {
                return Err(format!("{} {TAKEN}", hello.from));
            }
            self.close(before, ENDED);
        }
        if hello.from == self.who.me {
            return Err(format!("{} {TAKEN}", hello.from));
        }
        let at = self.at(number).expect("another was closed");
        let mine = hello.heard.filter(|heard| heard.incarnation == self.incarnation);
        let before = self.channels.get(&hello.from).and_then(Channel::incarnation);
        if mine.is_some() && before != Some(hello.incarnation) {
            return Err(format!("another process was {} meanwhile; restart it", hello.from));
        }
        self.is_here(at, hello.from, hello.incarnation, mine.map_or(1, |heard| heard.received))
    }

    /// The channel begins or continues here, from the frames that the peer has not received.
    fn is_here(&mut self, at: usize, peer: Address, incarnation: u64, taken: u64) -> Result<(), String> {
        let mut channel = self.channels.remove(&peer).unwrap_or_else(|| Channel::new(self.who.me, peer));
        let resumed = channel.resume(&self.who, incarnation, taken);
        let connection = &mut self.connections[at];
        match resumed {
            Err(why) => {
                self.channels.insert(peer, channel);
                return Err(why);
            }
            Ok(true) => self.arrived.push(LinkEvent::Disconnected(peer, "another process has its address".to_owned())),
            Ok(false) => {}
        }
        if connection.calls.is_none() {
            connection.greet(
                &self.who,
                Kind::Welcome,
                &Welcome { incarnation: self.incarnation, received: channel.received() },
            );
        }
        connection.channel = Some(channel);
        self.peers.insert(peer, connection.number);
        self.reasons.remove(&peer);
        self.taken.remove(&peer);
        self.arrived.push(LinkEvent::Connected(peer));
        Ok(())
    }
}

fn read<T: DeserializeOwned>(kind: Kind, payload: &[u8]) -> Result<T, String> {
    postcard::from_bytes(payload).map_err(|_| format!("a frame of kind {kind:?} cannot be read"))
}

/// The other side's reason.
fn refusal(payload: &[u8]) -> String {
    format!("{}{}", Connection::SAYS, shortened(&String::from_utf8_lossy(payload)))
}

/// Words of another party, shortened to a line.
fn shortened(words: &str) -> String {
    words.chars().take(500).flat_map(char::escape_debug).collect()
}
