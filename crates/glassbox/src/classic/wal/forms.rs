//! Where the records of transactions go: the component's working form and its stripped ones.
//!
//! Taking out logging is three steps in *OLTP Through the Looking Glass* (Harizopoulos et al., SIGMOD 2008): no disk,
//! no records, no LSNs. Each is a form of [`Logs`]; which one is known at compile time, so that what is taken out costs
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::log::{Appender, Log, Lsn};

/// A log that sessions share.
pub(crate) trait Logs: Send + Sync {
    /// What one session appends with.
    type Device: Device;

    /// A device for one more session.
    ///
    /// # Errors
    /// When there are too many.
    fn device(&self) -> Result<Self::Device, Error>;

    /// Returns when what was appended up to `lsn` survives a crash: for the answer to a commit. At once when the log
    /// is configured not to wait.
    ///
    /// # Errors
    /// When the log has failed.
    fn wait(&self, lsn: Lsn) -> Result<(), Error>;

    /// A thread will wait, but does not yet.
    #[inline(always)]
    fn nudge(&self) {}

    /// Returns when what was appended up to `lsn` survives a crash, whatever is configured: for the writer of a page
    /// or a checkpoint.
    ///
    /// # Errors
    /// When the log has failed.
    fn force(&self, lsn: Lsn) -> Result<(), Error>;
}

/// Takes the records of one session.
pub(crate) trait Device: Send {
    /// Whether records are made at all. Without, `append` is given nothing, but what undo needs is still kept.
    const RECORDS: bool;

    /// A position that no record has yet: a lower bound of where the next one begins.
    fn appended(&self) -> Lsn;

    /// Appends a record and returns the position behind it.
    ///
    /// # Errors
    /// When the log refuses; then nothing was appended.
    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error>;

    /// Appends a record that rolls back or ends a transaction: it may use the room that is kept for this.
    ///
    /// # Errors
    /// As for [`Device::append`].
    #[inline(always)]
    fn append_undo(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        self.append(record)
    }

    /// Says how many bytes rolling the transaction back would append.
    #[inline(always)]
    fn set_undo_bytes(&mut self, _bytes: u64) {}

    /// The stamp of a page that had the stamp `page` and was changed by the record that ends at `lsn`. It differs from
    /// every stamp that the page had before.
    #[inline(always)]
    fn stamp(_page: Lsn, lsn: Lsn) -> Lsn {
        lsn
    }
}

/// The working form: records go to the log.
pub(crate) struct Wal(pub(crate) Arc<Log>);

/// Appends to the log.
pub(crate) struct WalDevice(Appender);

impl Logs for Wal {
    type Device = WalDevice;

    fn device(&self) -> Result<WalDevice, Error> {
        Ok(WalDevice(self.0.appender()?))
    }

    fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        Ok(self.0.wait(lsn)?)
    }

    fn nudge(&self) {
        self.0.nudge();
    }

    fn force(&self, lsn: Lsn) -> Result<(), Error> {
        if self.0.durable() >= lsn { Ok(self.0.check()?) } else { Ok(self.0.force()?) }
    }
}

impl Device for WalDevice {
    const RECORDS: bool = true;

    #[inline]
    fn appended(&self) -> Lsn {
        self.0.appended()
    }

    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        Ok(self.0.append(record)?)
    }

    #[inline]
    fn append_undo(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        Ok(self.0.append_undo(record)?)
    }

    #[inline]
    fn set_undo_bytes(&mut self, bytes: u64) {
        self.0.set_undo_bytes(bytes);
    }
}

/// Records are made and thrown away: the database is gone when the process ends. Positions grow as they would.
#[derive(Clone, Default)]
pub(crate) struct Discarded(Arc<AtomicU64>);

impl Logs for Discarded {
    type Device = Discarded;

    fn device(&self) -> Result<Discarded, Error> {
        Ok(self.clone())
    }

    fn wait(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }

    fn force(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }
}

impl Device for Discarded {
    const RECORDS: bool = true;

    fn appended(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Acquire))
    }

    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        let bytes = (record.len() as u64 + 4).next_multiple_of(8);
        Ok(Lsn(self.0.fetch_add(bytes, Ordering::AcqRel) + bytes))
    }
}

/// No records. `STAMPED`: pages still get LSNs, which grow over all pages; else each counts its own changes, so that a
/// cursor knows a leaf that has changed, and no two pages share a number.
#[derive(Clone, Default)]
pub(crate) struct NoLog<const STAMPED: bool>(Discarded);

impl<const STAMPED: bool> Logs for NoLog<STAMPED> {
    type Device = NoLog<STAMPED>;

    fn device(&self) -> Result<NoLog<STAMPED>, Error> {
        Ok(self.clone())
    }

    fn wait(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }

    fn force(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }
}

impl<const STAMPED: bool> Device for NoLog<STAMPED> {
    const RECORDS: bool = false;

    #[inline(always)]
    fn appended(&self) -> Lsn {
        if STAMPED { self.0.appended() } else { Lsn::NONE }
    }

    #[inline(always)]
    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        if STAMPED { self.0.append(record) } else { Ok(Lsn::NONE) }
    }

    #[inline(always)]
    fn stamp(page: Lsn, lsn: Lsn) -> Lsn {
        if STAMPED { lsn } else { Lsn(page.0 + 1) }
    }
}

/// No records, and pages without stamps, beside a log in which they will have some: for a load into an empty database,
/// which is not read until it has ended.
pub(crate) struct Unlogged;

impl Device for Unlogged {
    const RECORDS: bool = false;

    #[inline(always)]
    fn appended(&self) -> Lsn {
        Lsn::NONE
    }

    #[inline(always)]
    fn append(&mut self, _: &[u8]) -> Result<Lsn, Error> {
        Ok(Lsn::NONE)
    }
}
