//! A transaction of an executor, from its request of locks to its end: what it has, and what it lacks.

use glassbox::procedure::Aborts;
use glassbox::research::shard::{
    DeclaredKeys, Kept, Lookup, Output, PartitionSet, RemoteRead, RemoteReadResult, Shard,
};

use crate::protocol::input::{Input, InputId, InputKeys};
use crate::protocol::message::Outcome;

/// A transaction that has requested its locks and has not ended.
#[derive(Debug)]
pub(crate) struct ExecutingTxn {
    pub(super) id: InputId,
    pub(super) input: Input,
    pub(super) keys: DeclaredKeys,
    /// Whether the participants vote: it may abort, or touch a key that it does not declare.
    pub(super) has_votes: bool,
    /// Why it cannot run anywhere.
    pub(super) problem: Option<String>,
    /// Whether its client waits for an answer.
    pub(super) is_answered: bool,
    /// Whether it has its locks.
    pub(super) has_begun: bool,
    /// Rows of other partitions.
    pub(super) given: Vec<RemoteReadResult>,
    /// Rows of other partitions that it needs before its next run.
    missing: Vec<(u8, u16, Lookup)>,
    /// Rows that it has without having asked for them: replicas of another set did.
    unasked: Vec<RemoteRead>,
    /// Rows that other participants want, until it has its locks.
    pub(super) wanted: Vec<(u8, Vec<RemoteRead>)>,
    /// The participants that can commit.
    pub(super) votes: PartitionSet,
    /// The outcome, if another participant cannot commit.
    pub(super) refusal: Option<Outcome>,
    /// The undo buffer and output of its run, while votes are missing.
    pub(super) done: Option<(Kept, Output)>,
}

impl ExecutingTxn {
    pub(super) fn new(id: InputId, input: Input, keys: DeclaredKeys, shard: &Shard) -> Self {
        let never_aborts = shard.aborts(&input.call) == Ok(Aborts::Never);
        let is_certain = never_aborts && input.keys == InputKeys::Declared && keys.is_complete();
        Self {
            has_votes: !input.participants.is_single() && !is_certain,
            id,
            input,
            keys,
            problem: None,
            is_answered: true,
            has_begun: false,
            given: Vec::new(),
            missing: Vec::new(),
            unasked: Vec::new(),
            wanted: Vec::new(),
            votes: PartitionSet::EMPTY,
            refusal: None,
            done: None,
        }
    }

    pub(super) fn receive_rows(&mut self, mut rows: Vec<RemoteReadResult>) {
        // Replicas of several sets send the same.
        let is_same = |one: &RemoteReadResult, other: &RemoteReadResult| {
            (one.partition, one.table) == (other.partition, other.table) && one.lookup == other.lookup
        };
        rows.retain(|row| !self.given.iter().any(|given| is_same(row, given)));
        for row in &rows {
            let before = self.missing.len();
            self.missing.retain(|(partition, table, lookup)| {
                (row.partition, row.table) != (*partition, *table) || row.lookup != *lookup
            });
            if self.missing.len() == before {
                let partitions = PartitionSet::of(row.partition.into());
                let lookup = row.lookup.clone();
                self.unasked.push(RemoteRead { partitions, table: row.table, lookup, writes: false });
            }
        }
        self.given.extend(rows);
    }

    /// Rows of other partitions that it has without having asked for them; from now on it has asked for them.
    pub(super) fn take_unasked(&mut self) -> Vec<RemoteRead> {
        std::mem::take(&mut self.unasked)
    }

    /// Notes rows of other partitions that it needs, and that these send without being asked.
    pub(super) fn expect(&mut self, reads: Vec<RemoteRead>) {
        let is_of = |one: &RemoteRead, all: &RemoteRead| {
            one.table == all.table && one.lookup == all.lookup && one.partitions.difference(all.partitions).is_empty()
        };
        self.unasked.retain(|unasked| !reads.iter().any(|read| is_of(unasked, read)));
        self.miss(reads);
    }

    /// The participants that it waits for, as seen by this one.
    pub(super) fn awaits(&self, me: usize) -> PartitionSet {
        let of_rows = self.missing.iter().map(|(partition, ..)| usize::from(*partition)).collect::<PartitionSet>();
        // A vote against it ends it, whatever else is missing.
        let of_votes =
            if self.has_votes { self.input.participants.difference(self.votes.with(me)) } else { PartitionSet::EMPTY };
        of_rows.union(of_votes)
    }

    /// Whether nothing is missing for its next run.
    pub(super) fn can_run_on(&self) -> bool {
        self.has_begun && self.done.is_none() && self.missing.is_empty()
    }

    /// Notes rows of other partitions that it needs and does not have; those of them that it did not need before.
    pub(super) fn miss(&mut self, reads: Vec<RemoteRead>) -> Vec<RemoteRead> {
        let mut new = Vec::new();
        for read in reads {
            let (given, missing) = (&self.given, &mut self.missing);
            let is_new = |partition: &usize| {
                let is = |at: u8, table: u16, lookup: &Lookup| {
                    usize::from(at) == *partition && table == read.table && *lookup == read.lookup
                };
                !given.iter().any(|row| is(row.partition, row.table, &row.lookup))
                    && !missing.iter().any(|(at, table, lookup)| is(*at, *table, lookup))
            };
            let partitions: PartitionSet = read.partitions.iter().filter(is_new).collect();
            missing.extend(partitions.iter().map(|partition| (partition as u8, read.table, read.lookup.clone())));
            if !partitions.is_empty() {
                new.push(RemoteRead { partitions, ..read });
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::Call;
    use glassbox_workloads::micro::catalog;

    use super::*;
    use crate::protocol::address::Address;

    const OTHER: PartitionSet = PartitionSet::of(1);

    fn read(id: u64) -> RemoteRead {
        RemoteRead { partitions: OTHER, table: 0, lookup: Lookup::Key(id.to_be_bytes().to_vec()), writes: false }
    }

    fn row(id: u64) -> RemoteReadResult {
        RemoteReadResult { partition: 1, table: 0, lookup: read(id).lookup, rows: Vec::new() }
    }

    /// A replica of another set asked for them, and they come from what their owner has kept for it.
    #[test]
    fn rows_that_arrive_unasked_are_asked_for_before_the_vote_unless_they_are_promised() {
        let shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
        let call = Call { procedure: 0, arguments: vec![1].into(), now: Timestamp::default(), seed: 0 };
        let participants = PartitionSet::all(2);
        let keys = InputKeys::All;
        let client = Address::Client(1);
        let input = Input { index: 0, client, call_id: 1, attempt: 1, call, version: 1, participants, keys };
        let id = InputId { epoch: 1, index: 0 };
        let mut txn = ExecutingTxn::new(id, input, DeclaredKeys::none(), &shard);
        txn.receive_rows(vec![row(1), row(2)]);
        txn.expect(vec![read(1), read(3)]);
        assert_eq!(txn.miss(vec![read(2), read(4)]), [read(4)], "one is there");
        txn.receive_rows(vec![row(1), row(2), row(3), row(4), row(5)]);
        assert_eq!(txn.take_unasked(), [read(2), read(5)]);
        assert_eq!(txn.take_unasked(), [], "once");
    }
}
