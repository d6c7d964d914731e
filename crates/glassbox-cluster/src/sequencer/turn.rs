//! The turn: a token whose holder, one of several coordinators, dispatches transactions.
//!
//! Suzuki, Kasami, *A Distributed Mutual Exclusion Algorithm*, ACM TOCS 3(4), 1985. A coordinator requests the turn
//! from all others with a number that counts its requests. The turn carries the last served request of each coordinator
//! and the queue of waiting ones. Its holder keeps it until another coordinator requests it, so a single busy
//! coordinator needs no messages. A coordinator that fails may take the turn with it. So every change of a coordinator
//! or primary restarts the order, with a new turn at coordinator 0; it takes effect once coordinator 0 runs.
//!
//! The turn also carries the last place at each partition. Partitions begin transactions in the order of their places,
//! so all participants agree on one order although messages of two coordinators may overtake each other.

use crate::protocol::address::Address;
use crate::protocol::message::{Message, Turn};
use crate::protocol::outbox::Outbox;

/// A coordinator's view of the turn.
#[derive(Debug)]
pub(crate) struct TurnState {
    me: u16,
    /// The last request of each coordinator.
    asked: Vec<u64>,
    partitions: usize,
    turn: Option<Turn>,
}

impl TurnState {
    /// The state at the beginning of an order: coordinator 0 has the turn.
    pub(crate) fn begin(me: u16, coordinators: usize, partitions: usize) -> Self {
        let turn = || Turn { served: vec![0; coordinators], queue: Vec::new(), places: vec![0; partitions] };
        Self { me, asked: vec![0; coordinators], partitions, turn: (me == 0).then(turn) }
    }

    /// Whether this coordinator has the turn.
    pub(crate) fn is_mine(&self) -> bool {
        self.turn.is_some()
    }

    /// The next place at a partition. Only the holder of the turn may call this.
    pub(crate) fn place(&mut self, partition: usize) -> u64 {
        let place = &mut self.turn.as_mut().expect("it is our turn").places[partition];
        *place = place.saturating_add(1);
        *place
    }

    /// Requests the turn, once.
    pub(crate) fn ask(&mut self, out: &mut Outbox) {
        let me = usize::from(self.me);
        self.asked[me] += 1;
        for other in (0..self.asked.len()).filter(|other| *other != me) {
            out.send(Address::Coordinator(other as u16), Message::AskTurn { number: self.asked[me] });
        }
    }

    /// Another coordinator requests the turn, and gets it if it is not needed here.
    pub(crate) fn asked(&mut self, from: u16, number: u64, out: &mut Outbox) {
        if let Some(asked) = self.asked.get_mut(usize::from(from)).filter(|_| from != self.me) {
            *asked = number.max(*asked);
            self.pass_on(out);
        }
    }

    /// Receives the turn; whether it is a valid one.
    pub(crate) fn take(&mut self, turn: Turn) -> bool {
        let count = self.asked.len();
        let fits = turn.served.len() == count
            && turn.places.len() == self.partitions
            && turn.queue.iter().all(|&waits| usize::from(waits) < count && waits != self.me);
        if self.turn.is_none() && fits {
            self.turn = Some(turn);
        }
        fits
    }

    /// Passes the turn to the coordinator that has waited longest, if one waits.
    pub(crate) fn pass_on(&mut self, out: &mut Outbox) {
        let Some(mut turn) = self.turn.take() else { return };
        let (me, count) = (usize::from(self.me), self.asked.len());
        turn.served[me] = self.asked[me];
        // Round-robin from the next coordinator on, for fairness.
        for other in (me + 1..count).chain(0..me) {
            let waits = self.asked[other] > turn.served[other];
            if waits && !turn.queue.contains(&(other as u16)) {
                turn.queue.push(other as u16);
            }
        }
        if turn.queue.is_empty() {
            self.turn = Some(turn);
        } else {
            let next = turn.queue.remove(0);
            out.send(Address::Coordinator(next), Message::Turn(Box::new(turn)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::protocol::outbox::Action;

    /// Three coordinators that request the turn again and again: all are served, and at most one has it.
    #[test]
    fn every_coordinator_gets_the_turn_and_at_most_one_has_it() {
        let mut all: Vec<_> = (0..3).map(|me| TurnState::begin(me, 3, 1)).collect();
        let (mut had, mut waits, mut places) = ([0; 3], [false; 3], 0);
        let mut flying: VecDeque<(u16, Address, Message)> = VecDeque::new();
        for step in 0..400_usize {
            let (me, mut out) = (step * 7 % 3, Outbox::default());
            // One coordinator requests, then a message arrives: requests and turns cross.
            if !all[me].is_mine() && !std::mem::replace(&mut waits[me], true) {
                all[me].ask(&mut out);
            }
            let sent = |from: u16, out: &mut Outbox| {
                let sends = std::mem::take(&mut out.actions).into_iter().map(move |action| match action {
                    Action::Send(to, message) => (from, to, message),
                    other => unreachable!("{other:?}"),
                });
                sends.collect::<Vec<_>>()
            };
            flying.extend(sent(me as u16, &mut out));
            let Some((from, Address::Coordinator(to), message)) = flying.pop_front() else { continue };
            match message {
                Message::AskTurn { number } => all[usize::from(to)].asked(from, number, &mut out),
                Message::Turn(turn) => {
                    assert!(all.iter().all(|it| !it.is_mine()), "two turns");
                    let it = &mut all[usize::from(to)];
                    assert!(it.take(*turn));
                    places += 1;
                    assert_eq!(it.place(0), places);
                    (had[usize::from(to)], waits[usize::from(to)]) = (had[usize::from(to)] + 1, false);
                    it.pass_on(&mut out);
                }
                other => panic!("{other:?}"),
            }
            flying.extend(sent(to, &mut out));
        }
        assert!(had.iter().all(|&served| served > 20), "{had:?}");
    }

    #[test]
    fn a_turn_of_another_cluster_is_refused() {
        let mut second = TurnState::begin(1, 2, 1);
        let turn = Turn { served: vec![0, 0], queue: Vec::new(), places: vec![4] };
        assert!(!second.take(Turn { served: vec![0], ..turn.clone() }));
        assert!(!second.take(Turn { queue: vec![2], ..turn.clone() }));
        assert!(!second.take(Turn { places: Vec::new(), ..turn.clone() }));
        assert!(second.take(turn) && second.is_mine());
    }
}
