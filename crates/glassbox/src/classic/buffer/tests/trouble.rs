//! Damage, full disks, failed forces, and too few frames.

use super::super::double::{HEADER_BYTES as DOUBLE_HEADER_BYTES, decode_header, encode_header};
use super::*;
use crate::io::{Crash, Faults};

fn filled(files: &MemoryFiles, pages: u32) -> Pool {
    let pool = create(files, 16);
    (0..pages).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    pool
}

#[test]
fn flipped_bytes_are_reported_with_file_and_offset() {
    let files = MemoryFiles::new();
    drop(filled(&files, 8));
    // Its images would repair them.
    files.remove("pages.double").unwrap();
    let file = files.open("pages").unwrap();
    for at in (0..PAGE as u64).step_by(97).chain([PAGE as u64 - 1]) {
        let at = 3 * PAGE as u64 + at;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 1], at).unwrap();
        let pool = open(&files, 16);
        pool.set_recovering(at.is_multiple_of(2));
        for _ in 0..2 {
            let error = pool.fix_exclusive(PageId(3)).err().unwrap();
            let Error::Damaged { file, offset, problem } = &error else { panic!("{error}") };
            assert_eq!((file.as_str(), *offset), ("pages", 3 * PAGE as u64));
            assert_eq!(problem, "the checksum of page 3 is wrong");
        }
        assert!(pool.try_fix_shared(PageId(3)).is_err());
        assert_eq!(read(&pool, 2).unwrap(), 1);
        file.write_at(&byte, at).unwrap();
        assert_eq!(read(&pool, 3).unwrap(), 1, "once it is right again it can be read");
    }
}

#[test]
fn a_page_that_could_not_be_read_leaves_no_trace() {
    let files = MemoryFiles::new();
    drop(filled(&files, 64));
    files.remove("pages.double").unwrap();
    let file = files.open("pages").unwrap();
    let mut right = vec![0; PAGE];
    file.read_exact_at(&mut right, 3 * PAGE as u64).unwrap();
    file.write_at(&[9; 8], 3 * PAGE as u64 + 80).unwrap();
    let pool = open(&files, 16);
    assert!(pool.fix_shared(PageId(3)).is_err());
    file.write_at(&right, 3 * PAGE as u64).unwrap();
    let fixed = pool.fix_shared(PageId(3)).unwrap();
    (4..64).for_each(|id| assert_eq!(read(&pool, id).unwrap(), 1));
    let again = pool.fix_shared(PageId(3)).unwrap();
    assert_eq!(fixed.as_ptr(), again.as_ptr(), "a page is in one frame");
}

#[test]
fn whatever_the_files_hold_is_read_or_reported() {
    let files = MemoryFiles::new();
    let pool = filled(&files, 16);
    (0..4).for_each(|id| change(&pool, pool.wal(), id, 2).unwrap());
    pool.flush_all().unwrap();
    drop(pool);
    let (mut read_ones, mut reported) = (0, 0);
    for seed in 0..400_u64 {
        let (files, mut dice) = (files.after_crash(Crash::Kept, 0), Dice(seed));
        for _ in 0..=dice.below(4) {
            let file = files.open(["pages", "pages.double"][dice.below(2) as usize]).unwrap();
            let at = dice.below(6 * PAGE as u64);
            let bytes: Vec<u8> = (0..1 + dice.below(9000)).map(|_| dice.below(256) as u8).collect();
            match dice.below(4) {
                0 => file.set_len(at).unwrap(),
                1 => file.write_at(&vec![0; bytes.len()], at).unwrap(),
                _ => file.write_at(&bytes, at).unwrap(),
            }
        }
        let Ok(pool) = Pool::open(&files, &config(8), FakeLog::default()) else { continue };
        pool.set_recovering(seed.is_multiple_of(2));
        for id in 0..16 {
            match pool.fix_shared(PageId(id)) {
                Ok(bytes) => {
                    let expected = if id < 4 { 2 } else { 1 };
                    let unwritten = seed.is_multiple_of(2) && bytes.iter().all(|byte| *byte == 0);
                    assert!(version(&bytes) == expected || unwritten, "page {id}, seed {seed}");
                    read_ones += 1;
                }
                Err(Error::Damaged { offset, .. }) => {
                    assert_eq!(offset, u64::from(id) * PAGE as u64);
                    reported += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(read_ones > 1000 && reported > 300, "{read_ones} {reported}");
}

#[test]
fn pages_that_are_not_there_or_elsewhere_are_reported() {
    let files = MemoryFiles::new();
    let pool = filled(&files, 8);
    let error = |id: u32| pool.fix_shared(PageId(id)).err().unwrap().to_string();
    assert!(error(9).contains("page 9 was never written"), "{}", error(9));
    assert!(error(1 << 30).contains("lies behind its end"), "{}", error(1 << 30));
    assert!(error(u32::MAX).contains("cannot be"), "{}", error(u32::MAX));
    pool.set_recovering(true);
    assert_eq!(version(&pool.fix_shared(PageId(9)).unwrap()), 0);
    assert_eq!(version(&pool.fix_exclusive(PageId(1 << 30)).unwrap()), 0);
    drop(pool);
    let file = files.open("pages").unwrap();
    let mut bytes = vec![0; PAGE];
    file.read_exact_at(&mut bytes, 2 * PAGE as u64).unwrap();
    file.write_at(&bytes, 5 * PAGE as u64).unwrap();
    files.remove("pages.double").unwrap();
    let error = open(&files, 16).fix_shared(PageId(5)).err().unwrap().to_string();
    assert!(error.contains("where page 5 belongs, there is page 2"), "{error}");
}

#[test]
fn a_failed_force_stops_the_writing_and_loses_nothing() {
    for force in 0..4 {
        let files = MemoryFiles::new();
        let pool = filled(&files, 16);
        (0..8).for_each(|id| change(&pool, pool.wal(), id, 2).unwrap());
        let dirty = pool.dirty_pages();
        files.set_faults(Faults { fail_force: Some(files.forces() + force), ..Faults::default() });
        assert!(matches!(pool.flush_all(), Err(Error::Io(_))), "force {force}");
        assert!(matches!(pool.flush_all(), Err(Error::Stopped { .. })));
        let now = pool.dirty_pages();
        let known = |page: &(PageId, Lsn)| dirty.contains(page);
        assert!(now.iter().all(known) && now.len() == if force < 2 { 8 } else { 4 }, "{now:?}");
        // Pages in memory can be read, and clean ones can leave it; changed ones never do.
        (0..16).for_each(|id| assert_eq!(read(&pool, id).unwrap(), if id < 8 { 2 } else { 1 }));
        (0..16).for_each(|id| drop(change(&pool, pool.wal(), id, 3)));
        let error = (16..64).find_map(|id| pool.fix_new(PageId(id)).err()).unwrap();
        assert!(error.to_string().contains("could not be written"), "{error}");
    }
}

#[test]
fn a_log_that_fails_keeps_pages_from_disk() {
    let files = MemoryFiles::new();
    let pool = filled(&files, 16);
    change(&pool, pool.wal(), 3, 2).unwrap();
    *pool.wal().failing.lock().unwrap() = true;
    let operations = files.operations();
    assert!(pool.flush_all().is_err());
    assert_eq!(files.operations(), operations, "nothing was written");
    assert_eq!(read(&pool, 3).unwrap(), 2);
    assert_eq!(pool.dirty_pages().len(), 1);
}

#[test]
fn a_full_disk_refuses_new_pages_and_stops_nothing() {
    let files = MemoryFiles::new();
    let pool = filled(&files, 16);
    let (pages, double) = (files.open("pages").unwrap().len().unwrap(), files.open("pages.double").unwrap());
    // Room for two pages more, not for a whole step.
    let room = pages + double.len().unwrap() + 2 * PAGE as u64;
    files.set_faults(Faults { capacity_bytes: Some(room), ..Faults::default() });
    let first_new = (pages / PAGE as u64) as u32;
    make(&pool, pool.wal(), first_new, 7);
    make(&pool, pool.wal(), first_new + 1, 7);
    pool.flush_all().unwrap();
    for _ in 0..3 {
        let error = pool.fix_new(PageId(first_new + 2)).err().unwrap();
        assert!(
            matches!(&error, Error::NoRoom { cause } if cause.kind() == std::io::ErrorKind::StorageFull),
            "{error}"
        );
        change(&pool, pool.wal(), 3, 2).unwrap();
        pool.flush_all().unwrap();
    }
    change(&pool, pool.wal(), 3, 1).unwrap();
    pool.flush_all().unwrap();
    files.set_faults(Faults::default());
    make(&pool, pool.wal(), first_new + 2, 7);
    pool.flush_all().unwrap();
    let pool = open(&files.after_crash(Crash::Lost, 0), 16);
    (0..16).for_each(|id| assert_eq!(read(&pool, id).unwrap(), 1));
    assert_eq!(read(&pool, first_new + 1).unwrap(), 7);
}

#[test]
fn more_pages_fixed_than_there_are_frames_is_an_error() {
    let files = MemoryFiles::new();
    let pool = filled(&files, 20);
    let fixed: Vec<_> = (0..16).map(|id| pool.fix_shared(PageId(id)).unwrap()).collect();
    let error = pool.fix_shared(PageId(17)).err().unwrap();
    assert!(matches!(&error, Error::OutOfMemory(_)) && error.to_string().contains("all 16 frames"), "{error}");
    assert_eq!(version(&pool.fix_shared(PageId(3)).unwrap()), 1);
    drop(fixed);
    assert_eq!(read(&pool, 17).unwrap(), 1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let files = MemoryFiles::new();
    drop(create(&files, 16));
    let refused = |config: PoolConfig| match Pool::open(&files, &config, FakeLog::default()) {
        Err(Error::Config(problem)) => problem,
        _ => panic!("{config:?}"),
    };
    assert!(refused(PoolConfig { page_bytes: 2048, ..config(16) }).contains("4096"));
    assert!(refused(PoolConfig { page_bytes: 12288, ..config(16) }).contains("4096"));
    refused(config(0));
    refused(PoolConfig { batch_pages: 0, ..config(16) });
    assert!(Pool::create(&files, &config(16), FakeLog::default()).is_err(), "there are pages already");
}

#[test]
fn the_header_of_the_doublewrite_file_is_as_documented() {
    let mut header = vec![1; DOUBLE_HEADER_BYTES];
    let images = [(PageId(7), 0x0403_0201), (PageId(0x0102), 5)];
    encode_header(&mut header, 8192, 0x99, images.into_iter());
    let sum = header[12..16].to_vec();
    let golden = [
        b"GBDOUBLE".as_slice(),
        &[1, 0, 0, 0],
        &sum,
        &[0, 32, 0, 0],
        &[2, 0, 0, 0],
        &[0x99, 0, 0, 0, 0, 0, 0, 0],
        &[7, 0, 0, 0, 1, 2, 3, 4],
        &[2, 1, 0, 0, 5, 0, 0, 0],
    ];
    assert_eq!(header[..48], golden.concat());
    assert!(header[48..].iter().all(|byte| *byte == 0));
    let found = decode_header(&header, "f").unwrap().unwrap();
    assert_eq!((found.page_bytes, found.batch, found.images.as_slice()), (8192, 0x99, images.as_slice()));
    for at in 12..DOUBLE_HEADER_BYTES {
        header[at] ^= 4;
        assert!(decode_header(&header, "f").unwrap().is_none(), "byte {at}");
        header[at] ^= 4;
    }
    for length in [0, 7, 48, DOUBLE_HEADER_BYTES - 1] {
        assert!(decode_header(&header[..length], "f").unwrap().is_none());
    }
    header[8] = 2;
    assert!(matches!(decode_header(&header, "f"), Err(Error::WrongFormat { found: 2, known: 1, .. })));
    encode_header(&mut header, 1234, 1, [].into_iter());
    assert!(matches!(decode_header(&header, "f"), Err(Error::Damaged { .. })));
}
