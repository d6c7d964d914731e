//! Records and pages that cannot be right are errors that name them; whatever the bytes, nothing panics.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId, TxnId};
use crate::classic::page::pages::Pages;
use crate::classic::page::{self, HEADER_BYTES, PageKind};
use crate::classic::recovery::{Analysis, CheckpointLsns};
use crate::classic::testing::MemoryPages;
use crate::classic::wal::forms::Discarded;
use crate::classic::wal::record::{Body, DirtyPages, LogRecord, Running};
use crate::classic::wal::rollback::Undoer;
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::log::Lsn;

const PAGE: PageId = PageId(3);
const STORE: StoreId = StoreId(9);

fn change(change: Change<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    change.encode(&mut bytes);
    bytes
}

fn format() -> Vec<u8> {
    change(Change::Format { kind: PageKind::Heap, store: STORE, body: b"ab" })
}

fn replace(old: &[u8], new: &[u8]) -> Vec<u8> {
    change(Change::Bytes { at: HEADER_BYTES as u16, old, new })
}

/// An update of transaction 1.
fn update(previous: u64, undo: Undo, change: &[u8]) -> Vec<u8> {
    of(1, previous, Body::Update { page: PAGE, store: STORE, undo, nested: false, change })
}

fn of(transaction: u64, previous: u64, body: Body<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    LogRecord { transaction: TxnId(transaction), previous: Lsn(previous), body }.encode(&mut bytes);
    bytes
}

/// Undoes by the inverse where the change was made.
struct InPlace<'a>(&'a MemoryPages);

impl Undoer for InPlace<'_> {
    fn undo(&mut self, journal: &mut impl PageLog, _: StoreId, page: PageId, change: Change<'_>) -> Result<(), Error> {
        match change.inverse() {
            Some(inverse) => journal.change(&mut self.0.fix_exclusive(page)?, inverse, Undo::Nothing),
            None => Ok(()),
        }
    }
}

/// All three passes over these records, which end at 8, 16, 24 and so on.
fn recover(pages: &MemoryPages, lsns: CheckpointLsns, records: &[Vec<u8>]) -> Result<(), Error> {
    let at = |number: usize| Lsn(8 * (number as u64 + 1));
    let mut analysis = Analysis::new(lsns);
    let needed = || records.iter().enumerate().filter(|(number, _)| at(*number) > lsns.needed_from);
    needed().try_for_each(|(number, record)| analysis.read(at(number), record))?;
    let (mut redo, losers) = analysis.finish()?;
    needed().try_for_each(|(number, record)| redo.read(pages, at(number), record))?;
    let mut log = TransactionLog::new(Discarded::default(), TransactionTable::new(64).slot()?);
    losers.undo(&mut log, pages, &mut InPlace(pages)).map(drop)
}

fn fails(records: &[Vec<u8>], words: &[&str]) {
    fails_from(&MemoryPages::new(512), CheckpointLsns::default(), records, words);
}

fn fails_from(pages: &MemoryPages, lsns: CheckpointLsns, records: &[Vec<u8>], words: &[&str]) {
    let error = recover(pages, lsns, records).expect_err("it is damaged");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}: should say {words:?}");
}

#[test]
fn damaged_records_are_named() {
    let good = update(0, Undo::Nothing, &format());
    recover(&MemoryPages::new(512), CheckpointLsns::default(), std::slice::from_ref(&good)).unwrap();
    fails(&[good[..20].to_vec()], &["log", "position 8", "shorter"]);
    fails(&[good.clone(), update(16, Undo::Page, &replace(b"ab", b"cd"))], &["position 16", "transaction 1"]);
    fails(&[good.clone(), update(0, Undo::Page, &replace(b"ab", b"cd"))], &["position 16", "transaction 1"]);
    fails(&[good.clone(), update(8, Undo::Page, &replace(b"xx", b"cd"))], &["position 16", "page 3"]);
    fails(&[good.clone(), update(8, Undo::Page, &[77])], &["position 16", "a logged change of a page"]);
    fails(&[update(0, Undo::Page, &replace(b"ab", b"cd"))], &["position 8", "page 3", "is gone"]);
    fails(&[good, of(1, 8, Body::NestedEnd { undo_next: Lsn(24) })], &["position 16", "a later record"]);
}

#[test]
fn logs_and_checkpoints_that_do_not_belong_together_are_named() {
    let lsns = |begin, needed_from| CheckpointLsns { begin: Lsn(begin), needed_from: Lsn(needed_from) };
    fn checkpoint(body: Body<'_>) -> Vec<u8> {
        of(0, 0, body)
    }
    let begin = checkpoint(Body::CheckpointBegin);
    let end = |running: &[[u8; 16]]| {
        let transactions = Running::new(running);
        checkpoint(Body::CheckpointEnd { begin: Lsn(16), next: TxnId(2), transactions })
    };
    let dirty = |from| {
        let entries = [DirtyPages::entry(PAGE, Lsn(from))];
        checkpoint(Body::CheckpointPages { begin: Lsn(16), pages: DirtyPages::new(&entries) })
    };
    let good = update(0, Undo::Nothing, &format());
    let check = |lsns, records: &[Vec<u8>], words: &[&str]| {
        fails_from(&MemoryPages::new(512), lsns, records, words);
    };
    let pages = MemoryPages::new(512);
    recover(&pages, lsns(16, 0), &[good.clone(), begin.clone(), dirty(0), end(&[])]).unwrap();
    check(lsns(16, 0), &[good.clone(), begin.clone(), dirty(0)], &["position 16", "checkpoint"]);
    check(lsns(16, 8), &[good.clone(), begin.clone(), dirty(0)], &["position 24", "before 8"]);
    check(lsns(16, 8), &[good.clone(), begin.clone(), end(&[Running::entry(TxnId(1), Lsn(0))])], &["before 8"]);
    let more = update(8, Undo::Nothing, &format());
    check(lsns(16, 8), &[good, begin, end(&[]), more], &["position 32", "transaction 1", "before 8"]);
}

#[test]
fn a_page_from_the_future_is_named() {
    let pages = MemoryPages::new(512);
    page::set_lsn(&mut pages.fix_exclusive(PAGE).unwrap(), Lsn(800));
    let records = [update(0, Undo::Page, &replace(b"ab", b"cd"))];
    fails_from(&pages, CheckpointLsns::default(), &records, &["pages", "byte 1536", "position 800", "ends at 8"]);
}

fn any_record() -> impl Strategy<Value = Vec<u8>> {
    let numbers = (0_u8..10, 1_u64..4, 0_u64..12, 0_u64..12, 0_u32..3);
    (numbers, any::<bool>(), vec(any::<u8>(), 0..4)).prop_map(
        |((kind, transaction, previous, other, page), flag, more)| {
            let (page, undo_next) = (PageId(page), Lsn(8 * other));
            let change = if flag { format() } else { replace(b"ab", b"ab") };
            let undo = [Undo::Nothing, Undo::Page, Undo::Logical][(other % 3) as usize];
            let body = match kind {
                0..4 => {
                    let nested = undo != Undo::Logical && more.len() == 3;
                    Body::Update { page, store: STORE, undo, nested, change: &change }
                }
                4 | 5 => Body::Compensation { page, undo_next, change: &change },
                6 => Body::NestedEnd { undo_next },
                7 => Body::Prepared { global: &more, locks: b"" },
                8 => Body::End,
                _ => return of(0, 0, Body::CheckpointBegin),
            };
            of(transaction, 8 * previous, body)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn whatever_the_records_nothing_panics(
        mut records in vec(any_record(), 0..12),
        chained in any::<bool>(),
        edits in vec((any::<usize>(), any::<usize>(), any::<u8>()), 0..3),
    ) {
        if chained {
            // Right chains let what else is wrong come further.
            let mut last = [0_u64; 4];
            for (number, record) in records.iter_mut().enumerate() {
                let transaction = record[8] as usize;
                if transaction > 0 {
                    record[16..24].copy_from_slice(&last[transaction].to_le_bytes());
                    last[transaction] = if record[0] == 5 { 0 } else { 8 * (number as u64 + 1) };
                }
            }
        }
        for (number, at, byte) in edits {
            if let Some(length) = records.len().checked_sub(1) {
                let record = &mut records[number % (length + 1)];
                let at = at % record.len();
                record[at] = byte;
            }
        }
        let _ = recover(&MemoryPages::new(512), CheckpointLsns::default(), &records);
    }
}
