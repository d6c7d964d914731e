//! Checkpoints while threads change pages: nothing that is needed lies before what they say.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::PageKind;
use crate::classic::page::pages::{ExclusivePage, FixedPage};
use crate::classic::recovery::{CheckpointLsns, checkpoint};
use crate::classic::wal::forms::{Device, Discarded, Logs};
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::log::Lsn;

const THREADS: usize = 3;
const CHECKPOINTS: usize = 300;

/// Leaves time between a record's place in the log and what follows it.
struct Slow(Discarded);

impl Device for Slow {
    const RECORDS: bool = true;

    fn appended(&self) -> Lsn {
        self.0.appended()
    }

    fn append(&mut self, record: &[u8]) -> Result<Lsn, Error> {
        let lsn = self.0.append(record);
        std::thread::yield_now();
        lsn
    }
}

#[derive(Clone, Default)]
struct SlowLogs(Discarded);

impl Logs for SlowLogs {
    type Device = Slow;

    fn device(&self) -> Result<Slow, Error> {
        Ok(Slow(self.0.device()?))
    }

    fn wait(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }

    fn force(&self, _: Lsn) -> Result<(), Error> {
        Ok(())
    }
}

/// A page that one thread changes, and what a pool knows of it.
#[derive(Default)]
struct Known {
    /// 0 when clean; else one more than the position since when it is dirty.
    dirty: AtomicU64,
    /// The LSN with which it was last written.
    written: AtomicU64,
    latch: Mutex<()>,
}

struct Page<'a> {
    id: PageId,
    bytes: Vec<u8>,
    known: &'a Known,
    /// Every record of this page: before which position, and behind which.
    records: Vec<(Lsn, Lsn)>,
}

impl Deref for Page<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Page<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl FixedPage for Page<'_> {}

impl ExclusivePage for Page<'_> {
    fn id(&self) -> PageId {
        self.id
    }

    fn changed(&mut self, from: Lsn, lsn: Lsn) {
        let _ = self.known.dirty.compare_exchange(0, from.0 + 1, SeqCst, SeqCst);
        self.records.push((from, lsn));
    }
}

/// What a checkpoint said, and which pages had been written up to where when it asked.
struct Said {
    lsns: CheckpointLsns,
    end: Lsn,
    dirty: BTreeMap<PageId, Lsn>,
    written: Vec<Lsn>,
}

/// The records of a thread's page, and each transaction's first position and the LSN of its commit.
type Done = (Vec<(Lsn, Lsn)>, Vec<(Lsn, Lsn)>);

fn change_pages(log: &mut TransactionLog<Slow>, id: PageId, known: &Known, stop: &AtomicBool) -> Done {
    let mut page = Page { id, bytes: vec![0; 512], known, records: Vec::new() };
    let mut transactions = Vec::new();
    while !stop.load(SeqCst) {
        let before = page.records.len();
        for n in 0..30 {
            let latched = known.latch.lock().unwrap();
            let change = Change::Format { kind: PageKind::Heap, store: StoreId(n), body: &[] };
            log.change(&mut page, change, Undo::Page).unwrap();
            // In every other transaction, as when the page is written, durably, after each change. So there are changes
            // of clean pages, and pages that are dirty for long.
            if transactions.len() % 2 == 0 {
                known.written.store(page.records[page.records.len() - 1].1.0, SeqCst);
                known.dirty.store(0, SeqCst);
            }
            drop(latched);
            std::thread::yield_now();
        }
        transactions.push((page.records[before].1, log.commit().unwrap()));
    }
    (page.records, transactions)
}

#[test]
fn checkpoints_miss_nothing() {
    let logs = SlowLogs::default();
    let table = TransactionTable::new(THREADS);
    let known: Vec<Known> = (0..THREADS).map(|_| Known::default()).collect();
    let stop = AtomicBool::new(false);
    let mut said = Vec::new();
    let done: Vec<Done> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (at, known) in known.iter().enumerate() {
            let mut log = TransactionLog::new(logs.device().unwrap(), table.slot().unwrap());
            let stop = &stop;
            threads.push(scope.spawn(move || change_pages(&mut log, PageId(at as u32), known, stop)));
        }
        let mut device = logs.device().unwrap();
        // How threads take turns is up to the machine: enough checkpoints must have met dirty pages.
        let mut telling = 0;
        while telling < CHECKPOINTS {
            let (mut dirty, mut written) = (BTreeMap::new(), Vec::new());
            let lsns = checkpoint(&logs, &mut device, &table, || {
                for (at, known) in known.iter().enumerate() {
                    // As the pool does: a changed page is noted by then.
                    let _latched = known.latch.lock().unwrap();
                    match known.dirty.load(SeqCst) {
                        0 => {}
                        since => drop(dirty.insert(PageId(at as u32), Lsn(since - 1))),
                    }
                }
                written.extend(known.iter().map(|known| Lsn(known.written.load(SeqCst))));
                dirty.iter().map(|(id, from)| (*id, *from)).collect()
            });
            let lsns = lsns.unwrap();
            telling += usize::from(dirty.values().any(|since| *since < lsns.begin));
            said.push(Said { lsns, end: device.appended(), dirty, written });
        }
        stop.store(true, SeqCst);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    check(&said, &done);
}

fn check(said: &[Said], done: &[Done]) {
    let (mut lacked, mut ran) = (0, 0);
    for Said { lsns, end, dirty, written } in said {
        assert!(lsns.needed_from < lsns.begin);
        for (at, (records, transactions)) in done.iter().enumerate() {
            let (id, written) = (PageId(at as u32), written[at]);
            // Both are in the order of the log.
            let lacks = records.partition_point(|(_, lsn)| *lsn <= written);
            for (from, lsn) in records[lacks..].iter().take_while(|(_, lsn)| *lsn <= lsns.begin) {
                let since = dirty.get(&id);
                assert!(since.is_some_and(|since| since < lsn), "{lsn} of page {id} is not written; dirty {since:?}");
                assert!(lsns.needed_from < *lsn, "{lsn}, behind {from}, is needed");
                lacked += 1;
            }
            let running = transactions.partition_point(|(_, commit)| commit <= end);
            for (first, _) in transactions[running..].iter().take_while(|(first, _)| *first <= lsns.begin) {
                assert!(lsns.needed_from < *first, "the record at {first} is of a transaction that ran");
                ran += 1;
            }
        }
    }
    assert!(
        lacked >= CHECKPOINTS / 2 && ran > 10,
        "{lacked} changes not written, {ran} transactions running: too few to tell"
    );
}
