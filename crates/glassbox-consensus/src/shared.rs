//! What the library's tasks and the driver of a member share.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::IOFlushed;
use tokio::sync::oneshot;

use crate::rpc::{Arriving, Request, Response};
use crate::stored::{Change, Stored};
use crate::types::{LogId, StoredMembership, Types};
use crate::{Decided, Write};

/// Something that waits for a write to be durable.
pub(crate) enum Waiter {
    Append(IOFlushed<Types>),
    Task(oneshot::Sender<()>),
}

/// See the module.
#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) stored: Stored,
    /// The number of the last write.
    pub(crate) written: u64,
    /// Writes that the driver has not taken yet.
    pub(crate) writes: Vec<Write>,
    waiting: VecDeque<(u64, Waiter)>,
    /// Messages that the driver has not taken yet.
    pub(crate) messages: Vec<(u64, Vec<u8>)>,
    /// The number of the last request.
    pub(crate) requested: u64,
    /// Requests that wait for their responses, with the members that they were sent to.
    pub(crate) requests: BTreeMap<u64, (u64, oneshot::Sender<Response>)>,
    /// Requests of other members that no task answers yet.
    pub(crate) asked: VecDeque<(u64, u64, Request)>,
    /// A state that another member sends.
    pub(crate) arriving: Arriving,
    /// Decisions that the driver has not taken yet.
    pub(crate) decided: Vec<Decided>,
    /// The last entry that was decided.
    pub(crate) applied: Option<LogId>,
    /// The members as of that entry.
    pub(crate) members: StoredMembership,
    /// Whether a change of members is under way.
    pub(crate) is_changing: bool,
    /// Proposals that were refused, or whose fate is not known.
    pub(crate) lost: u64,
    /// The library's task has ended.
    pub(crate) is_gone: bool,
    #[cfg(test)]
    pub(crate) disk: Option<TestDisk>,
}

impl Inner {
    /// Makes a change, and has the driver write it.
    pub(crate) fn write(&mut self, change: Change) -> io::Result<()> {
        let record = postcard::to_allocvec(&change).expect("changes can be written");
        self.stored.apply(change).map_err(io::Error::other)?;
        #[cfg(test)]
        if let Some(disk) = &mut self.disk {
            disk.write(&record, &mut self.stored);
        }
        self.written += 1;
        self.writes.push(Write { number: self.written, record });
        Ok(())
    }

    /// Calls when everything that was written is durable.
    pub(crate) fn when_forced(&mut self, waiter: Waiter) {
        self.waiting.push_back((self.written, waiter));
        #[cfg(test)]
        if self.disk.is_some() {
            self.forced(self.written);
        }
    }

    /// Everything up to this write is durable.
    pub(crate) fn forced(&mut self, number: u64) {
        while self.waiting.front().is_some_and(|(of, _)| *of <= number) {
            match self.waiting.pop_front() {
                Some((_, Waiter::Append(flushed))) => flushed.io_completed(Ok(())),
                // A task that is gone waits for nothing.
                Some((_, Waiter::Task(task))) => _ = task.send(()),
                None => {}
            }
        }
    }
}

/// A disk that forces at once.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct TestDisk {
    /// Whether the member is restored from its records after every write.
    pub(crate) crashes: bool,
    pub(crate) records: Vec<Vec<u8>>,
}

#[cfg(test)]
impl TestDisk {
    fn write(&mut self, record: &[u8], stored: &mut Stored) {
        self.records.push(record.to_vec());
        // A state that was not completed is nothing.
        if self.crashes && stored.pieces.is_empty() {
            let mut restored = Stored::restore(self.records.iter().map(Vec::as_slice)).unwrap();
            // A driver writes it, with its base.
            restored.state = restored.state.or_else(|| stored.state.clone());
            assert_eq!(format!("{restored:?}"), format!("{stored:?}"));
            *stored = restored;
        }
    }
}

/// See the module. It is locked for moments only, never across an `await`.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Inner>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes changes; returns when they are durable.
    pub(crate) async fn write_durably(&self, changes: impl IntoIterator<Item = Change>) -> io::Result<()> {
        let (done, forced) = oneshot::channel();
        {
            let mut inner = self.lock();
            changes.into_iter().try_for_each(|change| inner.write(change))?;
            inner.when_forced(Waiter::Task(done));
        }
        forced.await.map_err(io::Error::other)
    }
}
