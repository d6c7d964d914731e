//! The order in which losers are rolled back, and the transactions that stay in doubt, on logs written by hand.

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::page::pages::Pages;
use crate::classic::page::{self, HEADER_BYTES, PageKind};
use crate::classic::recovery::{Analysis, CheckpointLsns, InDoubt};
use crate::classic::testing::MemoryPages;
use crate::classic::wal::forms::Discarded;
use crate::classic::wal::record::{Body, LogRecord};
use crate::classic::wal::rollback::Undoer;
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::log::Lsn;

const STORE: StoreId = StoreId(9);

fn record(transaction: u64, previous: u64, body: Body<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    LogRecord { transaction: TxnId(transaction), previous: Lsn(previous), body }.encode(&mut bytes);
    bytes
}

fn format() -> Vec<u8> {
    let mut bytes = Vec::new();
    Change::Format { kind: PageKind::Heap, store: STORE, body: b"ab" }.encode(&mut bytes);
    bytes
}

/// Replaces the two bytes behind the header.
fn replace(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Change::Bytes { at: HEADER_BYTES as u16, old, new }.encode(&mut bytes);
    bytes
}

fn on(page: u32, undo: Undo, nested: bool, change: &[u8]) -> Body<'_> {
    Body::Update { page: PageId(page), store: STORE, undo, nested, change }
}

/// All three passes over these records, which end at 8, 16, 24 and so on.
fn recover<U: Undoer>(
    pages: &MemoryPages,
    log: &mut TransactionLog<Discarded>,
    undoer: &mut U,
    records: &[Vec<u8>],
) -> Vec<InDoubt> {
    let mut analysis = Analysis::new(CheckpointLsns::default());
    let at = |number: usize| Lsn(8 * (number as u64 + 1));
    records.iter().enumerate().try_for_each(|(number, record)| analysis.read(at(number), record)).unwrap();
    let (mut redo, losers) = analysis.finish().unwrap();
    records.iter().enumerate().try_for_each(|(number, record)| redo.read(pages, at(number), record)).unwrap();
    losers.undo(log, pages, undoer).unwrap()
}

fn journal() -> TransactionLog<Discarded> {
    TransactionLog::new(Discarded::default(), TransactionTable::new(3).slot().unwrap())
}

#[test]
fn losers_are_undone_together_newest_first() {
    struct Notes<'a>(&'a MemoryPages, Vec<u32>);
    impl Undoer for Notes<'_> {
        fn undo(&mut self, log: &mut impl PageLog, _: StoreId, id: PageId, change: Change<'_>) -> Result<(), Error> {
            self.1.push(id.0);
            let inverse = change.inverse().expect("it has one");
            log.change(&mut self.0.fix_exclusive(id)?, inverse, Undo::Nothing)
        }
    }
    let mut records: Vec<_> =
        (3..7).map(|page| record(1, 8 * (page - 3), on(page as u32, Undo::Nothing, false, &format()))).collect();
    records.push(record(1, 32, Body::Commit));
    for (page, (transaction, previous)) in (3..).zip([(2, 0), (7, 0), (2, 48), (7, 56)]) {
        records.push(record(transaction, previous, on(page, Undo::Logical, false, &replace(b"ab", b"cd"))));
    }
    let (pages, mut log) = (MemoryPages::new(512), journal());
    let mut notes = Notes(&pages, Vec::new());
    assert!(recover(&pages, &mut log, &mut notes, &records).is_empty());
    assert_eq!(notes.1, [6, 5, 4, 3]);
    assert!(pages.contents().values().all(|page| page[24..26] == *b"ab"));
    assert_eq!(log.slot().table().next(), TxnId(8), "no number is given twice");
}

#[test]
fn a_prepared_transaction_whose_rollback_had_begun_is_a_loser() {
    let (ab, cd) = (replace(b"ab", b"cd"), replace(b"cd", b"ab"));
    let prepared = [
        record(1, 0, on(3, Undo::Nothing, false, &format())),
        record(1, 8, on(3, Undo::Page, false, &ab)),
        record(1, 16, on(3, Undo::Page, false, &cd)),
        record(1, 24, Body::Prepared { global: b"name", locks: b"locks" }),
    ];
    let (pages, mut log) = (MemoryPages::new(512), journal());
    let in_doubt = recover(&pages, &mut log, &mut (), &prepared);
    assert_eq!((in_doubt.len(), &*in_doubt[0].global, &*in_doubt[0].locks), (1, &b"name"[..], &b"locks"[..]));
    assert_eq!(log.slot().table().running().len(), 1);

    let compensation = record(1, 32, Body::Compensation { page: PageId(3), undo_next: Lsn(16), change: &ab });
    let records = [&prepared[..], &[compensation]].concat();
    let (pages, mut log) = (MemoryPages::new(512), journal());
    assert!(recover(&pages, &mut log, &mut (), &records).is_empty(), "the coordinator has decided");
    assert_eq!(pages.fix_shared(PageId(3)).unwrap()[24..26], *b"ab");
}

/// The cell is found only in a whole tree: a nested action of another transaction, older than the change that is to be
/// undone logically, must be undone before.
#[test]
fn unfinished_nested_actions_are_undone_first() {
    struct FindsIt<'a>(&'a MemoryPages, bool);
    impl Undoer for FindsIt<'_> {
        fn undo(&mut self, log: &mut impl PageLog, _: StoreId, _: PageId, change: Change<'_>) -> Result<(), Error> {
            let mut page = self.0.fix_exclusive(PageId(4))?;
            assert_eq!(page::kind(&self.0.fix_shared(PageId(3))?), Some(PageKind::Heap));
            assert_eq!(self.0.fix_shared(PageId(3))?[24..26], *b"ab", "the way to the cell is as it was");
            self.1 = true;
            log.change(&mut page, change.inverse().expect("it has one"), Undo::Nothing)
        }
    }
    let nested = replace(b"ab", b"xy");
    let cell = replace(b"ab", b"cd");
    let records = [
        record(1, 0, on(3, Undo::Nothing, false, &format())),
        record(1, 8, on(4, Undo::Nothing, false, &format())),
        record(2, 0, on(3, Undo::Page, true, &nested)),
        record(1, 16, on(4, Undo::Logical, false, &cell)),
    ];
    let pages = MemoryPages::new(512);
    let mut undoer = FindsIt(&pages, false);
    recover(&pages, &mut journal(), &mut undoer, &records);
    assert!(undoer.1);
    assert_eq!(pages.fix_shared(PageId(4)).unwrap()[24..26], *b"ab");
}
