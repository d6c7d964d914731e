//! The machine stops at every write and every force. After the repair every page is whole, explained by the log, and no
//! older than the pool had said.

use std::collections::BTreeMap;

use super::super::repair;
use super::*;

use crate::io::{Crash, Faults};

const PAGES: u32 = 24;
const FRAMES: usize = 8;
const CRASHES: [(Crash, u64); 5] =
    [(Crash::Lost, 0), (Crash::Kept, 0), (Crash::Torn, 1), (Crash::Torn, 2), (Crash::Torn, 3)];

/// Of each page, the log position of every version, oldest first.
type Versions = BTreeMap<u32, Vec<(Lsn, u64)>>;

/// Makes pages and changes them until the files fail. What could not be done did not happen.
fn work(pool: &Pool, versions: &mut Versions, steps: u32) {
    let mut dice = Dice(steps.into());
    for step in 0..steps {
        let id = dice.below(u64::from(PAGES)) as u32;
        let version = u64::from(step) + 1;
        let is_new = !versions.contains_key(&id);
        let fixed = if is_new { pool.fix_new(PageId(id)) } else { pool.fix_exclusive(PageId(id)) };
        let Ok(mut bytes) = fixed else { return };
        let (from, lsn) = pool.wal().append();
        if is_new {
            page::format(&mut bytes, PageId(id), PageKind::Heap, StoreId(1), &[]);
        }
        fill(&mut bytes, version);
        bytes.changed(from, lsn);
        drop(bytes);
        versions.entry(id).or_default().push((lsn, version));
        let done = match step % 16 {
            7 => pool.clean_up_to(Lsn(lsn.0 / 2)),
            11 => pool.clean_ahead(),
            15 => pool.flush_all(),
            _ => Ok(0),
        };
        if done.is_err() {
            return;
        }
    }
}

/// Checks every page of files found after a crash.
fn check(files: &MemoryFiles, versions: &Versions, dirty: &BTreeMap<u32, Lsn>, durable: u64) {
    let pool = open(files, FRAMES);
    pool.set_recovering(true);
    for (id, versions) in versions {
        let bytes = pool.fix_shared(PageId(*id)).unwrap_or_else(|e| panic!("page {id}: {e}"));
        let (found, version) = (page::lsn(&bytes), version(&bytes));
        let known = found == Lsn::NONE && version == 0 || versions.contains(&(found, version));
        assert!(known, "page {id} is of no version: {version} at {found}");
        assert!(found.0 <= durable, "page {id} is of {found}, and the log durable only up to {durable}");
        let needed_from = dirty.get(id).copied().unwrap_or(Lsn(u64::MAX));
        let promised = versions.iter().map(|(lsn, _)| *lsn).filter(|lsn| *lsn <= needed_from).max();
        assert!(promised.is_none_or(|lsn| found >= lsn), "page {id} is of {found}, said to be of {promised:?}");
    }
}

/// Works until the operation of this number stops the machine; says how many operations there are without.
fn crash_at(stop_at: Option<u64>) -> u64 {
    let files = MemoryFiles::new();
    let pool = create(&files, FRAMES);
    let before = files.operations();
    files.set_faults(Faults { stop_at: stop_at.map(|at| before + at), ..Faults::default() });
    let mut versions = Versions::new();
    work(&pool, &mut versions, 160);
    let dirty: BTreeMap<u32, Lsn> = pool.dirty_pages().into_iter().map(|(page, lsn)| (page.0, lsn)).collect();
    for (mode, seed) in CRASHES {
        let found = files.after_crash(mode, seed);
        check(&found, &versions, &dirty, pool.wal().durable());
        if mode == Crash::Torn && stop_at.is_some_and(|at| at % 5 == seed) {
            crash_in_repair(&files.after_crash(mode, seed), &versions, &dirty, pool.wal().durable());
        }
    }
    files.operations() - before
}

/// The machine stops again, at every operation of the repair.
fn crash_in_repair(files: &MemoryFiles, versions: &Versions, dirty: &BTreeMap<u32, Lsn>, durable: u64) {
    for at in 0.. {
        let again = files.after_kill().after_crash(Crash::Kept, 0);
        again.set_faults(Faults { stop_at: Some(at), ..Faults::default() });
        let repaired = repair(&again, 0);
        for (mode, seed) in CRASHES {
            check(&again.after_crash(mode, seed), versions, dirty, durable);
        }
        if repaired.is_ok() {
            return;
        }
    }
}

#[test]
fn a_crash_at_every_operation_leaves_every_page_whole() {
    let operations = crash_at(None);
    assert!(operations > 100, "{operations}");
    for at in 0..operations {
        crash_at(Some(at));
    }
}

#[test]
fn a_torn_page_is_repaired_and_nothing_else_is_touched() {
    let files = MemoryFiles::new();
    let pool = create(&files, FRAMES);
    (0..4).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    (0..3).for_each(|id| change(&pool, pool.wal(), id, 2).unwrap());
    pool.flush_all().unwrap();
    drop(pool);
    let file = files.open("pages").unwrap();
    let tear = |id: u64| file.write_at(&[0xaa; 512], id * PAGE as u64 + 1024).unwrap();
    assert_eq!(repair(&files, 0).unwrap(), 0);
    tear(1);
    tear(2);
    assert_eq!(repair(&files, 0).unwrap(), 2);
    assert_eq!(repair(&files, 0).unwrap(), 0);
    // The image of page 3 was in the batch before and is not used, though it still stands in the file: the page could
    // have been written since.
    tear(3);
    assert_eq!(repair(&files, 0).unwrap(), 0);
    let pool = open(&files, FRAMES);
    assert_eq!((0..3).map(|id| read(&pool, id).unwrap()).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(read(&pool, 3).unwrap_err().to_string().contains("the checksum of page 3 is wrong"));
}

#[test]
fn an_image_of_an_earlier_batch_is_not_copied() {
    let files = MemoryFiles::new();
    let pool = create(&files, FRAMES);
    (0..4).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    let double = files.open("pages.double").unwrap();
    let mut old = vec![0; PAGE];
    double.read_exact_at(&mut old, 4096).unwrap();
    (0..4).for_each(|id| change(&pool, pool.wal(), id, 2).unwrap());
    pool.flush_all().unwrap();
    // As if the header of the second batch had been written, and this image not.
    double.write_at(&old, 4096).unwrap();
    files.open("pages").unwrap().write_at(&[3; 9], 2000).unwrap();
    assert_eq!(repair(&files, 0).unwrap(), 0);
    assert!(open(&files, FRAMES).fix_shared(PageId(0)).is_err());
}

#[test]
fn an_image_that_is_damaged_itself_is_not_copied() {
    let files = MemoryFiles::new();
    let pool = create(&files, FRAMES);
    (0..4).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    drop(pool);
    let (pages, double) = (files.open("pages").unwrap(), files.open("pages.double").unwrap());
    let whole = |file: &dyn crate::io::File| {
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    let images = whole(&*double);
    for at in (0..4096 + 4 * PAGE).step_by(37) {
        double.write_at(&[images[at] ^ 0x10], at as u64).unwrap();
        pages.write_at(&[0x55; 100], PAGE as u64 + 500).unwrap();
        let before = whole(&*pages);
        let repaired = repair(&files, 0).unwrap();
        let good = (4096..4096 + PAGE).contains(&at) || at >= 4096 + 2 * PAGE;
        assert_eq!(repaired == 1, good, "byte {at} of the doublewrite file was changed");
        if !good {
            assert_eq!(whole(&*pages), before);
        }
        double.write_at(&images, 0).unwrap();
        assert_eq!(repair(&files, 0).unwrap(), u64::from(!good));
    }
}
