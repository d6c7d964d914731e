//! Many threads at once.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::io::RealFiles;

/// Threads append numbered records; each thread's records are read in its order, all at the LSNs that it received.
fn hammer(
    config: LogConfig,
    threads: u64,
    each: u64,
    wait_every: u64,
) -> (MemoryFiles, super::super::config::LogStats) {
    let files = MemoryFiles::new();
    let log = create(&files, config.clone());
    let mut expected: Vec<(Lsn, Vec<u8>)> = thread::scope(|scope| {
        let worker = |thread: u64| {
            let log = &log;
            scope.spawn(move || {
                let mut appender = log.appender().unwrap();
                let append = |n: u64| {
                    let bytes = record(thread << 32 | n);
                    let lsn = appender.append(&bytes).unwrap();
                    if n.is_multiple_of(wait_every) {
                        log.wait(lsn).unwrap();
                        assert!(log.durable() >= lsn);
                    }
                    (lsn, bytes)
                };
                (0..each).map(append).collect::<Vec<_>>()
            })
        };
        let workers: Vec<_> = (0..threads).map(worker).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    log.close().unwrap();
    expected.sort();
    let (_, records) = open(&files, config, Lsn::NONE).unwrap();
    assert!(records == expected, "records differ");
    (files, log.stats())
}

#[test]
fn appenders_share_a_tiny_ring() {
    for threads in [false, true] {
        let (_, stats) = hammer(LogConfig { threads, ..tiny() }, 6, 3000, u64::MAX);
        assert!(stats.full > 0);
    }
}

#[test]
fn appenders_that_wait_share_forces() {
    for threads in [false, true] {
        hammer(LogConfig { threads, segment_bytes: 16384, ..tiny() }, 6, 500, 3);
    }
}

#[test]
fn appenders_without_force_are_forced_in_the_background() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { force: false, threads: true, ..tiny() });
    let mut appender = log.appender().unwrap();
    let lsn = appender.append(b"later").unwrap();
    log.wait(lsn).unwrap();
    while log.durable() < lsn {
        thread::yield_now();
    }
    log.force().unwrap();
}

#[test]
fn sixteen_waiting_threads_need_far_fewer_forces() {
    let directory = std::env::temp_dir().join(format!("glassbox-log-{}", std::process::id()));
    let files = RealFiles::new(&directory).unwrap();
    let config = LogConfig { segment_bytes: 1 << 20, log_buffer_bytes: 1 << 20, ..LogConfig::default() };
    let log = Log::create(Arc::new(files.clone()), ID, config.clone(), Lsn::NONE).unwrap();
    let start = Barrier::new(16);
    thread::scope(|scope| {
        for n in 0..16 {
            let (log, start) = (&log, &start);
            scope.spawn(move || {
                let mut appender = log.appender().unwrap();
                start.wait();
                (0..100).for_each(|_| log.wait(appender.append(&record(n)).unwrap()).unwrap());
            });
        }
    });
    let stats = log.stats();
    log.close().unwrap();
    let mut count = 0;
    let found = look_into_log(&files, &ExpectedLog::new(ID, Lsn::NONE), &mut |_, _| {
        count += 1;
        Ok(())
    });
    found.unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(count, 1600);
    assert!(stats.forces < 800, "{stats:?}");
}

#[test]
fn pipelined_callers_need_only_nudge() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { threads: true, ..tiny() });
    let mut appender = log.appender().unwrap();
    for n in 0..500 {
        let lsn = appender.append(&record(n)).unwrap();
        log.nudge();
        if n % 100 == 99 {
            while log.durable() < lsn {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn appenders_are_limited_and_come_back() {
    let log = create(&MemoryFiles::new(), LogConfig { appenders: 2, ..tiny() });
    let first = log.appender().unwrap();
    let _second = log.appender().unwrap();
    assert!(matches!(log.appender(), Err(LogError::NoAppender(2))));
    drop(first);
    log.appender().unwrap();
}
