//! An open journal.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::config::builder;
use crate::error::Error;
use crate::log::{Appender, Log, LogConfig, Lsn};
use crate::partitioned::shard::Shard;
use crate::research::journal::base::{BaseWriter, JournalFiles, Piece};

/// Rows that are copied out at a time, bytes: some ten microseconds.
const SLICE_BYTES: usize = 16 << 10;
/// Pieces that may wait to be written.
const MAX_PIECES: usize = 256;

/// Settings of a journal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JournalConfig {
    /// Whose it is, in words. Who says otherwise is refused.
    pub owner: String,
    /// Size of new segments of the log in bytes: a multiple of 4096. Default: 64 MiB.
    pub segment_bytes: u64,
    /// Size of the log's buffer in bytes: a power of two of at least 4096. A record may take a quarter of it.
    /// Default: 128 MiB.
    pub log_buffer_bytes: usize,
    /// Whether threads of its own write bases and keep segments ready. Without, all that happens inside the calls: what
    /// a deterministic test wants.
    pub(crate) threads: bool,
}

builder! {
    JournalConfig:
    with_segment_bytes segment_bytes: u64,
    with_log_buffer_bytes log_buffer_bytes: usize,
}

impl JournalConfig {
    /// With records of up to 32 MiB, and threads.
    pub fn new(owner: impl Into<String>) -> Self {
        Self { owner: owner.into(), segment_bytes: 64 << 20, log_buffer_bytes: 128 << 20, threads: true }
    }

    pub(crate) fn log(&self) -> LogConfig {
        let &Self { segment_bytes, log_buffer_bytes, threads, .. } = self;
        // A process that is restarted beside others would take their time to make 128 MiB present.
        let prefault = false;
        LogConfig { segment_bytes, log_buffer_bytes, prefault, threads, appenders: 1, ..LogConfig::default() }
    }
}

/// A base that is being made.
enum Making {
    Here(BaseWriter, Vec<Option<Piece>>),
    There(SyncSender<Option<Piece>>, JoinHandle<Result<(), Error>>),
}

/// An open journal. Dropping it without [`Journal::close`] is like a crash.
pub struct Journal {
    shared: JournalFiles,
    appender: Appender,
    threads: bool,
    making: Option<Making>,
    /// A piece for which there was no room.
    left: Option<Option<Piece>>,
    /// All pieces were given to who writes them.
    copied: bool,
}

impl Journal {
    pub(crate) fn new(shared: JournalFiles, threads: bool) -> Result<Self, Error> {
        let appender = shared.log.appender()?;
        Ok(Self { shared, appender, threads, making: None, left: None, copied: false })
    }

    /// Adds a record; the place behind it.
    ///
    /// # Errors
    /// When it is too large, or the log has failed.
    pub fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        Ok(self.appender.append(record)?)
    }

    /// The place behind the last record.
    pub fn appended(&self) -> Lsn {
        self.appender.appended()
    }

    /// Everything up to here survives a crash.
    pub fn durable(&self) -> Lsn {
        self.shared.log.durable()
    }

    /// Whether the log still takes records.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.shared.log.check()?)
    }

    /// Makes all records durable, for another thread to use.
    pub fn forcer(&self) -> Forcer {
        Forcer(Arc::clone(&self.shared.log))
    }

    /// Whether there is a base, so that something can be recovered.
    pub fn is_based(&self) -> bool {
        self.shared.store.manifest().checkpoint.is_some()
    }

    /// Bytes of the base, if there is one.
    pub fn base_bytes(&self) -> Option<u64> {
        self.shared.store.manifest().checkpoint.as_ref().map(|base| base.bytes)
    }

    /// Bytes of records since the base.
    pub fn since_base(&self) -> u64 {
        self.appended().0 - self.shared.store.manifest().log_start
    }

    /// Makes it so that nothing is recovered until there is another base.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn forget(&mut self) -> Result<(), Error> {
        self.give_up_base();
        if !self.is_based() {
            return Ok(());
        }
        self.shared.log.force()?;
        let log_start = self.appended().0;
        self.shared.store.manifest().replace(Some(&self.shared.log), |manifest| {
            (manifest.checkpoint, manifest.log_start) = (None, log_start);
        })
    }

    /// Begins a base at this place of the log, of rows that were [fixed](Shard::fix) when it was reached; one that is
    /// being made is given up. Records that belong to it follow next.
    ///
    /// # Errors
    /// When its file cannot be made.
    pub fn begin_base(&mut self) -> Result<(), Error> {
        self.give_up_base();
        let writer = BaseWriter::new(self.shared.clone(), self.appended())?;
        self.making = Some(if self.threads {
            let (sender, pieces) = sync_channel(MAX_PIECES);
            let work = move || writer.write(pieces.into_iter());
            let thread = std::thread::Builder::new().name("glassbox-base".to_owned()).spawn(work);
            let thread = thread.map_err(|error| Error::Config(format!("a thread cannot be started: {error}")))?;
            Making::There(sender, thread)
        } else {
            Making::Here(writer, Vec::new())
        });
        Ok(())
    }

    /// Whether a base is being made.
    pub fn makes_base(&self) -> bool {
        self.making.is_some()
    }

    /// Whether nothing can be copied into a base that is being made, until who writes it has got further.
    pub fn waits_for_base(&self) -> bool {
        self.making.is_some() && (self.copied || self.left.is_some())
    }

    /// Copies a few of the fixed rows into the base that is being made; whether none is being made any more.
    ///
    /// # Errors
    /// When the base cannot be written: the one before still counts.
    pub fn copy(&mut self, shard: &mut Shard) -> Result<bool, Error> {
        match &self.making {
            None => return Ok(true),
            // Its end is told by what came of it.
            Some(Making::There(_, thread)) if thread.is_finished() => shard.unfix(),
            _ if !self.copied => self.copy_piece(shard),
            _ => {}
        }
        self.finish()
    }

    fn copy_piece(&mut self, shard: &mut Shard) {
        let piece = self.left.take().unwrap_or_else(|| {
            let mut block = Piece::room();
            let fixed = shard.fixed(SLICE_BYTES, &mut block);
            fixed.map(|(table, width)| Piece::new(table, width, block))
        });
        let is_last = piece.is_none();
        match &mut self.making {
            Some(Making::Here(_, pieces)) => pieces.push(piece),
            Some(Making::There(sender, _)) => {
                // When the disk is slower than this the piece waits.
                if let Err(TrySendError::Full(piece)) = sender.try_send(piece) {
                    self.left = Some(piece);
                    return;
                }
            }
            None => {}
        }
        self.copied = is_last;
    }

    /// Looks whether it is written.
    fn finish(&mut self) -> Result<bool, Error> {
        match self.making.take() {
            Some(Making::Here(writer, pieces)) if !self.copied => {
                self.making = Some(Making::Here(writer, pieces));
                Ok(false)
            }
            Some(Making::Here(writer, pieces)) => writer.write(pieces.into_iter()).map(|()| true),
            Some(Making::There(sender, thread)) if !thread.is_finished() => {
                self.making = Some(Making::There(sender, thread));
                Ok(false)
            }
            Some(Making::There(_, thread)) => match thread.join() {
                Ok(written) => written.map(|()| true),
                Err(_) => Err(Error::Stopped {
                    reason: "the thread that wrote a base of the journal has panicked".to_owned(),
                }),
            },
            None => Ok(true),
        }
    }

    fn give_up_base(&mut self) {
        (self.left, self.copied) = (None, false);
        if let Some(Making::There(sender, thread)) = self.making.take() {
            drop(sender);
            // It gives up for want of a last piece; or has just ended, and what came of it counts for nothing here.
            let _ = thread.join();
        }
    }

    /// Forces everything and ends the log for certain.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn close(&mut self) -> Result<(), Error> {
        self.give_up_base();
        self.shared.store.manifest().close(&self.shared.log)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.give_up_base();
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("appended", &self.appended()).finish_non_exhaustive()
    }
}

/// Makes a journal's records durable.
pub struct Forcer(Arc<Log>);

impl Forcer {
    /// Returns when everything appended before is durable.
    ///
    /// # Errors
    /// When it cannot be: nothing is, from then on.
    pub fn force(&self) -> Result<(), Error> {
        Ok(self.0.force()?)
    }
}
