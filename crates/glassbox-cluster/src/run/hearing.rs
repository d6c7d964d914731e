//! What comes on a socket: whether it is taken, and as what.

use super::link::Letter;
use super::sockets::Sockets;
use crate::address::Address;
use crate::message::Message;
use crate::wire::{Hello, Kind, allowed};

impl Sockets {
    /// Takes a frame; an error is why the connection has to be closed.
    pub(super) fn hear(&mut self, at: usize, kind: Kind, payload: &[u8]) -> Result<(), String> {
        let unreadable = |_| format!("a frame of kind {kind:?} cannot be read");
        let Some(from) = self.connections[at].peer else {
            let hello: Hello = match kind {
                Kind::Hello => postcard::from_bytes(payload).map_err(unreadable)?,
                _ => return Err("its first frame does not say who it is".to_owned()),
            };
            return self.welcome(at, &hello);
        };
        let letter = match kind {
            Kind::Message => {
                let message: Message = postcard::from_bytes(payload).map_err(unreadable)?;
                allowed(from, self.who.me, &message, self.who.scheme)?;
                self.check_vote(from, &message)?;
                Letter::Message(from, message)
            }
            Kind::Question if matches!(from, Address::Client(_)) => {
                Letter::Question(from, postcard::from_bytes(payload).map_err(unreadable)?)
            }
            Kind::Answer => Letter::Answer(from, postcard::from_bytes(payload).map_err(unreadable)?),
            Kind::Refusal => return Err(format!("it says: {}", String::from_utf8_lossy(payload))),
            Kind::Hello | Kind::Welcome | Kind::Question => return Err(format!("a frame of kind {kind:?} is not due")),
        };
        self.arrived.push(letter);
        Ok(())
    }

    fn welcome(&mut self, at: usize, hello: &Hello) -> Result<(), String> {
        if hello.to != self.who.me {
            return Err(format!("it wants {}, and this is {}", hello.to, self.who.me));
        }
        if hello.from == self.who.me || self.peers.contains_key(&hello.from) {
            return Err(format!("{} is connected already: give each party an address of its own", hello.from));
        }
        let connection = &mut self.connections[at];
        connection.peer = Some(hello.from);
        self.peers.insert(hello.from, connection.number);
        self.put(hello.from, Kind::Welcome, &[]);
        Ok(())
    }

    /// A client that coordinates must not commit what this partition has not voted for.
    fn check_vote(&mut self, from: Address, message: &Message) -> Result<(), String> {
        if !matches!(from, Address::Client(_)) {
            return Ok(());
        }
        match message {
            Message::Fragment(fragment) => drop(self.voted.remove(&fragment.txn)),
            Message::Decide { txn, commit } => {
                let voted = self.voted.remove(txn);
                if *commit && !voted {
                    return Err(format!("{from} commits a transaction that this partition has not voted for"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
