//! The log's records, drawn in `docs/formats/wal.md`.
//!
//! An LSN in a record is, as everywhere, the position *behind* the record that it names.

use crate::classic::change::{Start, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::log::Lsn;

/// A record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRecord<'a> {
    /// Whose it is; none for those of checkpoints.
    pub(crate) transaction: TxnId,
    /// The transaction's record before this one.
    pub(crate) previous: Lsn,
    pub(crate) body: Body<'a>,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// A change of a page, to be redone, and to be undone as `undo` says. `nested`: made in a nested action;
    /// as long as that has not ended, only the inverse on the same page may undo it.
    Update { page: PageId, store: StoreId, undo: Undo, nested: bool, change: &'a [u8] },
    /// A change that undoes another one: to be redone and never to be undone. The records that the transaction still
    /// has to undo end at `undo_next`. (The paper's compensation log record and its `UndoNxtLSN`, §3.)
    Compensation { page: PageId, undo_next: Lsn, change: &'a [u8] },
    /// A nested action has ended: what lies between `undo_next` and here stays. (The paper's dummy CLR, §10.)
    NestedEnd { undo_next: Lsn },
    /// The transaction has committed. Nothing of it follows.
    Commit,
    /// The transaction has been rolled back entirely. None of its records follows.
    End,
    /// The transaction will do what its coordinator says, and holds these locks until then.
    Prepared { global: &'a [u8], locks: &'a [u8] },
    /// A checkpoint begins.
    CheckpointBegin,
    /// Some of the dirty pages that the checkpoint which began at `begin` found.
    CheckpointPages { begin: Lsn, pages: DirtyPages<'a> },
    /// The checkpoint is complete. Transactions from `next` on have no record before `begin`.
    CheckpointEnd { begin: Lsn, next: TxnId, transactions: Running<'a> },
}

/// Dirty pages as they are stored: a page, and the position from which on the log is needed to bring it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirtyPages<'a>(&'a [[u8; 12]]);

/// Running transactions as they are stored: a transaction, and a position before its first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running<'a>(&'a [[u8; 16]]);

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadRecord(&'static str);

const UPDATE: u8 = 1;
const COMPENSATION: u8 = 2;
const NESTED_END: u8 = 3;
const COMMIT: u8 = 4;
const END: u8 = 5;
const PREPARED: u8 = 6;
const CHECKPOINT_BEGIN: u8 = 7;
const CHECKPOINT_PAGES: u8 = 8;
const CHECKPOINT_END: u8 = 9;

const HEAD_BYTES: usize = 24;

/// The head that all records begin with.
#[inline(always)]
fn head(flags: [u8; 3], page: PageId, transaction: TxnId, previous: Lsn) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..3].copy_from_slice(&flags);
    head[4..8].copy_from_slice(&page.0.to_le_bytes());
    head[8..16].copy_from_slice(&transaction.0.to_le_bytes());
    head[16..].copy_from_slice(&previous.0.to_le_bytes());
    head
}

/// What an update begins with: all but the change.
#[inline(always)]
pub(crate) fn begin_update(
    (transaction, previous): (TxnId, Lsn),
    page: PageId,
    store: StoreId,
    (undo, nested): (Undo, bool),
) -> Start<32> {
    let mut update = [0; 32];
    update[..HEAD_BYTES].copy_from_slice(&head([UPDATE, undo as u8, u8::from(nested)], page, transaction, previous));
    update[HEAD_BYTES..HEAD_BYTES + 4].copy_from_slice(&store.0.to_le_bytes());
    (update, HEAD_BYTES + 4)
}

/// What a compensation begins with: all but the change.
#[inline(always)]
pub(crate) fn begin_compensation((transaction, previous): (TxnId, Lsn), page: PageId, undo_next: Lsn) -> Start<32> {
    let mut compensation = [0; 32];
    compensation[..HEAD_BYTES].copy_from_slice(&head([COMPENSATION, 0, 0], page, transaction, previous));
    compensation[HEAD_BYTES..].copy_from_slice(&undo_next.0.to_le_bytes());
    (compensation, 32)
}

impl<'a> LogRecord<'a> {
    /// A record of a checkpoint.
    pub(crate) fn of_checkpoint(body: Body<'a>) -> Self {
        Self { transaction: TxnId::NONE, previous: Lsn::NONE, body }
    }

    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let own = (self.transaction, self.previous);
        let plain = |kind, out: &mut Vec<u8>| out.extend_from_slice(&head([kind, 0, 0], PageId::NONE, own.0, own.1));
        match self.body {
            Body::Update { page, store, undo, nested, change } => {
                let (start, length) = begin_update(own, page, store, (undo, nested));
                out.extend_from_slice(&start[..length]);
                out.extend_from_slice(change);
            }
            Body::Compensation { page, undo_next, change } => {
                let (start, length) = begin_compensation(own, page, undo_next);
                out.extend_from_slice(&start[..length]);
                out.extend_from_slice(change);
            }
            Body::NestedEnd { undo_next } => {
                plain(NESTED_END, out);
                out.extend_from_slice(&undo_next.0.to_le_bytes());
            }
            Body::Commit => plain(COMMIT, out),
            Body::End => plain(END, out),
            Body::Prepared { global, locks } => {
                plain(PREPARED, out);
                out.extend_from_slice(&(global.len() as u32).to_le_bytes());
                out.extend_from_slice(global);
                out.extend_from_slice(locks);
            }
            Body::CheckpointBegin => plain(CHECKPOINT_BEGIN, out),
            Body::CheckpointPages { begin, pages } => {
                plain(CHECKPOINT_PAGES, out);
                out.extend_from_slice(&begin.0.to_le_bytes());
                out.extend_from_slice(pages.0.as_flattened());
            }
            Body::CheckpointEnd { begin, next, transactions } => {
                plain(CHECKPOINT_END, out);
                out.extend_from_slice(&begin.0.to_le_bytes());
                out.extend_from_slice(&next.0.to_le_bytes());
                out.extend_from_slice(transactions.0.as_flattened());
            }
        }
    }

    /// Reads the stored form, all of `bytes`; of changes, only that they are there.
    ///
    /// # Errors
    /// When it is none. Whatever is accepted is encoded again as the same bytes.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, BadRecord> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or(BadRecord("is shorter than its head"))?;
        let transaction = TxnId(u64::from_le_bytes(part(head, 8)));
        let previous = Lsn(u64::from_le_bytes(part(head, 16)));
        let body = Self::decode_body(head, rest)?;
        let (changes, checkpoint) = (body.changes(), body.is_checkpoint());
        if head[3] != 0 || !matches!(body, Body::Update { .. }) && (head[1], head[2]) != (0, 0) {
            return Err(BadRecord("has bytes that should be zero"));
        }
        if changes.is_none() && head[4..8] != [0; 4] {
            return Err(BadRecord("names a page without changing it"));
        }
        if checkpoint != (transaction == TxnId::NONE) || checkpoint && previous != Lsn::NONE {
            return Err(BadRecord("names a transaction where none belongs, or none where one does"));
        }
        Ok(Self { transaction, previous, body })
    }

    fn decode_body(head: &[u8; HEAD_BYTES], rest: &'a [u8]) -> Result<Body<'a>, BadRecord> {
        let page = PageId(u32::from_le_bytes(part(head, 4)));
        Ok(match head[0] {
            UPDATE => {
                let undo = match head[1] {
                    0 => Undo::Nothing,
                    1 => Undo::Page,
                    2 => Undo::Logical,
                    _ => return Err(BadRecord("is to be undone in an unknown way")),
                };
                let nested = match (head[2], undo) {
                    (0, _) => false,
                    (1, Undo::Nothing | Undo::Page) => true,
                    _ => return Err(BadRecord("is nested in a way unknown")),
                };
                let (store, change) = number(rest)?;
                Body::Update { page, store: StoreId(u32::from_le_bytes(store)), undo, nested, change }
            }
            COMPENSATION => {
                let (undo_next, change) = lsn(rest)?;
                Body::Compensation { page, undo_next, change }
            }
            NESTED_END => Body::NestedEnd { undo_next: all(lsn(rest)?)? },
            COMMIT => all((Body::Commit, rest))?,
            END => all((Body::End, rest))?,
            PREPARED => {
                let (length, rest) = number(rest)?;
                let length = u32::from_le_bytes(length) as usize;
                let (global, locks) = rest.split_at_checked(length).ok_or(BadRecord("ends within a name"))?;
                Body::Prepared { global, locks }
            }
            CHECKPOINT_BEGIN => all((Body::CheckpointBegin, rest))?,
            CHECKPOINT_PAGES => {
                let (begin, rest) = lsn(rest)?;
                Body::CheckpointPages { begin, pages: DirtyPages(all(rest.as_chunks())?) }
            }
            CHECKPOINT_END => {
                let (begin, rest) = lsn(rest)?;
                let (next, rest) = number(rest)?;
                let next = TxnId(u64::from_le_bytes(next));
                Body::CheckpointEnd { begin, next, transactions: Running(all(rest.as_chunks())?) }
            }
            _ => return Err(BadRecord("is of a kind that this program does not know")),
        })
    }
}

fn part<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    head[at..at + N].try_into().expect("N bytes of the head")
}

/// The bytes of a number, and what is behind it.
fn number<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), BadRecord> {
    bytes.split_first_chunk().map(|(number, rest)| (*number, rest)).ok_or(BadRecord("ends within a number"))
}

fn lsn(bytes: &[u8]) -> Result<(Lsn, &[u8]), BadRecord> {
    number(bytes).map(|(number, rest)| (Lsn(u64::from_le_bytes(number)), rest))
}

/// The value that was read, if no bytes are left.
fn all<T>((read, rest): (T, &[u8])) -> Result<T, BadRecord> {
    if rest.is_empty() { Ok(read) } else { Err(BadRecord("is longer than it should be")) }
}

impl<'a> Body<'a> {
    /// The page that it changes, and how.
    pub(crate) fn changes(&self) -> Option<(PageId, &'a [u8])> {
        match *self {
            Body::Update { page, change, .. } | Body::Compensation { page, change, .. } => Some((page, change)),
            _ => None,
        }
    }

    fn is_checkpoint(&self) -> bool {
        matches!(self, Body::CheckpointBegin | Body::CheckpointPages { .. } | Body::CheckpointEnd { .. })
    }
}

impl<'a> DirtyPages<'a> {
    /// The stored form of one.
    pub(crate) fn entry(page: PageId, from: Lsn) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&page.0.to_le_bytes());
        bytes[4..].copy_from_slice(&from.0.to_le_bytes());
        bytes
    }

    pub(crate) fn new(entries: &'a [[u8; 12]]) -> Self {
        Self(entries)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (PageId, Lsn)> + 'a {
        self.0.iter().map(|entry| {
            let (page, from) = entry.split_first_chunk().expect("12 bytes");
            let from = u64::from_le_bytes(from.try_into().expect("8 bytes"));
            (PageId(u32::from_le_bytes(*page)), Lsn(from))
        })
    }
}

impl<'a> Running<'a> {
    /// The stored form of one.
    pub(crate) fn entry(transaction: TxnId, before: Lsn) -> [u8; 16] {
        (u128::from(before.0) << 64 | u128::from(transaction.0)).to_le_bytes()
    }

    pub(crate) fn new(entries: &'a [[u8; 16]]) -> Self {
        Self(entries)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (TxnId, Lsn)> + 'a {
        let entries = self.0.iter().map(|entry| u128::from_le_bytes(*entry));
        entries.map(|entry| (TxnId(entry as u64), Lsn((entry >> 64) as u64)))
    }
}
