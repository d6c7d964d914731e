//! What comes on a socket: whether it is taken, and as what.

use super::connection::Connection;
use super::link::Letter;
use super::sockets::Sockets;
use crate::address::Address;
use crate::member::Packet;
use crate::wire::{Hello, Kind, LARGEST_HELLO, Question, allowed, encode};

impl Sockets {
    /// Takes a frame; an error is why the connection has to be closed.
    pub(super) fn hear(&mut self, at: usize, kind: Kind, payload: &[u8]) -> Result<(), String> {
        let unreadable = |_| format!("a frame of kind {kind:?} cannot be read");
        let Some(from) = self.connections[at].peer else {
            if let Some(to) = self.connections[at].calls {
                return match kind {
                    Kind::Welcome if !self.peers.contains_key(&to) => {
                        self.is_here(at, to);
                        Ok(())
                    }
                    Kind::Refusal => Err(refusal(payload)),
                    _ => Err(format!("it answers with a frame of kind {kind:?}")),
                };
            }
            let hello: Hello = match kind {
                Kind::Hello => postcard::from_bytes(payload).map_err(unreadable)?,
                _ => return Err("its first frame does not say who it is".to_owned()),
            };
            return self.welcome(at, &hello);
        };
        let letter = match kind {
            Kind::Message => {
                let packet: Packet = postcard::from_bytes(payload).map_err(unreadable)?;
                allowed(from, self.who.me, &packet.message)?;
                Letter::Message(from, packet)
            }
            Kind::Question if matches!(from, Address::Client(_)) => {
                let question = postcard::from_bytes(payload).map_err(unreadable)?;
                let decides = matches!(question, Question::Begin(_) | Question::Configure(_));
                if decides && from != Address::OPERATOR {
                    return Err(format!("{from} must not say who is who"));
                }
                Letter::Question(from, question)
            }
            Kind::Answer => Letter::Answer(from, postcard::from_bytes(payload).map_err(unreadable)?),
            Kind::Refusal => return Err(refusal(payload)),
            Kind::Hello | Kind::Welcome | Kind::Question => return Err(format!("a frame of kind {kind:?} is not due")),
        };
        self.arrived.push(letter);
        Ok(())
    }

    fn welcome(&mut self, at: usize, hello: &Hello) -> Result<(), String> {
        if hello.to != self.who.me {
            return Err(format!("it wants {}, and this is {}", hello.to, self.who.me));
        }
        let number = self.connections[at].number;
        // The operator before may have lost its power.
        if let (Address::OPERATOR, Some(before)) = (hello.from, self.peers.get(&hello.from).and_then(|it| self.at(*it)))
        {
            self.close(before, Connection::ENDED);
        }
        if hello.from == self.who.me || self.peers.contains_key(&hello.from) {
            return Err(format!("{} is connected already: give each party an address of its own", hello.from));
        }
        if !matches!(hello.from, Address::Client(_)) && self.lives.insert(hello.from, hello.life) == Some(hello.life) {
            return Err(format!("what was on the connection of {} that broke is missing: start it anew", hello.from));
        }
        let at = self.at(number).expect("another was closed");
        let connection = &mut self.connections[at];
        let of = self.who.frame(connection.sent, LARGEST_HELLO);
        encode(&mut connection.output, Kind::Welcome, &of, |_| ()).map_err(|bad| bad.to_string())?;
        connection.sent += 1;
        self.is_here(at, hello.from);
        Ok(())
    }

    /// From here on it is told everything, from what it was to be told before it was here.
    fn is_here(&mut self, at: usize, peer: Address) {
        let connection = &mut self.connections[at];
        connection.peer = Some(peer);
        self.peers.insert(peer, connection.number);
        for (kind, payload) in self.unsent.remove(&peer).unwrap_or_default().frames {
            self.put(peer, kind, &payload);
        }
        self.arrived.push(Letter::Here(peer));
    }
}

/// Why the other side closes it, as far as that can be told in a line.
fn refusal(payload: &[u8]) -> String {
    let words: String = String::from_utf8_lossy(payload).chars().take(500).flat_map(char::escape_debug).collect();
    format!("{}{words}", Connection::SAYS)
}
