//! Appended records are read again, across the boundaries of blocks, segments and the ring.

use super::*;

#[test]
fn records_come_back_in_order_over_segments_and_ring_wraps() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    let mut expected = Vec::new();
    for n in 0..1000 {
        let lsn = appender.append(&record(n)).unwrap();
        expected.push((lsn, record(n)));
        if n % 7 == 0 {
            log.wait(lsn).unwrap();
        }
    }
    log.close().unwrap();
    assert!(segments(&files).len() > 10, "the log went over many segments");
    let (_, records) = open(&files, tiny(), Lsn::NONE).unwrap();
    assert_eq!(records, expected);
    let (_, records) = open(&files, tiny(), expected[499].0).unwrap();
    assert_eq!(records, expected[500..], "reading begins behind a record");
}

#[test]
fn the_smallest_and_the_largest_record_pass() {
    for segment_bytes in [4096, 8192] {
        let files = MemoryFiles::new();
        let config = LogConfig { segment_bytes, log_buffer_bytes: 16384, ..tiny() };
        let most = config.max_record_bytes();
        let log = create(&files, config.clone());
        let mut appender = log.appender().unwrap();
        for n in [0, most, 0, 1, most, most] {
            appender.append(&vec![7; n]).unwrap();
        }
        let error = appender.append(&vec![7; most + 1]).unwrap_err();
        assert!(matches!(error, LogError::TooLarge { .. }), "{error}");
        log.close().unwrap();
        assert!(matches!(appender.append(b"late"), Err(LogError::Closed)));
        let (_, records) = open(&files, config, Lsn::NONE).unwrap();
        let lengths: Vec<_> = records.iter().map(|(_, record)| record.len()).collect();
        assert_eq!(lengths, [0, most, 0, 1, most, most]);
    }
}

#[test]
fn a_log_goes_on_after_opening_closed_or_not() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut expected = Vec::new();
    let mut log = Some(log);
    for round in 0..40 {
        let now = log.take().unwrap_or_else(|| {
            let (log, records) = open(&files, tiny(), Lsn::NONE).unwrap();
            assert_eq!(records, expected, "round {round}");
            log
        });
        let mut appender = now.appender().unwrap();
        for n in 0..round % 9 {
            expected.push((appender.append(&record(round * 100 + n)).unwrap(), record(round * 100 + n)));
        }
        if round % 3 == 0 { now.close().unwrap() } else { now.force().unwrap() }
    }
}

#[test]
fn truncated_segments_are_used_again() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { spare_segments: 2, ..tiny() });
    let mut appender = log.appender().unwrap();
    let mut expected = Vec::new();
    for n in 0..2000 {
        let lsn = appender.append(&record(n)).unwrap();
        expected.push((lsn, record(n)));
        if n % 50 == 49 {
            log.wait(lsn).unwrap();
            log.truncate(expected[expected.len() - 10].0);
        }
    }
    log.close().unwrap();
    let stats = log.stats();
    assert!(stats.segments > 30 && stats.segments_unprepared < 5, "segments were recycled: {stats:?}");
    assert!(files.list("log").unwrap().len() < 8);
    let from = expected[1989].0;
    let (_, records) = open(&files, tiny(), from).unwrap();
    assert_eq!(records, expected[1990..]);
    let error = open(&files, tiny(), Lsn::NONE).err().unwrap();
    assert!(matches!(error, LogError::MissingSegment { .. }), "{error}");
}

/// After a truncation, as many spares are ready as the log needed since the one before; surplus ones are removed.
#[test]
fn as_many_segments_are_kept_as_were_used() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { spare_segments: 1, ..tiny() });
    let mut appender = log.appender().unwrap();
    let spares = || files.list("log").unwrap().iter().filter(|name| name.contains("spare")).count() as u64;
    let mut grow = |segments: u64| {
        let before = log.stats().segments;
        while log.stats().segments < before + segments {
            log.wait(appender.append(&record(1)).unwrap()).unwrap();
        }
        log.truncate(appender.append(&record(2)).unwrap());
        (log.stats().segments - before, log.stats().segments_unprepared)
    };
    grow(12);
    assert_eq!(spares(), 12);
    let made = files.list("log").unwrap().len();
    assert_eq!(grow(12), (12, 0), "all were ready");
    assert_eq!(files.list("log").unwrap().len(), made);
    grow(3);
    assert_eq!(spares(), 3, "the others are not needed any more");
}

#[test]
fn creating_over_a_log_is_refused_and_so_is_opening_none() {
    let files = MemoryFiles::new();
    assert!(matches!(open(&files, tiny(), Lsn::NONE), Err(LogError::MissingSegment { .. })));
    drop(create(&files, tiny()));
    let again = Log::create(Arc::new(files.clone()), ID, tiny(), Lsn::NONE);
    assert!(matches!(again, Err(LogError::Exists { .. })));
    let stranger = look_into_log(&files, &ExpectedLog::new(ID + 1, Lsn::NONE), &mut |_, _| Ok(()));
    assert!(matches!(stranger, Err(LogError::Foreign { .. })));
}

#[test]
fn positions_that_are_no_boundary_are_refused() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    let end = appender.append(&[1; 100]).unwrap();
    log.close().unwrap();
    for from in [Lsn(8), Lsn(end.0 + 8)] {
        assert!(matches!(open(&files, tiny(), from), Err(LogError::NoSuchPosition { .. })));
    }
    assert!(open(&files, tiny(), end).unwrap().1.is_empty());
}

#[test]
fn forcing_up_to_a_record_forces_it_also_without_waiting_callers() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { force: false, ..tiny() });
    let mut appender = log.appender().unwrap();
    let first = appender.append(&record(1)).unwrap();
    log.wait(first).unwrap();
    assert!(log.durable() < first, "no caller waits");
    log.force_up_to(first).unwrap();
    assert!(log.durable() >= first);
    let forces = files.forces();
    log.force_up_to(first).unwrap();
    assert_eq!(files.forces(), forces, "once is enough");
}
