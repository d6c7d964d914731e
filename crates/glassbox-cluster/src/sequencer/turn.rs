//! Whose turn it is: which of several coordinators dispatches transactions.
//!
//! Suzuki, Kasami, *A Distributed Mutual Exclusion Algorithm*, ACM TOCS 3(4), 1985: who wants the turn tells all others
//! with a number that counts its requests; the turn says which requests were served and who waits. Whoever has it keeps
//! it until somebody asks, so where only one has something to do nothing is said. It is lost with a coordinator that is
//! gone: the configuration that names another begins the order anew, with a new turn at the first coordinator. So
//! whatever makes the order begin anew, it does so when the first is there.
//!
//! The turn also says which place the next transaction has at each partition. Partitions begin them in the order of
//! their places, so all agree, although messages of two coordinators may overtake each other.

use crate::protocol::address::Address;
use crate::protocol::message::{Message, Turn};
use crate::protocol::outbox::Outbox;

/// What a coordinator knows of the turn.
#[derive(Debug)]
pub(crate) struct Turns {
    me: u16,
    /// The last request of each coordinator.
    asked: Vec<u64>,
    partitions: usize,
    turn: Option<Turn>,
}

impl Turns {
    /// An order begins: the first coordinator has the turn.
    pub(crate) fn begin(me: u16, coordinators: usize, partitions: usize) -> Self {
        let turn = || Turn { served: vec![0; coordinators], queue: Vec::new(), places: vec![0; partitions] };
        Self { me, asked: vec![0; coordinators], partitions, turn: (me == 0).then(turn) }
    }

    /// Whether it is this coordinator's turn.
    pub(crate) fn is_mine(&self) -> bool {
        self.turn.is_some()
    }

    /// The next place at a partition. Only for who has the turn.
    pub(crate) fn place(&mut self, partition: usize) -> u64 {
        let place = &mut self.turn.as_mut().expect("it is our turn").places[partition];
        *place = place.saturating_add(1);
        *place
    }

    /// Asks for the turn, once.
    pub(crate) fn ask(&mut self, out: &mut Outbox) {
        let me = usize::from(self.me);
        self.asked[me] += 1;
        for other in (0..self.asked.len()).filter(|other| *other != me) {
            out.send(Address::Coordinator(other as u16), Message::AskTurn { number: self.asked[me] });
        }
    }

    /// Another one asks: it gets the turn if nobody needs it here.
    pub(crate) fn asked(&mut self, from: u16, number: u64, out: &mut Outbox) {
        if let Some(asked) = self.asked.get_mut(usize::from(from)).filter(|_| from != self.me) {
            *asked = number.max(*asked);
            self.pass_on(out);
        }
    }

    /// The turn comes; whether it is one.
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

    /// Gives the turn to who has waited longest, if anybody does.
    pub(crate) fn pass_on(&mut self, out: &mut Outbox) {
        let Some(mut turn) = self.turn.take() else { return };
        let (me, count) = (usize::from(self.me), self.asked.len());
        turn.served[me] = self.asked[me];
        // From the next one on, so that nobody is always first.
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

    /// Three that ask again and again: all are served, and nobody has the turn beside another.
    #[test]
    fn everybody_has_a_turn_and_nobody_two() {
        let mut all: Vec<_> = (0..3).map(|me| Turns::begin(me, 3, 1)).collect();
        let (mut had, mut waits, mut places) = ([0; 3], [false; 3], 0);
        let mut flying: VecDeque<(u16, Address, Message)> = VecDeque::new();
        for step in 0..400_usize {
            let (me, mut out) = (step * 7 % 3, Outbox::default());
            // One asks, then a message arrives: requests and turns cross.
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
    fn what_is_no_turn_of_this_cluster_is_not_taken() {
        let mut second = Turns::begin(1, 2, 1);
        let turn = Turn { served: vec![0, 0], queue: Vec::new(), places: vec![4] };
        assert!(!second.take(Turn { served: vec![0], ..turn.clone() }));
        assert!(!second.take(Turn { queue: vec![2], ..turn.clone() }));
        assert!(!second.take(Turn { places: Vec::new(), ..turn.clone() }));
        assert!(second.take(turn) && second.is_mine());
    }
}
