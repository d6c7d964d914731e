//! Checkpoints: how far back the log is needed.
//!
//! *Nothing that is needed lies before `needed_from`.* A record is needed when it is of a transaction that has not
//! ended, or when its page on disk may lack it. Take one before "begin". Its transaction is then in the table that is
//! read after "begin", or has ended in the log before "end" (argued in `wal::table`). Its page is known to be dirty
//! when the pages are collected, since the collector waits for the threads that have a page latched to change it
//! (argued in `buffer::clean`); or it was written and forced by then. And `needed_from` is below what both tables say,
//! and below "begin".

use crate::classic::ids::PageId;
use crate::classic::wal::forms::{Device, Logs};
use crate::classic::wal::record::{Body, DirtyPages, LogRecord, Running};
use crate::classic::wal::table::TransactionTable;
use crate::error::Error;
use crate::log::Lsn;

/// Dirty pages in a record: 3 KiB of them.
const PAGES_IN_A_RECORD: usize = 256;

/// What the manifest says about a checkpoint. All zeros: there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckpointLsns {
    /// Behind the record with which it begins.
    pub(crate) begin: Lsn,
    /// Recovery reads the log from here on; what is before can be truncated once the manifest says so.
    pub(crate) needed_from: Lsn,
}

/// Makes a checkpoint, durably. The caller writes it to the manifest, durably, and then truncates the log below
/// `needed_from`. One at a time; not before recovery has rolled back the losers.
///
/// `dirty_pages` tells of each page that is not on disk as it is in memory, or has been written and not yet forced, a
/// position from which on the log has all changes that the disk lacks: the `from` of the first of its
/// [`changed`](crate::classic::page::pages::ExclusivePage::changed). It may tell of more, and may be called while pages
/// change; but a page that was changed by a record which was appended before the call must be there, unless it is on
/// disk: also when who changed it has not yet said so.
///
/// # Errors
/// When the log refuses; then the checkpoint before is still the last.
pub(crate) fn checkpoint<L: Logs>(
    logs: &L,
    device: &mut L::Device,
    table: &TransactionTable,
    dirty_pages: impl FnOnce() -> Vec<(PageId, Lsn)>,
) -> Result<CheckpointLsns, Error> {
    let mut record = Vec::new();
    let mut append = |device: &mut L::Device, body| {
        record.clear();
        LogRecord::of_checkpoint(body).encode(&mut record);
        // A checkpoint is what makes room in the log.
        device.append_undo(&record)
    };
    let mut needed_from = device.appended();
    let begin = append(device, Body::CheckpointBegin)?;
    let running = table.running();
    let next = table.next();
    let pages = dirty_pages();

    needed_from = running.iter().map(|transaction| transaction.before).fold(needed_from, Lsn::min);
    needed_from = pages.iter().map(|(_, from)| *from).fold(needed_from, Lsn::min);
    let pages: Vec<_> = pages.into_iter().map(|(page, from)| DirtyPages::entry(page, from)).collect();
    for part in pages.chunks(PAGES_IN_A_RECORD) {
        append(device, Body::CheckpointPages { begin, pages: DirtyPages::new(part) })?;
    }
    let running: Vec<_> = running.iter().map(|it| Running::entry(it.transaction, it.before)).collect();
    let end = append(device, Body::CheckpointEnd { begin, next, transactions: Running::new(&running) })?;
    logs.force(end)?;
    Ok(CheckpointLsns { begin, needed_from })
}
