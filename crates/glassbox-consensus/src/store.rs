//! The library's view of the log, and of the state that entries are applied to.

use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::sync::Arc;

use futures_util::{Stream, TryStreamExt};
use openraft::entry::{EntryPayload, RaftEntry};
use openraft::storage::{EntryResponder, IOFlushed, LogState, RaftLogReader, RaftLogStorage, RaftStateMachine};
use openraft::{OptionalSend, RaftSnapshotBuilder};

use crate::Decided;
use crate::shared::{Shared, Waiter};
use crate::stored::{Change, State, bytes_of};
use crate::types::{Entry, LogId, Snapshot, SnapshotMeta, StoredMembership, Types, Vote};

/// Bytes of proposals in one request or record, if it has several.
const REQUEST_BYTES: usize = 1 << 20;

/// The log of a member.
#[derive(Clone)]
pub(crate) struct LogStore(pub(crate) Shared);

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> io::Result<Vec<Entry>> {
        Ok(self.0.lock().stored.entries(&range))
    }

    /// No more than fit into a message.
    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<Entry>> {
        let mut entries = self.0.lock().stored.entries(&(start..end));
        let (mut bytes, first) = (0, entries.first().map(RaftEntry::index));
        let mut fits = |entry: &Entry| {
            bytes += bytes_of(entry);
            bytes <= REQUEST_BYTES || Some(entry.index()) == first
        };
        let fitting = entries.iter().take_while(|entry| fits(entry)).count();
        entries.truncate(fitting);
        Ok(entries)
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(self.0.lock().stored.vote)
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> io::Result<LogState<Types>> {
        let stored = &self.0.lock().stored;
        Ok(LogState { last_purged_log_id: stored.purged, last_log_id: stored.last() })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        self.0.write_durably([Change::Vote(*vote)]).await
    }

    async fn append<I>(&mut self, entries: I, flushed: IOFlushed<Types>) -> io::Result<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut inner = self.0.lock();
        let (mut piece, mut bytes) = (Vec::new(), 0);
        for entry in entries {
            let size = bytes_of(&entry);
            if bytes + size > REQUEST_BYTES && !piece.is_empty() {
                inner.write(Change::Append(std::mem::take(&mut piece)))?;
                bytes = 0;
            }
            bytes += size;
            piece.push(entry);
        }
        inner.write(Change::Append(piece))?;
        inner.when_forced(Waiter::Append(flushed));
        Ok(())
    }

    // What follows is written after these two, and is not durable before them.

    async fn truncate_after(&mut self, last: Option<LogId>) -> io::Result<()> {
        self.0.lock().write(Change::Truncate(last.map(|last| last.index)))
    }

    async fn purge(&mut self, upto: LogId) -> io::Result<()> {
        self.0.lock().write(Change::Purge(upto))
    }
}

/// Hands what is decided to the driver.
#[derive(Clone)]
pub(crate) struct Decisions(pub(crate) Shared);

impl RaftStateMachine<Types> for Decisions {
    type SnapshotData = Arc<[u8]>;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        let inner = self.0.lock();
        Ok((inner.applied, inner.members.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        while let Some((entry, responder)) = entries.try_next().await? {
            let mut inner = self.0.lock();
            let at = entry.log_id();
            inner.applied = Some(at);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(data) => inner.decided.push(Decided::Data(at.index, data.0)),
                EntryPayload::Membership(members) => inner.members = StoredMembership::new(Some(at), members),
            }
            drop(inner);
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, data: Arc<[u8]>) -> io::Result<()> {
        let (last, members) = (meta.last_log_id, meta.last_membership.clone());
        let is_stored = self.0.lock().stored.state.as_ref().is_some_and(|state| state.last == last);
        if !is_stored {
            let state = State { last, members: members.clone(), data: Arc::clone(&data) };
            self.0.write_durably(state.changes()).await?;
        }
        let mut inner = self.0.lock();
        (inner.applied, inner.members) = (last, members);
        inner.decided.push(Decided::State(data));
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        Ok(self.0.lock().stored.state.as_ref().map(State::snapshot))
    }
}

impl RaftSnapshotBuilder<Types> for Decisions {
    type SnapshotData = Arc<[u8]>;

    /// The state that the driver gave last. Its base of the log has it, so it is not written here.
    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        let state = self.0.lock().stored.state.as_ref().map(State::snapshot);
        state.ok_or_else(|| io::Error::other("the driver has given no state"))
    }
}

#[cfg(test)]
mod tests;
