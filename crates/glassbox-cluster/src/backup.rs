//! A backup: repeats what its primary decided, in that order, without locks and without two-phase commit.
//!
//! *Low Overhead Concurrency Control*, sections 3.2, 3.3 and 4.3. It holds an entry when it has it: running it is the
//! same there as here, since procedures are deterministic. What is not decided yet waits in the order of the stream.

use std::collections::{BTreeSet, VecDeque};

use glassbox::shard::{Ran, Shard, Task};

use crate::address::{Address, Life, TxnId};
use crate::committed::Committed;
use crate::message::{Entry, Message, Part};
use crate::outbox::{Outbox, Work};
use crate::scheme::SchemeKind;
use crate::store::Store;
use crate::stream::Stream;

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
}

/// A run that is not decided yet.
#[derive(Debug)]
pub(crate) enum Waits {
    /// The round that it was the vote in.
    Prepared(TxnId, u32, Part),
    Speculative(Part),
}

impl Backup {
    /// A backup that begins with the same rows as its primary.
    pub fn new(shard: Shard, primary: Address, scheme: SchemeKind) -> Self {
        Self::following(shard, primary, 0, scheme)
    }

    /// A backup with the rows as they are after this entry of the stream.
    pub fn following(shard: Shard, primary: Address, held: u64, scheme: SchemeKind) -> Self {
        let (undecided, committed, over) = (VecDeque::new(), Committed::default(), BTreeSet::new());
        Self { shard, primary, scheme, held, undecided, committed, over, lost: None }
    }

    /// Makes a primary's store of it; and what is undecided.
    pub(crate) fn into_store(self) -> (Store, VecDeque<Waits>) {
        let mut store = Store::new(self.shard, Stream::new(&[], self.held), self.scheme);
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
        let Message::Replicate { sequence, entry } = message else { return };
        if from != self.primary || self.lost.is_some() || sequence <= self.held {
            return;
        }
        if sequence != self.held + 1 {
            self.lost = Some(format!("entry {sequence} follows {}: some are missing", self.held));
            return;
        }
        self.held = sequence;
        out.send(self.primary, Message::Held { sequence });
        if let Err(why) = self.apply(*entry, out) {
            self.lost = Some(why);
        }
    }

    fn apply(&mut self, entry: Entry, out: &mut Outbox) -> Result<(), String> {
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
