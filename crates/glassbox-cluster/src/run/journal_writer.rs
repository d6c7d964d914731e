//! A replica's journal at work: appends what its member wants journaled, forces it, and reports what is durable.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use glassbox::research::journal::{Forcer, Journal, JournalConfig, Lsn};
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};

use crate::node::agreed_log::BASE_PATIENCE;
use crate::node::journal::JournalReplay;
use crate::node::recovered::RecoveredReplica;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{Base, Entry, FORMAT, Record};

/// The minimum of record bytes after which the journal begins another base; a larger base raises it to its own size.
const BASE_AFTER_BYTES: u64 = 256 << 20;
/// Bytes of the input log that a base may always have.
const BASE_AT_ONCE_BYTES: u64 = 32 << 20;
/// Bytes of records, besides those of the input log, after which a base is due however long it takes.
const MAX_RECORDS_BYTES: u64 = 2 << 30;
/// The pause before a base that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// A disk hangs when records wait and none has become durable for so long, in microseconds.
const HANGS_AFTER_US: u64 = 3_000_000;

/// A replica's journal.
pub struct JournalWriter {
    journal: Journal,
    /// The result of the replay at opening, until it is used.
    recovered: Option<RecoveredReplica>,
    /// Entries that may not be durable: the position behind each, and its sequence number.
    unforced: VecDeque<(Lsn, u64)>,
    forces: Sender<()>,
    /// Whether a force was requested that has not begun.
    asked: Arc<AtomicBool>,
    /// The epoch of the last journaled configuration.
    epoch: u64,
    base_at: Instant,
    /// How a base ended, if the member does not know of it: whether it is durable.
    based: Option<bool>,
    /// Bytes of the records of the last base.
    base_records: u64,
    /// Bytes of entries in this life.
    written: u64,
    progress: DiskProgress,
    failed: Option<String>,
}

/// What the disk has done since it was looked at last.
#[derive(Debug, Default)]
struct DiskProgress {
    durable: Option<Lsn>,
    /// Since when records have waited and none has become durable, as far as was seen, in microseconds.
    since_us: Option<u64>,
}

impl DiskProgress {
    /// Whether records wait and none has become durable for long.
    fn hangs(&mut self, (durable, appended): (Lsn, Lsn), now_us: u64) -> bool {
        if self.durable.replace(durable) != Some(durable) || durable == appended {
            self.since_us = None;
            return false;
        }
        now_us.saturating_sub(*self.since_us.get_or_insert(now_us)) > HANGS_AFTER_US
    }
}

impl JournalWriter {
    /// Opens the journal of a replica and replays it. `empty`: a shard without rows; another thread calls `wake` after
    /// each force.
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
        let mut reading = JournalReplay::new(me, found.rows());
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
            based: None,
            base_records: 0,
            written: 0,
            progress: DiskProgress::default(),
            failed: None,
        })
    }

    /// The result of the replay at opening.
    pub(super) fn recovered(&self) -> Option<&RecoveredReplica> {
        self.recovered.as_ref()
    }

    pub(super) fn take(&mut self) -> Option<RecoveredReplica> {
        self.recovered.take()
    }

    /// Why journaling has failed.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    fn try_to<T>(&mut self, what: impl FnOnce(&mut Journal) -> Result<T, Error>) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        what(&mut self.journal).map_err(|error| self.failed = Some(reason(error))).ok()
    }

    /// The position behind the record, and its bytes.
    fn write(&mut self, record: &Record) -> Option<(Lsn, u64)> {
        let bytes = postcard::to_allocvec(record).expect("records can be written");
        Some((self.try_to(|journal| journal.append(&bytes))?, bytes.len() as u64))
    }

    /// Appends the next entry of the stream.
    pub(super) fn entry(&mut self, sequence: u64, entry: Entry) {
        if let Some((lsn, bytes)) = self.write(&Record::Entry { sequence, entry }) {
            self.written += bytes;
            self.unforced.push_back((lsn, sequence));
        }
    }

    /// Bytes of entries since it was opened.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Discards the journal's contents.
    pub(super) fn forget(&mut self) {
        self.unforced.clear();
        self.try_to(Journal::forget);
    }

    /// Begins a base, without its rows, which follow piece by piece.
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
                self.base_records = self.journal.since_base();
            }
            Err(error) => self.put_off(&error),
        }
    }

    /// The former base stays valid and the log grows: there is time until the disk is full.
    fn put_off(&mut self, error: &Error) {
        eprintln!("journal grows: a base cannot be written: {error}; it is tried again");
        self.base_at = Instant::now() + TRY_AGAIN;
        self.based = Some(false);
    }

    /// Copies a few rows into the base; whether more can be copied now.
    pub(super) fn copy(&mut self, shard: &mut Shard) -> bool {
        if !self.journal.makes_base() {
            return false;
        }
        match self.journal.copy(shard) {
            Ok(done) => {
                self.note_based(done);
                !done && !self.journal.waits_for_base()
            }
            Err(error) => {
                self.put_off(&error);
                false
            }
        }
    }

    fn note_based(&mut self, is_done: bool) {
        if is_done {
            self.based = Some(true);
        }
    }

    /// How a base has ended since the last call: whether it is durable. `None`: none has.
    pub(super) fn take_based(&mut self) -> Option<bool> {
        self.based.take()
    }

    /// Whether a base may begin now.
    pub(super) fn may_begin_base(&self) -> bool {
        self.failed.is_none() && !self.journal.makes_base() && Instant::now() >= self.base_at
    }

    /// Whether a base is being written.
    pub(super) fn makes_base(&self) -> bool {
        self.journal.makes_base()
    }

    /// Whether there is a base to recover from.
    pub(super) fn is_based(&self) -> bool {
        self.journal.is_based()
    }

    /// Waits until there is a base to recover from.
    pub(super) fn secure(&mut self, shard: &mut Shard) {
        while self.failed.is_none() && !self.journal.is_based() {
            if self.journal.makes_base() {
                match self.journal.copy(shard) {
                    Ok(done) => self.note_based(done),
                    Err(error) => self.failed = Some(reason(error)),
                }
                std::thread::yield_now();
            } else {
                self.failed = Some("the journal has no base of the rows".to_owned());
            }
        }
    }

    /// Whether another base is due. `log_bytes`: what it has of the input log, which is written at once. If this is
    /// more than a moment's work, the base waits until `patience` times as much was written: others wait for it.
    pub(super) fn is_base_due(&self, log_bytes: u64, patience: impl FnOnce() -> u64) -> bool {
        if !self.may_begin_base() {
            return false;
        }
        // Copying a base costs no more than the records that were written since the last one.
        let base_bytes = self.journal.base_bytes();
        let written = self.journal.since_base().saturating_sub(self.base_records);
        let is_worth_it = || {
            let is_short = log_bytes <= BASE_AT_ONCE_BYTES || log_bytes <= written / patience();
            // The records are in memory, too, and are read after a restart.
            is_short || written > BASE_PATIENCE * log_bytes + MAX_RECORDS_BYTES
        };
        base_bytes.is_none_or(|bytes| written > BASE_AFTER_BYTES.max(bytes) && is_worth_it())
    }

    /// Requests a force of everything appended, and journals a new configuration before.
    pub(super) fn force(&mut self, configuration: &Configuration) {
        if std::mem::replace(&mut self.epoch, configuration.epoch) != configuration.epoch {
            self.write(&Record::Configuration(Box::new(configuration.clone())));
        }
        if self.journal.appended() > self.journal.durable() && !self.asked.swap(true, Ordering::SeqCst) {
            // The forcing thread ends only when the log has failed.
            let _ = self.forces.send(());
        }
    }

    /// Whether the disk hangs. To be asked again and again while something depends on it.
    pub(super) fn hangs(&mut self, now_us: u64) -> bool {
        self.progress.hangs((self.journal.durable(), self.journal.appended()), now_us)
    }

    /// The last entry that has become durable since the last call.
    pub(super) fn held(&mut self) -> Option<u64> {
        let (&(first, _), durable) = (self.unforced.front()?, self.journal.durable());
        if first > durable {
            self.try_to(|journal| journal.check());
            return None;
        }
        let held = self.unforced.partition_point(|&(lsn, _)| lsn <= durable);
        self.unforced.drain(..held).next_back().map(|(_, sequence)| sequence)
    }

    /// Closes the journal.
    pub(super) fn close(&mut self) {
        self.try_to(Journal::close);
    }
}

/// Why journaling has failed. The replica has ended, so room on its disk is not enough.
fn reason(error: Error) -> String {
    match error {
        Error::NoRoom { cause } => {
            format!("its directory cannot grow: {cause}; free room on the disk, then start the process again")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
