//! A backup: repeats what its primary decided, in that order, without locks and without two-phase commit.
//!
//! *Low Overhead Concurrency Control*, sections 3.2, 3.3 and 4.3. It holds an entry when it has it: running it is the
//! same there as here, since procedures are deterministic. What is not decided yet waits in the order of the stream.

use std::collections::{BTreeSet, VecDeque};

use glassbox::shard::{Ran, Shard, Task};

use crate::participant::decisions::Committed;
use crate::participant::store::Store;
use crate::participant::stream::Stream;
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::entry::{Base, Entry, Part};
use crate::protocol::message::Message;
use crate::protocol::outbox::{Action, Outbox, Work};
use crate::protocol::scheme_kind::SchemeKind;

/// A backup of a partition.
#[derive(Debug)]
pub struct Backup {
    shard: Shard,
    primary: Address,
    /// Under which the primary ran what is undecided here.
    scheme: SchemeKind,
    /// The last entry's number.
    held: u64,
    undecided: VecDeque<Waits>,
    committed: Committed,
    /// What clients coordinated in these lives is a coordinator's to decide.
    over: BTreeSet<Life>,
    /// Why it does not follow any more.
    lost: Option<String>,
    /// Its own address, if it has a journal: it holds what that has.
    journal: Option<Address>,
}

/// A run that is not decided yet.
#[derive(Debug, Clone)]
pub(crate) enum Waits {
    /// The round that it was the vote in.
    Prepared(TxnId, u32, Part),
    Speculative(Part),
}

impl Waits {
    /// What has it wait.
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
        let (undecided, committed, over) = (VecDeque::new(), Committed::default(), BTreeSet::new());
        Self { shard, primary, scheme, held, undecided, committed, over, lost: None, journal: None }
    }

    /// A backup with these rows and what goes with them.
    ///
    /// # Errors
    /// When that does not fit.
    pub fn following(shard: Shard, primary: Address, base: Base) -> Result<Self, String> {
        let mut backup = Self::at(shard, primary, base.held, base.scheme);
        let mut remembered = base.remembered.into_iter();
        remembered.try_for_each(|entry| backup.apply(entry, &mut Outbox::default()))?;
        Ok(backup)
    }

    /// The same, of one that has a journal.
    #[must_use]
    pub(crate) fn with_journal(self, me: Address) -> Self {
        Self { journal: Some(me), ..self }
    }

    /// Has a base made of the rows as they are now.
    pub(crate) fn base(&mut self, out: &mut Outbox) {
        if self.lost.is_some() {
            return;
        }
        self.shard.fix();
        let undecided = self.undecided.iter().cloned().map(Waits::entry);
        let over = self.over.iter().copied().map(Entry::Over);
        let remembered = over.chain(self.committed.all().map(Entry::Committed)).chain(undecided).collect();
        out.actions.push(Action::Base(Box::new(Base { held: self.held, scheme: self.scheme, remembered })));
    }

    /// Makes a primary's store of it; and what is undecided.
    pub(crate) fn into_store(self) -> (Store, VecDeque<Waits>) {
        let mut store = Store::new(self.shard, Stream::going_on(self.journal, self.held), self.scheme);
        (store.committed, store.over) = (self.committed, self.over);
        (store, self.undecided)
    }

    /// Under which the primary ran what is undecided here.
    pub(crate) fn scheme(&self) -> SchemeKind {
        self.scheme
    }

    /// The rows, as far as they are decided.
    pub fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    /// Why it does not follow any more, if it does not.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// A message arrives. What is not from its primary is passed over.
    pub fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        match message {
            Message::Held { sequence } if self.journal == Some(from) => {
                out.send(self.primary, Message::Held { sequence });
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
                out.send(self.primary, Message::Held { sequence });
                self.apply(entry, out)
            }
            // Only what could be done can be done again.
            Some(me) => {
                let kept = Message::Replicate { sequence, entry: Box::new(entry.clone()) };
                self.apply(entry, out).inspect(|()| out.send(me, kept))
            }
        });
        self.lost = repeated.err();
    }

    /// The next entry is this one.
    fn take(&mut self, sequence: u64) -> Result<(), String> {
        if sequence != self.held + 1 {
            return Err(format!("entry {sequence} follows {}: some are missing", self.held));
        }
        self.held = sequence;
        Ok(())
    }

    /// Does the next entry again.
    pub(crate) fn repeat(&mut self, sequence: u64, entry: Entry) -> Result<(), String> {
        self.take(sequence)?;
        self.apply(entry, &mut Outbox::default())
    }

    /// Does an entry.
    pub(crate) fn apply(&mut self, entry: Entry, out: &mut Outbox) -> Result<(), String> {
        match entry {
            Entry::Run(part) => self.run(&part, out),
            Entry::Speculate(part) => {
                self.undecided.push_back(Waits::Speculative(part));
                self.run_certain(out)
            }
            Entry::Prepare { txn, round, part, settled } => {
                self.committed.settle(TxnId { sequence: settled, ..txn });
                self.undecided.push_back(Waits::Prepared(txn, round, part));
                Ok(())
            }
            Entry::Decide { txn, commit, cascade } => self.decide(txn, commit, cascade, out),
            Entry::Under(scheme) => {
                self.scheme = scheme;
                Ok(())
            }
            Entry::Mark => Ok(()),
            Entry::Over(life) => {
                self.over.insert(life);
                Ok(())
            }
            Entry::Ended(life) => {
                self.committed.end(life);
                Ok(())
            }
            Entry::Committed(txn) => {
                self.committed.add(txn);
                Ok(())
            }
        }
    }

    fn decide(&mut self, txn: TxnId, commit: bool, cascade: bool, out: &mut Outbox) -> Result<(), String> {
        let is = |it: &Waits| matches!(it, Waits::Prepared(prepared, ..) if *prepared == txn);
        let at =
            self.undecided.iter().position(is).ok_or_else(|| format!("{txn:?} is decided but was not prepared"))?;
        if cascade {
            self.undecided.truncate(at + 1);
        }
        let Some(Waits::Prepared(.., part)) = self.undecided.remove(at) else { unreachable!("found there") };
        if commit {
            self.run(&part, out)?;
            self.committed.add(txn);
        }
        if at == 0 { self.run_certain(out) } else { Ok(()) }
    }

    /// Runs what does not depend on anything undecided.
    fn run_certain(&mut self, out: &mut Outbox) -> Result<(), String> {
        while let Some(Waits::Speculative(part)) = self.undecided.pop_front_if(|it| matches!(it, Waits::Speculative(_)))
        {
            self.run(&part, out)?;
        }
        Ok(())
    }

    fn run(&mut self, part: &Part, out: &mut Outbox) -> Result<(), String> {
        let task = Task { participants: part.participants, given: &part.given };
        out.did(Work::Single { undo: false, watched: false });
        match self.shard.run(&part.call, task, None, None) {
            Ran::Done(_) => Ok(()),
            other => Err(format!("a run ended otherwise than on the primary: {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use glassbox_workloads::micro::catalog;

    use super::*;

    /// It would stop whoever reads it, at every start.
    #[test]
    fn what_could_not_be_done_is_not_kept() {
        let replica = |replica| Address::Replica { partition: 0, replica };
        let shard = Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
        let mut backup = Backup::new(shard, replica(0), SchemeKind::Blocking).with_journal(replica(1));
        let mut out = Outbox::default();
        let txn = TxnId { coordinator: Address::Coordinator(0), sequence: 1 };
        let entries = [Entry::Mark, Entry::Decide { txn, commit: true, cascade: false }, Entry::Mark];
        for (sequence, entry) in (1..).zip(entries) {
            backup.handle(replica(0), Message::Replicate { sequence, entry: Box::new(entry) }, &mut out);
        }
        backup.base(&mut out);
        assert!(backup.lost().is_some());
        let [Action::Send(to, Message::Replicate { sequence: 1, .. })] = &out.actions[..] else { panic!("{out:?}") };
        assert_eq!(*to, replica(1));
    }
}
