//! The end of a client that coordinates its own transactions.
//!
//! Under locking and occ nobody but the client knows how its transactions ended, and until a partition knows it, too,
//! it keeps others off their rows. A client's life as a coordinator is over when it is gone, or when one of its
//! connections broke, because what was on that is missing. Then coordinator 0 inherits what the client left, and
//! decides it as if it were left by a coordinator ([`Recovery`]):
//!
//! - a primary that hears of the end of a life, and has something undecided of it, says so to the coordinator;
//! - the coordinator asks all primaries what they have of it. Whoever answers takes no more from the client's hand, and
//!   gives it no more votes; the backups know that, too, before the answer goes;
//! - a transaction is decided when all of its partitions have answered. Whoever voted for one that the client had
//!   committed still holds its vote, or heard the decision and remembers it: so the coordinator commits it as well.
//!   Then it asks again, until nothing is undecided.
//!
//! A client that lives on after a connection broke begins another life. Of what was under way it knows the end no more.
//! Not of what it took back either, since somebody else may have committed it: within the life it may try that again,
//! because whoever knows the life's end refuses it; and so do they when a coordinator tries it for the client (under
//! another scheme), who is told in which life it was tried before.
//!
//! Who becomes primary, and has something undecided of a life that is over, says so again; and to a coordinator that
//! begins everybody does. Of a life whose end it has not heard of it learns because it sends the client its votes: a
//! link says if nobody is there, and a client says if it was another life.

use std::collections::BTreeSet;

use crate::participant::arrived::Multi;
use crate::participant::partition::Partition;
use crate::participant::store::Store;
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::entry::Entry;
use crate::protocol::message::{Message, Recovered, Undecided};
use crate::protocol::outbox::Outbox;

/// Who inherits what clients leave.
const HEIR: Address = Address::Coordinator(0);

impl Partition {
    /// A client cannot be reached any more, or not in the way that it could before.
    pub(crate) fn gone(&mut self, client: Address, out: &mut Outbox) {
        let held_back = self.held_back.iter().filter_map(|(_, message)| match message {
            Message::Fragment(fragment) => Some(fragment.txn),
            _ => None,
        });
        let known = self.scheme.multis().into_iter().map(Multi::txn).chain(self.store.committed.of(client));
        let lives: BTreeSet<Life> = known.chain(held_back).map(TxnId::life).filter(|life| life.of == client).collect();
        lives.into_iter().for_each(|life| self.over(life, out));
    }

    /// A client's life is over, and nothing of it is still to come.
    pub(crate) fn over(&mut self, life: Life, out: &mut Outbox) {
        if self.has_left(life) || self.store.committed.in_life(life).next().is_some() {
            self.end(life, out);
            out.send(HEIR, Message::Left(life));
        } else {
            self.let_go(life);
        }
    }

    /// Takes no more from the client's hand.
    pub(crate) fn end(&mut self, life: Life, out: &mut Outbox) {
        self.store.end_life(life, out);
        self.let_go(life);
    }

    /// Begins nothing of it.
    fn let_go(&mut self, life: Life) {
        let is_its = |it: &Message| matches!(it, Message::Fragment(fragment) if fragment.txn.life() == life);
        self.held_back.retain(|(_, message)| !is_its(message));
    }

    fn has_left(&self, life: Life) -> bool {
        self.scheme.multis().iter().any(|multi| multi.txn().life() == life)
    }

    /// Tells the coordinator of all lives that are over and have left something here.
    pub(crate) fn tell_left(&mut self, out: &mut Outbox) {
        for &life in self.store.over.iter().filter(|life| self.has_left(**life)) {
            out.send(HEIR, Message::Left(life));
        }
    }

    /// Says what it has of those transactions that somebody else decides from now on: a coordinator about those of the
    /// one before, or of this life of a client's.
    pub(crate) fn recover(&mut self, coordinator: Address, life: Option<Life>, out: &mut Outbox) {
        let found = match life {
            None => {
                // The coordinator before asked for it, and nobody waits for it any more.
                self.held_back.retain(|(asked, it)| *asked != coordinator || !matches!(it, Message::Fragment(_)));
                self.store.heard.forget(coordinator);
                let undecided = self.undecided(|txn| txn.coordinator == coordinator);
                let committed = self.store.committed.of(coordinator);
                Recovered { life, undecided, committed: committed.map(|txn| txn.sequence).collect() }
            }
            Some(of) if matches!(of.of, Address::Client(_)) => {
                self.end(of, out);
                let undecided = self.undecided(|txn| txn.life() == of);
                let committed = self.store.committed.in_life(of);
                Recovered { life, undecided, committed: committed.map(|txn| txn.sequence).collect() }
            }
            Some(_) => return,
        };
        self.store.stream.send_when_held(coordinator, Message::Recovered(Box::new(found)), out);
        if life.is_none() {
            self.tell_left(out);
        }
    }

    /// Those transactions of one coordinator that it has not decided. A vote upon what another one has not decided is
    /// none yet: the run is taken back with that.
    fn undecided(&self, is_its: impl Fn(TxnId) -> bool) -> Vec<Undecided> {
        let (mut undecided, mut certain) = (Vec::new(), true);
        for multi in self.scheme.multis() {
            if is_its(multi.txn()) {
                let it = multi.undecided();
                undecided.push(Undecided { prepared: it.prepared && certain, ..it });
            } else {
                certain &= !self.kind.cascades();
            }
        }
        undecided
    }

    /// Whether somebody decides a transaction.
    pub(crate) fn decides(&self, from: Address, txn: TxnId) -> bool {
        if self.store.is_over(txn) { matches!(from, Address::Coordinator(_)) } else { txn.coordinator == from }
    }
}

impl Store {
    /// What a client says in this life of its counts no more. The backups hear of it, too.
    pub(crate) fn end_life(&mut self, life: Life, out: &mut Outbox) {
        if self.over.insert(life) {
            self.stream.append(|| Entry::Over(life), out);
        }
    }

    /// Whether a transaction is not in its client's hand any more.
    pub(crate) fn is_over(&self, txn: TxnId) -> bool {
        !self.over.is_empty() && self.over.contains(&txn.life())
    }

    /// All partitions know how everything ended that began in this life.
    pub(crate) fn forget_life(&mut self, life: Life, out: &mut Outbox) {
        self.committed.end(life);
        self.stream.append(|| Entry::Ended(life), out);
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::shard::{Arguments, Call, PartitionSet, Shard};
    use glassbox_workloads::micro::{Pair, ReadWrite, catalog};

    use super::*;
    use crate::participant::backup::Backup;
    use crate::protocol::entry::Base;
    use crate::protocol::message::{Fragment, FragmentWork};
    use crate::protocol::outbox::Action;
    use crate::protocol::scheme_kind::SchemeKind;

    const CLIENT: Address = Address::Client(1);

    fn replica(replica: u8) -> Address {
        Address::Replica { partition: 0, replica }
    }

    fn shard() -> Shard {
        let mut shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
        shard.load(&Pair { home: 0, id: 0, value: 0 }).unwrap();
        shard
    }

    fn fragment(life: Life) -> Message {
        let keys = [(0, 0), (1, 0)].into_iter().collect();
        let arguments = Arguments::of(ReadWrite { keys, stamp: 1, aborts_at: None, two_rounds: false });
        let call = Call { procedure: 0, arguments, now: Timestamp::default(), seed: 0 };
        let (txn, work) = (TxnId { coordinator: life.of, sequence: life.first() }, FragmentWork::Run(Vec::new()));
        let settled = txn.sequence;
        let (place, before) = (0, None);
        Message::Fragment(Box::new(Fragment {
            txn,
            round: 0,
            call,
            participants: PartitionSet::all(2),
            work,
            settled,
            place,
            before,
        }))
    }

    fn sent(out: &mut Outbox) -> Vec<(Address, Message)> {
        let sent = out.actions.drain(..).filter_map(|action| match action {
            Action::Send(to, message) => Some((to, message)),
            _ => None,
        });
        sent.collect()
    }

    #[test]
    fn who_becomes_primary_takes_nothing_from_the_hand_of_who_is_gone() {
        let (life, kind, mut out) = (Life::new(CLIENT, 7), SchemeKind::Locking, Outbox::default());
        let mut partition = Partition::new(shard(), kind, &[replica(1)]);
        let mut backup = Backup::new(shard(), replica(0), kind);
        partition.handle(CLIENT, fragment(life), &mut out);
        partition.gone(CLIENT, &mut out);
        let said = sent(&mut out);
        assert!(said.contains(&(HEIR, Message::Left(life))), "{said:?}");
        for (to, message) in said {
            if to == replica(1) {
                backup.handle(replica(0), message, &mut out);
            }
        }
        sent(&mut out);
        let mut partition = Partition::promoted(backup, &mut out);
        assert!(sent(&mut out).contains(&(HEIR, Message::Left(life))), "it holds the vote");
        partition.handle(CLIENT, fragment(life), &mut out);
        assert_eq!(sent(&mut out), [(CLIENT, Message::Over(life.number))]);
        partition.handle(CLIENT, fragment(life.next()), &mut out);
        assert!(!sent(&mut out).iter().any(|(_, message)| matches!(message, Message::Over(_))), "this one is not over");
    }

    /// Who decides later what a client left has to hear that another partition has committed it.
    #[test]
    fn who_joins_and_becomes_primary_knows_what_was_committed() {
        let (life, kind, mut out) = (Life::new(CLIENT, 7), SchemeKind::Locking, Outbox::default());
        let mut partition = Partition::new(shard(), kind, &[]);
        partition.handle(CLIENT, fragment(life), &mut out);
        let txn = TxnId { coordinator: CLIENT, sequence: life.first() };
        partition.handle(CLIENT, Message::Decide { txn, commit: true }, &mut out);
        sent(&mut out);
        partition.handle(replica(1), Message::Join { since: 2 }, &mut out);
        let said = sent(&mut out);
        let (mut remembered, mut backup) = (Vec::new(), None);
        for (_, message) in said {
            match message {
                Message::Remember { entries, .. } => remembered.extend(entries),
                Message::State { base, .. } => {
                    let base = Base { remembered: std::mem::take(&mut remembered), ..*base };
                    backup = Some(Backup::following(shard(), replica(0), base).unwrap());
                }
                _ => {}
            }
        }
        // Whatever else it is sent, it may become primary now.
        let backup = backup.unwrap();
        let mut partition = Partition::promoted(backup, &mut out);
        sent(&mut out);
        partition.handle(HEIR, Message::Recover(Some(life)), &mut out);
        let found = Recovered { life: Some(life), undecided: Vec::new(), committed: vec![txn.sequence] };
        assert_eq!(sent(&mut out), [(HEIR, Message::Recovered(Box::new(found)))]);
        // When all know it, nobody has to remember it.
        partition.handle(HEIR, Message::Ended(life), &mut out);
        partition.handle(HEIR, Message::Recover(Some(life)), &mut out);
        let nothing = Recovered { life: Some(life), ..Recovered::default() };
        assert_eq!(sent(&mut out), [(HEIR, Message::Recovered(Box::new(nothing)))]);
    }
}
