//! Crashes at every operation: awaited records survive, and only appended records are read.

use super::*;
use crate::io::{Crash, Faults};

/// The state of a run: every record appended, in order, and how many of them were reported durable.
#[derive(Default, Clone)]
struct Told {
    appended: Vec<(Lsn, Vec<u8>)>,
    durable: usize,
}

/// Appends, waits, truncates and closes until the crash.
fn work(log: &Log, told: &mut Told, first: u64, count: u64, truncate: bool) -> Result<(), LogError> {
    let mut appender = log.appender()?;
    for n in first..first + count {
        told.appended.push((appender.append(&record(n))?, record(n)));
        if n % 5 == 4 {
            log.wait(told.appended[told.appended.len() - 1].0)?;
            told.durable = told.appended.len();
        }
        if truncate && n % 40 == 39 {
            log.truncate(told.appended[told.appended.len() - 20].0);
        }
    }
    log.close()?;
    told.durable = told.appended.len();
    Ok(())
}

/// Reads from the record before `told.durable - behind`, checks, and makes what was found the truth.
fn check(files: &MemoryFiles, told: &mut Told, what: &str) -> Log {
    let skip = told.durable.saturating_sub(20);
    let from = if skip == 0 { Lsn::NONE } else { told.appended[skip - 1].0 };
    let (log, records) = open(files, tiny(), from).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = skip + records.len();
    assert!(found >= told.durable, "{what}: {found} records of {} durable ones", told.durable);
    assert!(found <= told.appended.len(), "{what}: more records than were appended");
    assert_eq!(records, told.appended[skip..found], "{what}");
    told.appended.truncate(found);
    told.durable = found;
    log
}

fn run(files: &MemoryFiles, told: &mut Told, truncate: bool) -> Result<(), LogError> {
    let log = Log::create(Arc::new(files.clone()), ID, tiny(), Lsn::NONE)?;
    work(&log, told, 0, 150, truncate)
}

fn crash_everywhere(mode: Crash, truncate: bool, seeds: u64) {
    let count = {
        let files = MemoryFiles::new();
        run(&files, &mut Told::default(), truncate).unwrap();
        files.operations()
    };
    for stop in 0..count {
        let files = MemoryFiles::new();
        files.set_faults(Faults { stop_at: Some(stop), ..Faults::default() });
        let mut told = Told::default();
        assert!(run(&files, &mut told, truncate).is_err());
        for seed in 0..seeds {
            crash_again(
                &files.after_crash(mode, seed),
                told.clone(),
                mode,
                &format!("{mode:?} at {stop}, seed {seed}"),
            );
        }
    }
}

/// Opens the files after a crash; crashes during the opening and during further appends; opens again.
fn crash_again(found: &MemoryFiles, mut told: Told, mode: Crash, what: &str) {
    if segments(found).is_empty() {
        assert_eq!(told.durable, 0, "{what}: the log is gone");
        return;
    }
    // Opening again gives the same, wherever the first opening stopped.
    let operations = {
        let image = found.after_kill();
        check(&image, &mut told, what);
        image.operations()
    };
    for stop in 0..operations + 10 {
        let mut told = told.clone();
        let image = found.after_kill();
        image.set_faults(Faults { stop_at: Some(stop), ..Faults::default() });
        let from = told.appended.last().map_or(Lsn::NONE, |last| last.0);
        if let Ok((log, _)) = open(&image, tiny(), from) {
            let _ = work(&log, &mut told, 1000, 12, false);
        }
        let again = image.after_crash(mode, stop);
        let what = format!("{what}, then at {stop} of {operations}");
        let log = check(&again, &mut told, &what);
        work(&log, &mut told, 2000, 60, true).unwrap_or_else(|error| panic!("{what}, going on: {error}"));
        drop(log);
        check(&again, &mut told, &what);
    }
}

#[test]
fn crash_at_every_operation_lost() {
    crash_everywhere(Crash::Lost, false, 1);
    crash_everywhere(Crash::Lost, true, 1);
}

#[test]
fn crash_at_every_operation_kept() {
    crash_everywhere(Crash::Kept, false, 1);
    crash_everywhere(Crash::Kept, true, 1);
}

#[test]
fn crash_at_every_operation_torn() {
    crash_everywhere(Crash::Torn, false, 2);
    crash_everywhere(Crash::Torn, true, 2);
}

#[test]
fn what_a_killed_process_left_unforced_is_forced_by_opening() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    let lsn = appender.append(b"first").unwrap();
    // The write happens, the force does not.
    files.set_faults(Faults { stop_at: Some(files.operations() + 1), ..Faults::default() });
    assert!(log.wait(lsn).is_err());
    let restarted = files.after_kill();
    let (_, records) = open(&restarted, tiny(), Lsn::NONE).unwrap();
    assert_eq!(records.len(), 1, "the system still has the record");
    let (_, records) = open(&restarted.after_crash(Crash::Lost, 0), tiny(), Lsn::NONE).unwrap();
    assert_eq!(records.len(), 1, "and callers that were told so may rely on it");
}

#[test]
fn a_failed_force_poisons_for_ever() {
    for later in 0..5 {
        let files = MemoryFiles::new();
        // One appender, so that no spare is needed yet.
        let log = create(&files, LogConfig { appenders: 1, ..tiny() });
        files.set_faults(Faults { fail_force: Some(files.forces() + later), ..Faults::default() });
        let mut appender = log.appender().unwrap();
        let mut failed = None;
        for n in 0..10 {
            let done = appender.append(&record(n)).and_then(|lsn| log.wait(lsn));
            assert!(failed.is_none() || done.is_err(), "nothing is answered after a failure");
            failed = failed.or(done.err());
        }
        let error = failed.expect("a force failed");
        assert!(matches!(error, LogError::Poisoned { .. }), "{error}");
        assert!(log.close().is_err() && log.force().is_err() && log.wait(Lsn::NONE).is_ok());
        assert!(matches!(appender.append(b"more"), Err(LogError::Poisoned { .. } | LogError::Closed)));
    }
}

#[test]
fn a_full_ring_of_a_poisoned_log_does_not_hang() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    files.set_faults(Faults { read_only: true, ..Faults::default() });
    let mut appender = log.appender().unwrap();
    let error = (0..100).find_map(|n| appender.append(&record(n)).err()).expect("the ring is smaller");
    assert!(error.to_string().contains("log/0000000000000000.log"), "{error}");
}

#[test]
fn an_append_on_a_full_disk_is_refused_with_its_cause() {
    let files = MemoryFiles::new();
    files.set_faults(Faults { capacity_bytes: Some(3 * 8192), ..Faults::default() });
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    let error = (0..1000).find_map(|n| appender.append(&record(n)).and_then(|lsn| log.wait(lsn)).err()).unwrap();
    assert!(error.to_string().contains("cannot write log/spare-"), "{error}");
    assert!(matches!(error, LogError::NoRoom { .. }) && log.check().is_ok(), "{error}");
}

#[test]
fn a_segment_prepared_in_vain_does_not_come_back() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let mut appender = log.appender().unwrap();
    (0..6).for_each(|_| drop(log.wait(appender.append(&[1; 800]).unwrap())));
    let large = appender.append(&[2; 1000]).unwrap();
    // A spare becomes the next segment, whose name is forced; the block that leads there is not.
    // That is: write header, force; rename, force the directory; write.
    files.set_faults(Faults { stop_at: Some(files.operations() + 4), ..Faults::default() });
    assert!(log.wait(large).is_err());
    let files = files.after_crash(Crash::Lost, 0);
    assert_eq!(segments(&files).len(), 2);
    let (log, records) = open(&files, tiny(), Lsn::NONE).unwrap();
    assert_eq!(records.len(), 6);
    // A record that still fits the first segment: the log now passes the place where the other one began.
    log.wait(log.appender().unwrap().append(&[3; 10]).unwrap()).unwrap();
    let (_, records) = open(&files.after_crash(Crash::Lost, 0), tiny(), Lsn::NONE).unwrap();
    assert_eq!(records.len(), 7);
}

/// Without room for another segment the log continues to the end of this one, and does not attempt to make a segment at
/// each flush.
#[test]
fn a_full_disk_is_not_asked_again_and_again() {
    let files = MemoryFiles::new();
    let config = LogConfig { segment_bytes: 256 << 10, spare_segments: 0, threads: true, ..tiny() };
    let log = create(&files, config);
    files.set_faults(Faults { full_from: Some(files.operations()), ..Faults::default() });
    let mut appender = log.appender().unwrap();
    let append = |n: u64| log.wait(appender.append(&record(n))?);
    let before = files.operations();
    let answered = (0..).map(append).take_while(Result::is_ok).count() as u64;
    // Two operations a flush, and a few attempts: at an eighth of the segment, and for the last records of it.
    assert!(answered > 256 && files.operations() - before < 2 * answered + 80, "{answered}: {}", files.operations());
    assert!(log.check().is_ok());
}

/// The renames of one truncation survive a crash in any combination; the log from its beginning on is there.
#[test]
fn truncated_segments_lose_their_names_in_any_order() {
    let files = MemoryFiles::new();
    let log = create(&files, tiny());
    let (mut appender, mut records) = (log.appender().unwrap(), Vec::new());
    while segments(&files).len() < 6 {
        let n = records.len() as u64;
        records.push((appender.append(&record(n)).unwrap(), record(n)));
        log.force().unwrap();
    }
    let firsts: Vec<_> = segments(&files).iter().map(|name| u64::from_str_radix(&name[4..20], 16).unwrap()).collect();
    let mut gaps = 0;
    for (freed, &first) in firsts.iter().enumerate().skip(1) {
        let copy = files.after_kill();
        let (log, _) = open(&copy, tiny(), Lsn::NONE).unwrap();
        let from = Lsn(first);
        copy.set_faults(Faults { stop_at: Some(copy.operations() + freed as u64), ..Faults::default() });
        log.truncate(from);
        assert!(copy.is_stopped(), "at the force of the directory");
        for seed in 0..100 {
            let crashed = copy.after_crash(Crash::Torn, seed);
            let left = segments(&crashed);
            gaps += usize::from(left.iter().zip(segments(&files)).any(|(left, was)| *left != was));
            let (_, found) =
                open(&crashed, tiny(), from).unwrap_or_else(|error| panic!("{left:?} from {from}: {error}"));
            assert!(found.iter().eq(records.iter().filter(|(lsn, _)| *lsn > from)), "{left:?} from {from}");
        }
    }
    assert!(gaps > 50, "{gaps}");
}
