//! Taking back what had not ended, together, newest first.

use std::collections::{BTreeMap, BinaryHeap};

use crate::classic::ids::TxnId;
use crate::classic::lock::{LockName, decode_locks};
use crate::classic::page::pages::Pages;
use crate::classic::wal::OwnRecords;
use crate::classic::wal::forms::Device;
use crate::classic::wal::rollback::Undoer;
use crate::classic::wal::transaction::{Active, Suspended, TransactionLog};
use crate::error::Error;
use crate::log::Lsn;

/// A transaction that had not ended.
pub(super) struct Loser {
    /// A position before its first record.
    before: Lsn,
    /// What its first record that was read says about the one before.
    pub(super) follows: Lsn,
    pub(super) last: Lsn,
    pub(super) own: OwnRecords,
    /// The coordinator's name for it, and its locks.
    pub(super) prepared: Option<(Vec<u8>, Vec<u8>)>,
}

impl Loser {
    pub(super) fn new(before: Lsn, follows: Lsn) -> Self {
        Self { before, follows, last: follows, own: OwnRecords::default(), prepared: None }
    }
}

/// The transactions that had not ended.
pub(crate) struct Losers {
    losers: BTreeMap<TxnId, Loser>,
    next: TxnId,
}

/// A transaction that had promised to do what its coordinator says. It is in the transaction table, so checkpoints
/// keep its records.
pub(crate) struct InDoubt {
    pub(crate) transaction: TxnId,
    /// The coordinator's name for it.
    pub(crate) global: Vec<u8>,
    /// What it holds, to be locked again before anything else runs.
    pub(crate) locks: Vec<u8>,
    /// To be resumed in a session and then committed or aborted.
    pub(crate) suspended: Suspended,
}

impl Losers {
    pub(super) fn new(losers: BTreeMap<TxnId, Loser>, next: TxnId) -> Self {
        Self { losers, next }
    }

    /// How many there are, those in doubt among them.
    pub(crate) fn len(&self) -> usize {
        self.losers.len()
    }

    /// Whether one in doubt has locked a page.
    pub(crate) fn lock_pages(&self) -> bool {
        let prepared = self.losers.values().filter_map(|loser| loser.prepared.as_ref());
        // A list that cannot be read is refused later.
        let mut locks = prepared.flat_map(|(_, locks)| decode_locks(locks).unwrap_or_default());
        locks.any(|(name, _)| matches!(name, LockName::Page(..)))
    }

    /// The coordinator's names for those in doubt.
    pub(crate) fn in_doubt(&self) -> impl Iterator<Item = &[u8]> {
        self.losers.values().filter_map(|loser| loser.prepared.as_ref()).map(|(global, _)| &global[..])
    }

    /// How many of them were in the middle of a nested action.
    #[cfg(test)]
    pub(crate) fn unfinished(&self) -> usize {
        self.losers.values().filter(|loser| loser.own.ends_nested()).count()
    }

    /// Rolls back all but those in doubt, which are returned. `log` is a journal without a transaction, of the table
    /// that the engine will use, on the log that was read, which is open for appending by now.
    ///
    /// # Errors
    /// When pages or the log fail; recovery can be begun again from the start then.
    pub(crate) fn undo<D: Device>(
        self,
        log: &mut TransactionLog<D>,
        pages: &impl Pages,
        undoer: &mut impl Undoer,
    ) -> Result<Vec<InDoubt>, Error> {
        log.slot().table().set_next(self.next);
        let mut in_doubt = Vec::new();
        let mut losers: Vec<Active> = Vec::new();
        for (transaction, loser) in self.losers {
            let active = Active { transaction, last: loser.last, own: loser.own };
            match loser.prepared {
                Some((global, locks)) => {
                    let suspended = Suspended::new(active, log.slot().table().slot()?, loser.before);
                    in_doubt.push(InDoubt { transaction, global, locks, suspended });
                }
                None => losers.push(active),
            }
        }
        for loser in &mut losers {
            while loser.own.ends_nested() {
                log.undo_newest_of(loser, pages, undoer)?;
            }
        }
        let newest = |at: usize, loser: &Active| loser.own.newest_lsn().map(|lsn| (lsn, at));
        let mut order: BinaryHeap<_> = losers.iter().enumerate().filter_map(|(at, it)| newest(at, it)).collect();
        while let Some((_, at)) = order.pop() {
            log.undo_newest_of(&mut losers[at], pages, undoer)?;
            order.extend(newest(at, &losers[at]));
        }
        for loser in &mut losers {
            log.end_of(loser)?;
        }
        Ok(in_doubt)
    }
}
