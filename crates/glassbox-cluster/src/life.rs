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

use slotmap::Key;

use crate::address::{Address, Life, TxnId};
use crate::arrived::Multi;
use crate::coordinator::Coordinator;
use crate::message::{Entry, Message, Outcome, Recovered};
use crate::outbox::Outbox;
use crate::partition::Partition;
use crate::recovery::Recovery;
use crate::router::{EndedNow, Router, State};
use crate::store::Store;

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

impl Coordinator {
    /// Decides from now on what a client left.
    pub(crate) fn inherit(&mut self, life: Life, out: &mut Outbox) {
        if matches!(life.of, Address::Client(_)) && !self.heirs.contains_key(&life) {
            self.heirs.insert(life, Recovery::begin(Some(life), &self.primaries, out));
        }
    }

    /// A partition says what it has of a client. Each transaction is decided when all of its partitions have; when
    /// nothing is undecided any more, nobody has to remember what was committed.
    pub(crate) fn recovered_of(&mut self, life: Life, partition: usize, found: &Recovered, out: &mut Outbox) {
        let Some(recovery) = self.heirs.get_mut(&life) else { return };
        recovery.hear(partition, found.clone());
        for (sequence, commit, partitions) in recovery.ripe() {
            let txn = TxnId { coordinator: life.of, sequence };
            for partition in partitions {
                out.send(self.primaries[partition], Message::Decide { txn, commit });
            }
        }
        if recovery.is_complete() && recovery.has_decided() {
            // Behind the decisions: whoever becomes primary before it hears one has something undecided again.
            *recovery = Recovery::begin(Some(life), &self.primaries, out);
        } else if recovery.is_complete() {
            self.heirs.remove(&life);
            self.primaries.iter().for_each(|&primary| out.send(primary, Message::Ended(life)));
        }
    }

    /// In which life it begins transactions now.
    pub(crate) fn life(&self) -> Life {
        TxnId { coordinator: self.me, sequence: self.next }.life()
    }
}

impl Router {
    /// A party cannot be reached any more: nobody knows the end of what waits there.
    pub fn lost(&mut self, party: Address) -> EndedNow {
        self.lose(|at, _| at == Some(party))
    }

    /// Ends what is lost, by whom it waits for and whether this client has tried it in the life that it is in.
    pub(crate) fn lose(&mut self, is_lost: impl Fn(Option<Address>, bool) -> bool) -> EndedNow {
        let first = self.first;
        let lost = self.calls.iter_mut().filter_map(|(key, called)| {
            let at = match called.state {
                State::Waiting { at, .. } => at,
                // It was not sent to anyone; an earlier attempt of this client's may still be committed.
                State::Held { .. } => None,
                State::Ended(_) => return None,
            };
            is_lost(at, called.tried).then(|| {
                called.state = State::Ended(Outcome::Unknown);
                key.data().as_ffi().wrapping_add(first)
            })
        });
        let lost: EndedNow = lost.collect();
        self.waiting -= lost.len();
        lost
    }

    /// Somebody is here again who could not be reached, and is the same as before: what was said meanwhile is missing.
    pub fn found_again(&mut self, party: Address, out: &mut Outbox) -> EndedNow {
        if self.primaries.contains(&party) { self.give_up(out) } else { EndedNow::new() }
    }

    /// Leaves what this client coordinates to somebody else, and begins another life; the calls whose ends it will not
    /// know.
    pub fn give_up(&mut self, out: &mut Outbox) -> EndedNow {
        let life = self.own.life();
        if self.own.next == life.first() {
            return EndedNow::new();
        }
        let mut own = Coordinator::new(life.next(), self.primaries.clone());
        (own.begins, own.retries) = (self.own.begins, self.own.retries);
        self.own = own;
        self.primaries.iter().for_each(|&primary| out.send(primary, Message::Over(life.number)));
        self.lose(|_, tried| tried)
    }

    /// A primary says that a life of this client's is over.
    pub(crate) fn is_over(&mut self, number: u64, out: &mut Outbox) -> EndedNow {
        if self.own.life().number == number { self.give_up(out) } else { EndedNow::new() }
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::shard::{Arguments, Call, PartitionSet, Shard};
    use glassbox_workloads::micro::{Pair, ReadWrite, catalog};

    use super::*;
    use crate::backup::Backup;
    use crate::journal::Base;
    use crate::message::{Fragment, FragmentWork};
    use crate::outbox::Action;
    use crate::scheme::SchemeKind;

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
