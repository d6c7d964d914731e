//! A replica's journal at work: writes what its machine wants kept, and says what is on disk.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use glassbox::journal::{Forcer, Journal, JournalConfig, Lsn};
use glassbox::shard::Shard;
use glassbox::{Catalog, Error};

use crate::node::journal::{Reading, Recovered};
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{Base, Entry, FORMAT, Record};

/// After so many bytes of records the journal begins with another base, or as many as the base has, if that is more.
const BASE_AFTER_BYTES: u64 = 256 << 20;
/// How soon a base that could not be made is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// A replica's journal.
pub struct Keeper {
    journal: Journal,
    /// What the journal had when it was opened, until it is used.
    recovered: Option<Recovered>,
    /// Entries that may not be on disk: the place behind each, and its number.
    unforced: VecDeque<(Lsn, u64)>,
    forces: Sender<()>,
    /// Whether a force was asked for that has not begun.
    asked: Arc<AtomicBool>,
    /// The last configuration that was written.
    epoch: u64,
    base_at: Instant,
    failed: Option<String>,
}

impl Keeper {
    /// The journal of this replica of a cluster, with what it has. `empty`: a shard without rows; `wake` is called when
    /// something has got to the disk, by another thread.
    ///
    /// # Errors
    /// When the directory holds something else, is in use or damaged.
    pub fn open(
        directory: &Path,
        (me, cluster): (Address, u64),
        catalog: &Catalog,
        empty: Shard,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, Error> {
        let owner = format!("{me} of cluster {cluster}, format {FORMAT}");
        let mut found = Journal::find(directory, catalog, empty, JournalConfig::new(owner))?;
        let mut reading = Reading::new(me, found.rows());
        let journal = found.replay(|record| reading.record(record))?;
        let (forces, requests) = channel();
        let asked = Arc::new(AtomicBool::new(false));
        let (forcer, seen): (Forcer, _) = (journal.forcer(), Arc::clone(&asked));
        let work = move || {
            while requests.recv().is_ok() {
                seen.store(false, Ordering::SeqCst);
                let forced = forcer.force();
                wake();
                if forced.is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("glassbox-force".to_owned()).spawn(work);
        thread.map_err(|error| Error::Config(format!("a thread cannot be started: {error}")))?;
        Ok(Self {
            journal,
            recovered: reading.end(),
            unforced: VecDeque::new(),
            forces,
            asked,
            epoch: 0,
            base_at: Instant::now(),
            failed: None,
        })
    }

    /// What the journal had when it was opened.
    pub(super) fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    pub(super) fn take(&mut self) -> Option<Recovered> {
        self.recovered.take()
    }

    /// Why nothing more can be kept.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    fn try_to<T>(&mut self, what: impl FnOnce(&mut Journal) -> Result<T, Error>) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        what(&mut self.journal).map_err(|error| self.failed = Some(error.to_string())).ok()
    }

    fn write(&mut self, record: &Record) -> Option<Lsn> {
        let bytes = postcard::to_allocvec(record).expect("records can be written");
        self.try_to(|journal| journal.append(&bytes))
    }

    /// Writes the next entry of the stream.
    pub(super) fn entry(&mut self, sequence: u64, entry: Entry) {
        let lsn = self.write(&Record::Entry { sequence, entry });
        self.unforced.extend(lsn.map(|lsn| (lsn, sequence)));
    }

    /// What it has is of no use any more.
    pub(super) fn forget(&mut self) {
        self.unforced.clear();
        self.try_to(Journal::forget);
    }

    /// Begins a base; without the rows, which follow piece by piece.
    pub(super) fn base(&mut self, base: Base, since: u64, configuration: &Configuration) {
        if self.failed.is_some() {
            return;
        }
        match self.journal.begin_base() {
            Ok(()) => {
                self.epoch = configuration.epoch;
                for record in base.records(since, configuration) {
                    self.write(&record);
                }
            }
            Err(error) => self.put_off(&error),
        }
    }

    /// The base before counts, and the log goes on: there is time until the disk is full.
    fn put_off(&mut self, error: &Error) {
        eprintln!("the journal cannot be made shorter: {error}; it is tried again");
        self.base_at = Instant::now() + TRY_AGAIN;
    }

    /// Copies a few rows of the base that is being made; whether more can be copied now.
    pub(super) fn copy(&mut self, shard: &mut Shard) -> bool {
        if !self.journal.makes_base() {
            return false;
        }
        match self.journal.copy(shard) {
            Ok(done) => !done && !self.journal.waits_for_base(),
            Err(error) => {
                self.put_off(&error);
                false
            }
        }
    }

    /// Whether a base is being made.
    pub(super) fn makes_base(&self) -> bool {
        self.journal.makes_base()
    }

    /// Whether something can be recovered.
    pub(super) fn is_based(&self) -> bool {
        self.journal.is_based()
    }

    /// Makes certain that something can be recovered.
    pub(super) fn secure(&mut self, shard: &mut Shard) {
        while self.failed.is_none() && !self.journal.is_based() {
            if self.journal.makes_base() {
                if let Err(error) = self.journal.copy(shard) {
                    self.failed = Some(error.to_string());
                }
                std::thread::yield_now();
            } else {
                self.failed = Some("it has no base of the rows".to_owned());
            }
        }
    }

    /// Whether the journal should begin with another base.
    pub(super) fn is_base_due(&self) -> bool {
        if self.failed.is_some() || self.journal.makes_base() {
            return false;
        }
        // Making one takes no more than was written since.
        let base_bytes = self.journal.base_bytes();
        let is_long = |bytes: u64| self.journal.since_base() > BASE_AFTER_BYTES.max(bytes);
        base_bytes.is_none_or(is_long) && Instant::now() >= self.base_at
    }

    /// Has what was written got to the disk, and who is who as well.
    pub(super) fn force(&mut self, configuration: &Configuration) {
        if std::mem::replace(&mut self.epoch, configuration.epoch) != configuration.epoch {
            self.write(&Record::Configuration(Box::new(configuration.clone())));
        }
        if self.journal.appended() > self.journal.durable() && !self.asked.swap(true, Ordering::SeqCst) {
            // Whoever forces ends only when the log has failed.
            let _ = self.forces.send(());
        }
    }

    /// The last entry that has got to the disk since this was asked before.
    pub(super) fn held(&mut self) -> Option<u64> {
        let (&(first, _), durable) = (self.unforced.front()?, self.journal.durable());
        if first > durable {
            self.try_to(|journal| journal.check());
            return None;
        }
        let held = self.unforced.partition_point(|&(lsn, _)| lsn <= durable);
        self.unforced.drain(..held).next_back().map(|(_, sequence)| sequence)
    }

    /// Ends it for certain.
    pub(super) fn close(&mut self) {
        self.try_to(Journal::close);
    }
}

#[cfg(test)]
mod tests;
