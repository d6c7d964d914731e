//! The second reading of the log: every change that a page does not have yet is redone.
//!
//! A page that is formatted is not read, and is formatted even if it is newer on disk: what came after is in the log
//! too, behind the formatting, and follows. So a page that was never written, or torn when it was first written, need
//! not be readable.

use std::collections::HashMap;

use super::damaged;
use crate::classic::change::Change;
use crate::classic::ids::PageId;
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, PageKind};
use crate::classic::wal::record::LogRecord;
use crate::error::Error;
use crate::log::Lsn;

/// Is given the same records as [`Analysis`](super::Analysis).
pub(crate) struct Redo {
    /// Pages that may lack changes, each with a position before the first of these. Unknown without a checkpoint.
    dirty: Option<HashMap<PageId, Lsn>>,
    /// Behind the last record read.
    position: Lsn,
    end: Lsn,
    done: u64,
}

impl Redo {
    pub(super) fn new(dirty: Option<HashMap<PageId, Lsn>>, needed_from: Lsn, end: Lsn) -> Self {
        Self { dirty, position: needed_from, end, done: 0 }
    }

    /// Where the log ends.
    #[cfg(test)]
    pub(crate) fn end(&self) -> Lsn {
        self.end
    }

    /// Changes redone so far.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Takes the next record and the position behind it.
    ///
    /// # Errors
    /// When it cannot be right, its page cannot be had or is not one that it can be done to.
    pub(crate) fn read(&mut self, pages: &impl Pages, lsn: Lsn, bytes: &[u8]) -> Result<(), Error> {
        let from = std::mem::replace(&mut self.position, lsn);
        let record = LogRecord::decode(bytes).map_err(|bad| damaged(lsn, bad))?;
        let Some((id, change)) = record.body.changes() else { return Ok(()) };
        if let Some(dirty) = &self.dirty
            && dirty.get(&id).is_none_or(|known| lsn <= *known)
        {
            return Ok(());
        }
        let change = Change::decode(change).map_err(|bad| damaged(lsn, format!("holds {bad}")))?;
        if matches!(change, Change::Format { .. }) {
            return self.apply(&mut pages.fix_new(id)?, change, from, lsn);
        }
        let mut page = pages.fix_exclusive(id)?;
        let has = page::lsn(&page);
        if has > self.end {
            let end = self.end;
            let problem = format!(
                "page {id} has a change of position {has}, but the log ends at {end}: they do not belong together"
            );
            return Err(page::damaged(id, page.len(), problem));
        }
        if has >= lsn {
            return Ok(());
        }
        if has == Lsn::NONE && page::kind(&page) == Some(PageKind::Free) {
            // It was on disk before: the log that formats it is needed no more.
            let problem = format!("page {id} is gone, which the log changes at position {lsn} and did not make");
            return Err(page::damaged(id, page.len(), problem));
        }
        self.apply(&mut page, change, from, lsn)
    }

    fn apply(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, from: Lsn, lsn: Lsn) -> Result<(), Error> {
        let id = page.id();
        change.apply(id, page).map_err(|bad| damaged(lsn, format!("does not fit page {id}: {bad}")))?;
        page.changed(from, lsn);
        self.done += 1;
        Ok(())
    }
}
