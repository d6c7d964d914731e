//! A member's persistent state: its vote, its part of the log, and the state that stands for what the log had before.
//!
//! It changes by [`Change`]s only, which the driver writes to a disk; the same changes, applied again in order, restore
//! it.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use openraft::entry::{EntryPayload, RaftEntry};
use serde::{Deserialize, Serialize};

use crate::types::{Entry, LogId, Snapshot, SnapshotMeta, StoredMembership, Vote};

/// Bytes of a state in one record.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes of entries before a base that stay in the log.
const KEPT_BYTES: usize = 16 << 20;

/// Bytes of the proposal in an entry.
pub(crate) fn bytes_of(entry: &Entry) -> usize {
    match &entry.payload {
        EntryPayload::Normal(data) => data.0.len(),
        _ => 0,
    }
}

/// A change of the persistent state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Change {
    /// The vote, which must never be forgotten.
    Vote(Vote),
    /// Entries at the end of the log.
    Append(Vec<Entry>),
    /// The log ends with this index; `None`: it is empty.
    Truncate(Option<u64>),
    /// The log begins after this entry.
    Purge(LogId),
    /// A piece of a state, at this offset. The first one discards those of a state that was not completed.
    Piece(u64, #[serde(with = "serde_bytes")] Vec<u8>),
    /// The pieces are the state after this entry, with the members as of then.
    State(Option<LogId>, StoredMembership),
}

/// A state that stands for the log up to an entry.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) last: Option<LogId>,
    pub(crate) members: StoredMembership,
    pub(crate) data: Arc<[u8]>,
}

impl State {
    pub(crate) fn snapshot(&self) -> Snapshot {
        let Self { last, members, data } = self.clone();
        Snapshot { meta: SnapshotMeta { last_log_id: last, last_membership: members }, snapshot: data }
    }

    /// The changes that make it the state.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change> {
        let offsets = (0..).step_by(PIECE_BYTES);
        let pieces = offsets.zip(self.data.chunks(PIECE_BYTES)).map(|(at, piece)| Change::Piece(at, piece.to_vec()));
        pieces.chain([Change::State(self.last, self.members.clone())])
    }
}

/// The persistent state of a member.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) vote: Option<Vote>,
    pub(crate) purged: Option<LogId>,
    entries: VecDeque<Entry>,
    pub(crate) state: Option<State>,
    /// Pieces of the next state.
    pub(crate) pieces: Vec<u8>,
}

impl Stored {
    /// Restores the state of a member from its records.
    ///
    /// # Errors
    /// When a record is none, or does not fit its predecessors.
    pub(crate) fn restore<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, String> {
        let mut stored = Self::default();
        for record in records {
            let change = postcard::from_bytes(record).map_err(|error| format!("invalid record of Raft: {error}"))?;
            stored.apply(change)?;
        }
        stored.pieces.clear();
        Ok(stored)
    }

    /// Applies a change.
    ///
    /// # Errors
    /// When it does not fit what there is.
    pub(crate) fn apply(&mut self, change: Change) -> Result<(), String> {
        match change {
            Change::Vote(vote) => self.vote = Some(vote),
            Change::Append(entries) => {
                for entry in entries {
                    // A base may have entries that were not written yet: then they are here already.
                    self.truncate(entry.index());
                    let next = self.last().map(|last| last.index + 1);
                    if next.is_some_and(|next| next != entry.index()) {
                        return Err(format!("entry {} of Raft's log is where entry {next:?} belongs", entry.index()));
                    }
                    self.entries.push_back(entry);
                }
            }
            Change::Truncate(last) => self.truncate(last.map_or(0, |last| last + 1)),
            Change::Purge(upto) => {
                let gone = (upto.index + 1).saturating_sub(self.first()) as usize;
                self.entries.drain(..gone.min(self.entries.len()));
                self.purged = self.purged.max(Some(upto));
            }
            Change::Piece(offset, bytes) => {
                self.pieces.truncate(offset as usize);
                self.pieces.extend(bytes);
            }
            Change::State(last, members) => {
                let data = std::mem::take(&mut self.pieces).into();
                self.state = Some(State { last, members, data });
            }
        }
        Ok(())
    }

    /// Removes the entries from this index on.
    fn truncate(&mut self, from: u64) {
        self.entries.truncate(from.saturating_sub(self.first()) as usize);
    }

    /// The index of the first entry.
    fn first(&self) -> u64 {
        let after = self.purged.map_or(0, |purged| purged.index + 1);
        self.entries.front().map_or(after, RaftEntry::index)
    }

    /// The last entry that is or was in the log.
    pub(crate) fn last(&self) -> Option<LogId> {
        self.entries.back().map(RaftEntry::log_id).or(self.purged)
    }

    /// The entries of these indexes that are in the log.
    pub(crate) fn entries(&self, range: &impl RangeBounds<u64>) -> Vec<Entry> {
        let first = self.first();
        let from = match range.start_bound() {
            Bound::Included(&from) => from,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(&last) => last + 1,
            Bound::Excluded(&to) => to,
            Bound::Unbounded => u64::MAX,
        };
        let at = |index: u64| (index.saturating_sub(first) as usize).min(self.entries.len());
        self.entries.range(at(from)..at(to).max(at(from))).cloned().collect()
    }

    /// The entry after which the log is kept, if the state that stands for it is durable: not more than so many entries
    /// before the state, for members that are a little behind, and not too many bytes.
    pub(crate) fn kept_after(&self, entries: u32) -> Option<LogId> {
        let last = self.state.as_ref()?.last?;
        let (mut left, mut bytes) = (entries, 0);
        let before = self.entries.iter().rev().skip_while(|entry| entry.index() > last.index);
        let is_kept = |entry: &&Entry| {
            bytes += bytes_of(entry);
            let is_kept = left > 0 && bytes <= KEPT_BYTES;
            left = left.saturating_sub(1);
            is_kept
        };
        let mut rest = before.skip_while(is_kept);
        rest.next().map(RaftEntry::log_id).or(self.purged)
    }

    /// The changes that restore it, but for entries up to this one.
    pub(crate) fn changes(&self, after: Option<LogId>) -> Vec<Change> {
        let (state, purged) = (self.state.iter().flat_map(State::changes), after.max(self.purged));
        let rest = purged.map(Change::Purge).into_iter().chain(self.vote.map(Change::Vote));
        let is_kept = |entry: &&Entry| Some(entry.log_id()) > purged;
        let entries = self.entries.iter().filter(is_kept).map(|entry| Change::Append(vec![entry.clone()]));
        state.chain(rest).chain(entries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_was_not_completed_leaves_nothing() {
        let state =
            |byte: u8, size| State { last: None, members: StoredMembership::default(), data: vec![byte; size].into() };
        let first = state(1, PIECE_BYTES + 1);
        let mut changes: Vec<_> = state(2, 3 * PIECE_BYTES).changes().take(2).collect();
        changes.extend(first.changes());
        changes.extend(state(3, 2 * PIECE_BYTES).changes().take(1));
        let records: Vec<_> = changes.iter().map(|change| postcard::to_allocvec(change).unwrap()).collect();
        let restored = Stored::restore(records.iter().map(Vec::as_slice)).unwrap();
        assert!(restored.state.is_some_and(|it| it.data == first.data) && restored.pieces.is_empty());
        assert!(Stored::restore([&b"\xff"[..]]).is_err());
    }
}
