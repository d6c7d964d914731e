//! A journal on a log that can refuse.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::page::pages::Pages;
use crate::classic::page::{self, HEADER_BYTES, PageKind};
use crate::classic::testing::MemoryPages;
use crate::classic::wal::forms::Device;
use crate::classic::wal::record::{Body, LogRecord};
use crate::classic::wal::rollback::Undoer;
use crate::classic::wal::table::{State, TransactionTable};
use crate::classic::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::log::{LogError, Lsn};

/// A log of one session, in memory; it refuses once it has so many records.
#[derive(Default)]
pub struct Refusing {
    pub records: Vec<(Lsn, Vec<u8>)>,
    pub most: Option<usize>,
}

impl Device for Refusing {
    const RECORDS: bool = true;

    fn appended(&self) -> Lsn {
        self.records.last().map_or(Lsn(8), |(lsn, _)| *lsn)
    }

    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        if self.most.is_some_and(|most| self.records.len() >= most) {
            return Err(LogError::Closed.into());
        }
        let lsn = Lsn(self.appended().0 + 8);
        self.records.push((lsn, record.to_vec()));
        Ok(lsn)
    }
}

const PAGE: PageId = PageId(3);
const STORE: StoreId = StoreId(9);

fn bytes<'a>(old: &'a [u8], new: &'a [u8]) -> Change<'a> {
    Change::Bytes { at: HEADER_BYTES as u16, old, new }
}

fn journal(most: Option<usize>) -> (TransactionLog<Refusing>, MemoryPages) {
    let slot = TransactionTable::new(2).slot().unwrap();
    let mut log = TransactionLog::new(Refusing { most, ..Refusing::default() }, slot);
    let pages = MemoryPages::new(512);
    let change = Change::Format { kind: PageKind::Heap, store: STORE, body: b"ab" };
    log.change(&mut pages.fix_new(PAGE).unwrap(), change, Undo::Nothing).unwrap();
    (log, pages)
}

fn bodies(log: &TransactionLog<Refusing>) -> Vec<Body<'_>> {
    log.device().records.iter().map(|(_, record)| LogRecord::decode(record).unwrap().body).collect()
}

fn set(log: &mut TransactionLog<Refusing>, pages: &MemoryPages, change: Change<'_>, undo: Undo) -> Result<(), Error> {
    log.change(&mut pages.fix_exclusive(PAGE).unwrap(), change, undo)
}

#[test]
fn a_change_that_does_not_fit_leaves_nothing() {
    let (mut log, pages) = journal(None);
    let before = pages.contents();
    let error = set(&mut log, &pages, bytes(b"xx", b"cd"), Undo::Page).unwrap_err();
    assert!(error.to_string().contains("page 3"), "{error}");
    assert_eq!((pages.contents(), log.device().records.len()), (before, 1));
    log.abort(&pages, &mut ()).unwrap();
    assert_eq!(bodies(&log)[1..], [Body::End]);
}

#[test]
fn a_change_that_the_log_refuses_leaves_nothing() {
    let (mut log, pages) = journal(Some(2));
    set(&mut log, &pages, bytes(b"ab", b"cd"), Undo::Page).unwrap();
    let before = pages.contents();
    for undo in [Undo::Nothing, Undo::Page, Undo::Logical] {
        assert!(set(&mut log, &pages, bytes(b"cd", b"ef"), undo).is_err());
        assert_eq!(pages.contents(), before, "the page is as it was, and so is its LSN");
    }
    assert!(log.abort(&pages, &mut ()).is_err(), "taking back is refused too");
    assert_eq!(pages.contents(), before);
    assert_eq!(log.slot().table().running()[0].state, State::RollingBack, "and the transaction has not ended");
}

#[test]
fn who_only_reads_is_not_in_the_log() {
    let slot = TransactionTable::new(1).slot().unwrap();
    let mut log = TransactionLog::new(Refusing::default(), slot);
    assert_eq!(log.commit().unwrap(), Lsn::NONE);
    log.abort(&MemoryPages::new(512), &mut ()).unwrap();
    assert_eq!((log.transaction(), log.device().records.len()), (TxnId::NONE, 0));
}

#[test]
fn a_rollback_to_a_savepoint_undoes_later_changes() {
    let (mut log, pages) = journal(None);
    set(&mut log, &pages, bytes(b"ab", b"cd"), Undo::Page).unwrap();
    let savepoint = log.savepoint();
    set(&mut log, &pages, bytes(b"cd", b"ef"), Undo::Page).unwrap();
    let begun = log.begin_nested();
    set(&mut log, &pages, bytes(b"e", b"x"), Undo::Page).unwrap();
    log.end_nested(begun).unwrap();
    let begun = log.begin_nested();
    set(&mut log, &pages, Change::Bytes { at: 40, old: &[0], new: &[1] }, Undo::Nothing).unwrap();
    log.end_nested(begun).unwrap();
    set(&mut log, &pages, Change::Bytes { at: 26, old: &[0], new: &[1] }, Undo::Page).unwrap();
    // The nested action stays, so what is below it must be put right by the test: `e` again.
    set(&mut log, &pages, bytes(b"x", b"e"), Undo::Nothing).unwrap();
    log.roll_back(savepoint, &pages, &mut ()).unwrap();
    let lsn = |at: usize| log.device().records[at].0;
    let next: Vec<_> = bodies(&log)
        .iter()
        .map(|body| match body {
            Body::NestedEnd { undo_next } => Some(*undo_next),
            Body::Compensation { undo_next, .. } => Some(*undo_next),
            _ => None,
        })
        .collect();
    // format, cd, ef, x, nested end, hint (nothing to end), mark, e, and two compensations.
    let (cd, ef) = (lsn(1), lsn(2));
    assert_eq!(next, [None, None, None, None, Some(ef), None, None, None, Some(ef), Some(cd)]);
    assert_eq!(pages.fix_shared(PAGE).unwrap()[24..27], *b"cd\0");
    let chain: Vec<_> = log.device().records.iter().map(|(_, it)| LogRecord::decode(it).unwrap().previous).collect();
    assert!(chain[1..].iter().eq(log.device().records.iter().map(|(lsn, _)| lsn).take(chain.len() - 1)));
    log.commit().unwrap();
    assert!(log.slot().table().running().is_empty());
    assert_eq!(page::store(&pages.fix_shared(PAGE).unwrap()), STORE);
}

/// Puts the old bytes back in two steps: wrongly, if both are outside of nested actions.
struct TwoSteps<'a>(&'a MemoryPages, bool);

impl Undoer for TwoSteps<'_> {
    fn undo(
        &mut self,
        journal: &mut impl PageLog,
        store: StoreId,
        id: PageId,
        change: Change<'_>,
    ) -> Result<(), Error> {
        assert_eq!((store, id, change), (STORE, PAGE, bytes(b"ab", b"cd")));
        let mut page = self.0.fix_exclusive(id)?;
        if self.1 {
            let begun = journal.begin_nested();
            journal.change(&mut page, bytes(b"c", b"a"), Undo::Page)?;
            journal.end_nested(begun)?;
        } else {
            journal.change(&mut page, bytes(b"c", b"a"), Undo::Nothing)?;
        }
        journal.change(&mut page, Change::Bytes { at: 25, old: b"d", new: b"b" }, Undo::Logical)?;
        // Something that may be lost.
        journal.change(&mut page, Change::Bytes { at: 40, old: &[0], new: &[1] }, Undo::Nothing)
    }
}

#[test]
fn one_change_compensates_and_the_rest_is_nested() {
    let (mut log, pages) = journal(None);
    set(&mut log, &pages, bytes(b"ab", b"cd"), Undo::Logical).unwrap();
    log.abort(&pages, &mut TwoSteps(&pages, true)).unwrap();
    let cd = log.device().records[1].0;
    let found = bodies(&log);
    assert!(matches!(found[2], Body::Update { nested: true, undo: Undo::Page, .. }));
    assert_eq!(found[3], Body::NestedEnd { undo_next: cd });
    assert!(matches!(found[4], Body::Compensation { undo_next: Lsn::NONE, .. }));
    assert!(matches!(found[5], Body::Update { undo: Undo::Nothing, nested: false, .. }));
    assert_eq!(found[6..], [Body::End]);

    let (mut log, pages) = journal(None);
    set(&mut log, &pages, bytes(b"ab", b"cd"), Undo::Logical).unwrap();
    let twice = catch_unwind(AssertUnwindSafe(|| log.abort(&pages, &mut TwoSteps(&pages, false))));
    assert!(twice.is_err(), "a second change would be lost when the machine stops between the two");
}

/// Puts the old bytes back in a nested action, or finds nothing to do.
struct Otherwise<'a>(&'a MemoryPages, bool);

impl Undoer for Otherwise<'_> {
    fn undo(&mut self, journal: &mut impl PageLog, _: StoreId, id: PageId, change: Change<'_>) -> Result<(), Error> {
        if self.1 {
            let begun = journal.begin_nested();
            let inverse = change.inverse().expect("it has one");
            journal.change(&mut self.0.fix_exclusive(id)?, inverse, Undo::Page)?;
            journal.end_nested(begun)?;
        }
        Ok(())
    }
}

#[test]
fn a_change_that_was_undone_otherwise_is_not_undone_twice() {
    for nested in [true, false] {
        let (mut log, pages) = journal(None);
        set(&mut log, &pages, bytes(b"ab", b"cd"), Undo::Logical).unwrap();
        log.abort(&pages, &mut Otherwise(&pages, nested)).unwrap();
        let found = bodies(&log);
        assert_eq!(found[found.len() - 2..], [Body::NestedEnd { undo_next: Lsn::NONE }, Body::End]);
    }
}

#[test]
fn a_suspended_transaction_goes_on_in_another_session() {
    let table = TransactionTable::new(3);
    let pages = MemoryPages::new(512);
    let mut first = TransactionLog::new(Refusing::default(), table.slot().unwrap());
    let mut second = TransactionLog::new(Refusing::default(), table.slot().unwrap());
    let change = Change::Format { kind: PageKind::Heap, store: STORE, body: b"ab" };
    first.change(&mut pages.fix_new(PAGE).unwrap(), change, Undo::Nothing).unwrap();
    set(&mut first, &pages, bytes(b"ab", b"cd"), Undo::Page).unwrap();
    first.prepare(b"global", b"locks").unwrap();
    let transaction = first.transaction();
    let suspended = first.suspend().unwrap();
    set(&mut first, &pages, Change::Bytes { at: 30, old: &[0], new: &[1] }, Undo::Page).unwrap();
    assert_eq!(table.running().len(), 2);
    assert!(table.slot().is_err(), "all three are taken");
    second.resume(suspended);
    assert_eq!(second.transaction(), transaction);
    second.abort(&pages, &mut ()).unwrap();
    assert_eq!(pages.fix_shared(PAGE).unwrap()[24..26], *b"ab");
    assert!(table.slot().is_ok() && table.running().len() == 1);
    first.commit().unwrap();
}
