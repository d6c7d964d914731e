//! The first reading of the log: who had not ended, and which pages may be older than the log.

use std::collections::{BTreeMap, HashMap};

use super::checkpoint::CheckpointLsns;
use super::damaged;
use super::redo::Redo;
use super::undo::{Loser, Losers};
use crate::classic::change::Undo;
use crate::classic::ids::{PageId, TxnId};
use crate::classic::wal::record::{Body, LogRecord};
use crate::error::Error;
use crate::log::Lsn;

/// Is given every record from [`CheckpointLsns::needed_from`] on, in order.
pub(crate) struct Analysis {
    checkpoint: CheckpointLsns,
    /// Behind the last record read.
    position: Lsn,
    /// Transactions that have records and have not ended.
    open: BTreeMap<TxnId, Loser>,
    /// Above all numbers of transactions.
    next: TxnId,
    /// Whether the checkpoint's end was read, or there is no checkpoint.
    complete: bool,
    /// What the checkpoint says about dirty pages, and pages changed since, each with a position before the first
    /// change that it may lack.
    dirty: HashMap<PageId, Lsn>,
}

impl Analysis {
    /// For the checkpoint that the manifest names.
    pub(crate) fn new(checkpoint: CheckpointLsns) -> Self {
        Self {
            checkpoint,
            position: checkpoint.needed_from,
            open: BTreeMap::new(),
            next: TxnId(1),
            complete: checkpoint.begin == Lsn::NONE,
            dirty: HashMap::new(),
        }
    }

    /// Takes the next record and the position behind it.
    ///
    /// # Errors
    /// When it cannot be right.
    pub(crate) fn read(&mut self, lsn: Lsn, bytes: &[u8]) -> Result<(), Error> {
        let record = LogRecord::decode(bytes).map_err(|bad| damaged(lsn, bad))?;
        if let Some((page, _)) = record.body.changes()
            && lsn > self.checkpoint.begin
        {
            let from = self.position;
            self.dirty.entry(page).and_modify(|known| *known = from.min(*known)).or_insert(from);
        }
        if record.transaction == TxnId::NONE {
            self.read_checkpoint(lsn, &record.body)?;
        } else {
            self.read_transaction(lsn, &record, bytes)?;
        }
        self.position = lsn;
        Ok(())
    }

    fn read_checkpoint(&mut self, lsn: Lsn, body: &Body<'_>) -> Result<(), Error> {
        let CheckpointLsns { begin, needed_from } = self.checkpoint;
        let early =
            || damaged(lsn, format!("needs what is before {needed_from}, where the manifest lets the log begin"));
        match *body {
            // A checkpoint that the manifest does not name may have been cut short by a crash.
            Body::CheckpointPages { begin: of, pages } if of == begin => {
                for (page, from) in pages.iter() {
                    if from < needed_from {
                        return Err(early());
                    }
                    self.dirty.entry(page).and_modify(|known| *known = from.min(*known)).or_insert(from);
                }
            }
            Body::CheckpointEnd { begin: of, next, transactions } => {
                self.next = self.next.max(next);
                if of == begin {
                    self.complete = true;
                    if transactions.iter().any(|(_, before)| before < needed_from) {
                        return Err(early());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read_transaction(&mut self, lsn: Lsn, record: &LogRecord<'_>, bytes: &[u8]) -> Result<(), Error> {
        let LogRecord { transaction, previous, body } = *record;
        self.next = self.next.max(TxnId(transaction.0.saturating_add(1)));
        let before = self.position;
        let loser = self.open.entry(transaction).or_insert_with(|| Loser::new(before, previous));
        if loser.last != previous || previous >= lsn {
            let problem = format!("follows {previous} in transaction {transaction}, whose last is {}", loser.last);
            return Err(damaged(lsn, problem));
        }
        loser.last = lsn;
        // Whatever follows a promise, only its end or taking back can: the coordinator has decided.
        loser.prepared = None;
        match body {
            Body::Update { undo: Undo::Nothing, .. } => {}
            Body::Update { .. } => loser.own.push(bytes, lsn),
            Body::Compensation { undo_next, .. } | Body::NestedEnd { undo_next } => {
                if undo_next >= lsn {
                    return Err(damaged(lsn, "undoes a later record"));
                }
                loser.own.truncate_behind(undo_next);
            }
            Body::Prepared { global, locks } => loser.prepared = Some((global.to_vec(), locks.to_vec())),
            Body::Commit | Body::End => drop(self.open.remove(&transaction)),
            Body::CheckpointBegin | Body::CheckpointPages { .. } | Body::CheckpointEnd { .. } => {
                unreachable!("records of checkpoints are of no transaction")
            }
        }
        Ok(())
    }

    /// The end of the log was read: what is to be redone, and what is to be undone.
    ///
    /// # Errors
    /// When the log lacks something that the manifest says it has.
    pub(crate) fn finish(self) -> Result<(Redo, Losers), Error> {
        let CheckpointLsns { begin, needed_from } = self.checkpoint;
        if !self.complete {
            return Err(damaged(begin, "should begin the checkpoint that the manifest names, but none is complete"));
        }
        for (transaction, loser) in &self.open {
            if loser.follows != Lsn::NONE {
                let problem =
                    format!("is of transaction {transaction}, which is needed and began before {needed_from}");
                return Err(damaged(loser.last, problem));
            }
        }
        let known = (begin != Lsn::NONE).then_some(self.dirty);
        Ok((Redo::new(known, needed_from, self.position), Losers::new(self.open, self.next)))
    }
}
