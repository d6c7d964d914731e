//! A backup: applies its primary's replication stream in order, without locks and without two-phase commit.
//!
//! *Low Overhead Concurrency Control*, sections 3.2, 3.3 and 4.3. A backup acknowledges an entry on receipt: procedures
//! are deterministic, so a later run has the same result. Undecided runs wait in the order of the stream.

use std::collections::{BTreeSet, VecDeque};

use glassbox::research::shard::{Ran, Shard, Task};

use crate::participant::decisions::CommittedTxns;
use crate::participant::replication::ReplicationStream;
use crate::participant::store::Store;
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::SchemeKind;
use crate::protocol::entry::{Base, Entry, Part};
use crate::protocol::message::Message;
use crate::protocol::outbox::{Action, Outbox, Work};

/// A backup of a partition.
#[derive(Debug)]
pub struct Backup {
    shard: Shard,
    primary: Address,
    /// The scheme under which the primary ran the undecided runs.
    scheme: SchemeKind,
    /// The last entry's sequence number.
    held: u64,
    undecided: VecDeque<UndecidedRun>,
    /// Calls that the primary runs next.
    announced: VecDeque<Part>,
    committed: CommittedTxns,
    /// Sessions of clients that are over: a coordinator decides their transactions.
    over: BTreeSet<Session>,
    /// Why replication has stopped.
    lost: Option<String>,
    /// Its own address, if it has a journal: it then acknowledges what the journal has forced.
    journal: Option<Address>,
}

/// An undecided run.
#[derive(Debug, Clone)]
pub(crate) enum UndecidedRun {
    /// With the round whose result was the vote.
    Prepared(TxnId, u32, Part),
    Speculative(Part),
}

impl UndecidedRun {
    /// The entry that makes a backup hold it.
    fn entry(self) -> Entry {
        match self {
            Self::Prepared(txn, round, part) => Entry::Prepare { txn, round, part, settled: 0 },
            Self::Speculative(part) => Entry::Speculate(part),
        }
    }
}

impl Backup {
    /// A backup that begins with the same rows as its primary.
    pub fn new(shard: Shard, primary: Address, scheme: SchemeKind) -> Self {
        Self::at(shard, primary, 0, scheme)
    }

    /// A backup with the rows as they are after this entry of the stream.
    pub(crate) fn at(shard: Shard, primary: Address, held: u64, scheme: SchemeKind) -> Self {
        let (undecided, announced) = (VecDeque::new(), VecDeque::new());
        let (committed, over) = (CommittedTxns::default(), BTreeSet::new());
        Self { shard, primary, scheme, held, undecided, announced, committed, over, lost: None, journal: None }
    }

    /// A backup with these rows and this state.
    ///
    /// # Errors
    /// When the state does not fit the rows.
    pub fn following(shard: Shard, primary: Address, base: Base) -> Result<Self, String> {
        let mut backup = Self::at(shard, primary, base.held, base.scheme);
        let mut remembered = base.remembered.into_iter();
        remembered.try_for_each(|entry| backup.apply(entry, &mut Outbox::default()))?;
        Ok(backup)
    }

    /// This backup, with a journal.
    #[must_use]
    pub(crate) fn with_journal(self, me: Address) -> Self {
        Self { journal: Some(me), ..self }
    }

    /// Begins a base of the present rows.
    pub(crate) fn base(&mut self, out: &mut Outbox) {
        if self.lost.is_some() {
            return;
        }
        self.shard.fix();
        let undecided = self.undecided.iter().cloned().map(UndecidedRun::entry);
        let announced = self.announced.iter().cloned().map(Entry::Announce);
        let over = self.over.iter().copied().map(Entry::SessionOver);
        let outcomes = over.chain(self.committed.all().map(Entry::Committed));
        let remembered = outcomes.chain(undecided).chain(announced).collect();
        out.actions.push(Action::Base(Box::new(Base { held: self.held, scheme: self.scheme, remembered })));
    }

    /// The store of a primary with these rows, the undecided runs, and the announced calls.
    pub(crate) fn into_store(self) -> (Store, VecDeque<UndecidedRun>, VecDeque<Part>) {
        let mut store = Store::new(self.shard, ReplicationStream::going_on(self.journal, self.held), self.scheme);
        (store.committed, store.over) = (self.committed, self.over);
        (store, self.undecided, self.announced)
    }

    /// The scheme under which the primary ran the undecided runs.
    pub(crate) fn scheme(&self) -> SchemeKind {
        self.scheme
    }

    /// The rows, without undecided changes.
    pub fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    /// Why replication has stopped, if it has.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Receives a message. Messages of other parties than its primary are ignored.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Ack { sequence } if self.journal == Some(from) => {
                out.send(self.primary, Message::Ack { sequence });
            }
            Message::Replicate { sequence, entry } if from == self.primary => self.follow(sequence, *entry, out),
            _ => {}
        }
    }

    fn follow(&mut self, sequence: u64, entry: Entry, out: &mut Outbox) {
        if self.lost.is_some() || sequence <= self.held {
            return;
        }
        let repeated = self.take(sequence).and_then(|()| match self.journal {
            None => {
                out.send(self.primary, Message::Ack { sequence });
                self.apply(entry, out)
            }
            // The journal only gets entries that could be applied, because recovery applies them again.
            Some(me) => {
                let kept = Message::Replicate { sequence, entry: Box::new(entry.clone()) };
                self.apply(entry, out).inspect(|()| out.send(me, kept))
            }
        });
        self.lost = repeated.err();
    }

    /// Advances to the next entry.
    fn take(&mut self, sequence: u64) -> Result<(), String> {
        if sequence != self.held + 1 {
            return Err(format!("entry {sequence} follows entry {}: entries are missing", self.held));
        }
        self.held = sequence;
        Ok(())
    }

    /// Redoes the next entry of a journal.
    pub(crate) fn repeat(&mut self, sequence: u64, entry: Entry) -> Result<(), String> {
        self.take(sequence)?;
        self.apply(entry, &mut Outbox::default())
    }

    /// Applies an entry.
    pub(crate) fn apply(&mut self, entry: Entry, out: &mut Outbox) -> Result<(), String> {
        match entry {
            Entry::Run(part) => self.run(&part, out),
            Entry::Announce(part) => {
                self.announced.push_back(part);
                Ok(())
            }
            Entry::Ended { count, refused } => self.end_announced(count, &refused, out),
            Entry::Speculate(part) => {
                self.undecided.push_back(UndecidedRun::Speculative(part));
                self.run_certain(out)
            }
            Entry::Prepare { txn, round, part, settled } => {
                self.committed.settle(TxnId { sequence: settled, ..txn });
                self.undecided.push_back(UndecidedRun::Prepared(txn, round, part));
                Ok(())
            }
            Entry::Decide { txn, commit, cascade } => self.decide(txn, commit, cascade, out),
            Entry::ChangeScheme(scheme) => {
                self.scheme = scheme;
                Ok(())
            }
            Entry::NoOp => Ok(()),
            Entry::SessionOver(session) => {
                self.over.insert(session);
                Ok(())
            }
            Entry::SessionForgotten(session) => {
                self.committed.end(session);
                Ok(())
            }
            Entry::Committed(txn) => {
                self.committed.add(txn);
                Ok(())
            }
            Entry::Inputs(..)
            | Entry::Digests(..)
            | Entry::Sent(..)
            | Entry::Checkpointed(..)
            | Entry::Purged(..)
            | Entry::Agreed(_) => Err("the stream of a partition has inputs of the log".to_owned()),
        }
    }

    fn decide(&mut self, txn: TxnId, commit: bool, cascade: bool, out: &mut Outbox) -> Result<(), String> {
        let is = |it: &UndecidedRun| matches!(it, UndecidedRun::Prepared(prepared, ..) if *prepared == txn);
        let at = self.undecided.iter().position(is).ok_or_else(|| format!("{txn:?} was decided and not prepared"))?;
        if cascade {
            self.undecided.truncate(at + 1);
        }
        let Some(UndecidedRun::Prepared(.., part)) = self.undecided.remove(at) else { unreachable!("found there") };
        if commit {
            self.run(&part, out)?;
            self.committed.add(txn);
        }
        if at == 0 { self.run_certain(out) } else { Ok(()) }
    }

    /// Runs everything before the first undecided transaction.
    fn run_certain(&mut self, out: &mut Outbox) -> Result<(), String> {
        while let Some(UndecidedRun::Speculative(part)) =
            self.undecided.pop_front_if(|it| matches!(it, UndecidedRun::Speculative(_)))
        {
            self.run(&part, out)?;
        }
        Ok(())
    }

    /// The oldest announced calls have ended; runs those that committed.
    fn end_announced(&mut self, count: u32, refused: &[u32], out: &mut Outbox) -> Result<(), String> {
        for place in 0..count {
            let part = self.announced.pop_front().ok_or("calls have ended that were not announced")?;
            if refused.binary_search(&place).is_err() {
                self.run(&part, out)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, part: &Part, out: &mut Outbox) -> Result<(), String> {
        let task = Task { participants: part.participants, given: &part.given };
        out.did(Work::Single { undo: false, watched: false });
        match self.shard.run(&part.call, task, None, None) {
            Ran::Done(_) => Ok(()),
            other => Err(format!("a run ended differently from the primary's: {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use glassbox_workloads::micro::catalog;

    use super::*;

    /// Recovery would fail at such an entry at every start.
    #[test]
    fn an_entry_that_cannot_be_applied_is_not_journaled() {
        let replica = |replica| Address::Replica { partition: 0, replica };
        let shard = Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
        let mut backup = Backup::new(shard, replica(0), SchemeKind::Blocking).with_journal(replica(1));
        let mut out = Outbox::default();
        let txn = TxnId { coordinator: Address::Coordinator(0), sequence: 1 };
        let entries = [Entry::NoOp, Entry::Decide { txn, commit: true, cascade: false }, Entry::NoOp];
        for (sequence, entry) in (1..).zip(entries) {
            backup.handle(replica(0), Message::Replicate { sequence, entry: Box::new(entry) }, &mut out);
        }
        backup.base(&mut out);
        assert!(backup.lost().is_some());
        let [Action::Send(to, Message::Replicate { sequence: 1, .. })] = &out.actions[..] else { panic!("{out:?}") };
        assert_eq!(*to, replica(1));
    }
}
