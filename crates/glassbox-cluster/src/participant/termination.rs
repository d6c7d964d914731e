//! Termination: what a participant does for transactions whose coordinator failed.
//!
//! Under locking and OCC only the client knows the outcomes of the transactions that it coordinates, and until a
//! participant knows an outcome, it keeps the rows locked. A client's session as a coordinator is over when the client
//! fails or one of its connections breaks, because messages may be lost. Coordinator 0 then inherits the session's
//! transactions and decides them as it decides those of a failed predecessor:
//!
//! - a primary that notices the end of a session, and has an undecided transaction of it, notifies the coordinator;
//! - the coordinator asks all primaries for their reports. A primary that reports ignores the client from then on and
//!   sends it no more votes; its backups know that before the report is sent;
//! - a transaction is decided when all of its participants have reported. A participant that voted for a transaction
//!   that the client committed still holds its vote, or received the decision and remembers it: so the coordinator
//!   commits it too. It then asks again, until nothing is undecided.
//!
//! A client that keeps running after a connection broke begins another session. The outcomes of its active calls are
//! unknown to it. So are those of aborted attempts, since the heir may have committed one. Within the session the
//! client may restart an attempt, because participants that know of the session's end refuse it. They also refuse a
//! restart by a coordinator (under another scheme), which states the session of the earlier attempt.
//!
//! A promoted primary that has undecided transactions of an ended session notifies the coordinator again, and every
//! primary notifies a coordinator that begins. A primary that missed the end of a session learns of it from its own
//! votes: the link reports that the client is disconnected, or the client answers that the session is over.

use std::collections::BTreeSet;

use crate::participant::partition::Partition;
use crate::participant::store::Store;
use crate::participant::txn::DistributedTxn;
use crate::protocol::address::{Address, COORDINATOR, Session, TxnId};
use crate::protocol::entry::Entry;
use crate::protocol::message::{Message, Recovered, Undecided};
use crate::protocol::outbox::Outbox;

/// The heir of ended sessions; where a coordinator is elected, that one.
const HEIR: Address = COORDINATOR;

impl Partition {
    /// A client disconnected, or one of its connections broke.
    pub(crate) fn on_client_disconnected(&mut self, client: Address, out: &mut Outbox) {
        let held_back = self.held_back.iter().filter_map(|(_, message)| match message {
            Message::Fragment(fragment) => Some(fragment.txn),
            _ => None,
        });
        let known = self.scheme.multis().into_iter().map(DistributedTxn::txn).chain(self.store.committed.of(client));
        let sessions: BTreeSet<Session> =
            known.chain(held_back).map(TxnId::session).filter(|session| session.of == client).collect();
        sessions.into_iter().for_each(|session| self.over(session, out));
    }

    /// A client's session is over, and none of its messages is still to come.
    pub(crate) fn over(&mut self, session: Session, out: &mut Outbox) {
        if self.has_undecided_of(session) || self.store.committed.in_session(session).next().is_some() {
            self.end(session, out);
            out.send(HEIR, Message::SessionOrphaned(session));
        } else {
            self.discard_held(session);
        }
    }

    /// Ignores the client's messages from now on.
    pub(crate) fn end(&mut self, session: Session, out: &mut Outbox) {
        self.store.end_session(session, out);
        self.discard_held(session);
    }

    /// Discards held messages of a session.
    fn discard_held(&mut self, session: Session) {
        let is_its = |it: &Message| matches!(it, Message::Fragment(fragment) if fragment.txn.session() == session);
        self.held_back.retain(|(_, message)| !is_its(message));
    }

    fn has_undecided_of(&self, session: Session) -> bool {
        self.scheme.multis().iter().any(|multi| multi.txn().session() == session)
    }

    /// Notifies the coordinator of all ended sessions that left undecided transactions here.
    pub(crate) fn report_orphans(&mut self, out: &mut Outbox) {
        for &session in self.store.over.iter().filter(|session| self.has_undecided_of(**session)) {
            out.send(HEIR, Message::SessionOrphaned(session));
        }
    }

    /// Reports the transactions whose coordinator failed: to a coordinator about its predecessor's, or about those of a
    /// client's session.
    pub(crate) fn recover(&mut self, coordinator: Address, session: Option<Session>, out: &mut Outbox) {
        let found = match session {
            None => {
                // The predecessor sent it, and waits for no result.
                self.held_back.retain(|(asked, it)| *asked != coordinator || !matches!(it, Message::Fragment(_)));
                self.store.decisions.forget(coordinator);
                let undecided = self.undecided(|txn| txn.coordinator == coordinator);
                let committed = self.store.committed.of(coordinator);
                Recovered { session, undecided, committed: committed.map(|txn| txn.sequence).collect() }
            }
            Some(of) if matches!(of.of, Address::Client(_)) => {
                self.end(of, out);
                let undecided = self.undecided(|txn| txn.session() == of);
                let committed = self.store.committed.in_session(of);
                Recovered { session, undecided, committed: committed.map(|txn| txn.sequence).collect() }
            }
            Some(_) => return,
        };
        self.store.stream.send_when_acked(coordinator, Message::Recovered(Box::new(found)), out);
        if session.is_none() {
            self.report_orphans(out);
        }
    }

    /// The undecided transactions of one coordinator. A vote upon an undecided transaction of another coordinator does
    /// not count yet: the run is undone if that one aborts.
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

    /// Whether a party decides a transaction.
    pub(crate) fn decides(&self, from: Address, txn: TxnId) -> bool {
        if self.store.is_over(txn) { matches!(from, Address::Coordinator(_)) } else { txn.coordinator == from }
    }
}

impl Store {
    /// Ignores the messages of a client's session from now on; replicated.
    pub(crate) fn end_session(&mut self, session: Session, out: &mut Outbox) {
        if self.over.insert(session) {
            self.stream.append(|| Entry::SessionOver(session), out);
        }
    }

    /// Whether a transaction's session is over.
    pub(crate) fn is_over(&self, txn: TxnId) -> bool {
        !self.over.is_empty() && self.over.contains(&txn.session())
    }

    /// All participants know the outcomes of a session's transactions.
    pub(crate) fn forget_session(&mut self, session: Session, out: &mut Outbox) {
        self.committed.end(session);
        self.stream.append(|| Entry::SessionForgotten(session), out);
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
    use glassbox_workloads::micro::{Pair, ReadWrite, catalog};

    use super::*;
    use crate::participant::backup::Backup;
    use crate::protocol::configuration::SchemeKind;
    use crate::protocol::entry::Base;
    use crate::protocol::message::{Fragment, FragmentWork};
    use crate::protocol::outbox::Action;

    const CLIENT: Address = Address::Client(1);

    fn replica(replica: u8) -> Address {
        Address::Replica { partition: 0, replica }
    }

    fn shard() -> Shard {
        let mut shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
        shard.load(&Pair { home: 0, id: 0, value: 0 }).unwrap();
        shard
    }

    fn fragment(session: Session) -> Message {
        let keys = [(0, 0), (1, 0)].into_iter().collect();
        let arguments = Arguments::of(ReadWrite { keys, stamp: 1, aborts_at: None, two_rounds: false });
        let call = Call { procedure: 0, arguments, now: Timestamp::default(), seed: 0 };
        let (txn, work) = (TxnId { coordinator: session.of, sequence: session.first() }, FragmentWork::Run(Vec::new()));
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
    fn a_promoted_backup_refuses_messages_of_a_session_that_is_over() {
        let (session, kind, mut out) = (Session::new(CLIENT, 7), SchemeKind::Locking, Outbox::default());
        let mut partition = Partition::new(shard(), kind, &[replica(1)]);
        let mut backup = Backup::new(shard(), replica(0), kind);
        partition.handle(CLIENT, fragment(session), &mut out);
        partition.on_client_disconnected(CLIENT, &mut out);
        let said = sent(&mut out);
        assert!(said.contains(&(HEIR, Message::SessionOrphaned(session))), "{said:?}");
        for (to, message) in said {
            if to == replica(1) {
                backup.handle(replica(0), message, &mut out);
            }
        }
        sent(&mut out);
        let mut partition = Partition::promoted(backup, &mut out);
        assert!(sent(&mut out).contains(&(HEIR, Message::SessionOrphaned(session))), "it holds the vote");
        partition.handle(CLIENT, fragment(session), &mut out);
        assert_eq!(sent(&mut out), [(CLIENT, Message::SessionOver(session.number))]);
        partition.handle(CLIENT, fragment(session.next()), &mut out);
        assert!(
            !sent(&mut out).iter().any(|(_, message)| matches!(message, Message::SessionOver(_))),
            "this one is not over"
        );
    }

    /// The heir of the session has to learn that another participant has committed it.
    #[test]
    fn a_promoted_backup_that_joined_later_knows_the_committed_transactions() {
        let (session, kind, mut out) = (Session::new(CLIENT, 7), SchemeKind::Locking, Outbox::default());
        let mut partition = Partition::new(shard(), kind, &[]);
        partition.handle(CLIENT, fragment(session), &mut out);
        let txn = TxnId { coordinator: CLIENT, sequence: session.first() };
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
        // It may be promoted at this point, whatever else it is sent.
        let backup = backup.unwrap();
        let mut partition = Partition::promoted(backup, &mut out);
        sent(&mut out);
        partition.handle(HEIR, Message::Recover(Some(session)), &mut out);
        let found = Recovered { session: Some(session), undecided: Vec::new(), committed: vec![txn.sequence] };
        assert_eq!(sent(&mut out), [(HEIR, Message::Recovered(Box::new(found)))]);
        // Once all participants know the outcome, it is forgotten.
        partition.handle(HEIR, Message::SessionForgotten(session), &mut out);
        partition.handle(HEIR, Message::Recover(Some(session)), &mut out);
        let nothing = Recovered { session: Some(session), ..Recovered::default() };
        assert_eq!(sent(&mut out), [(HEIR, Message::Recovered(Box::new(nothing)))]);
    }
}
