//! A full disk: appends are refused before they are in the log, and go on when there is room.

use super::*;
use crate::io::Faults;

fn full(files: &MemoryFiles) {
    files.set_faults(Faults { full_from: Some(files.operations()), ..Faults::default() });
}

#[test]
fn a_full_disk_refuses_appends_and_stops_nothing() {
    for (undo_room, threads) in [(false, false), (true, false), (false, true), (true, true)] {
        let files = MemoryFiles::new();
        let config = LogConfig { undo_room, threads, ..tiny() };
        let log = create(&files, config.clone());
        let mut appender = log.appender().unwrap();
        let (mut acknowledged, mut refused, mut number) = (Vec::new(), 0, 0);
        for _ in 0..20 {
            full(&files);
            let cause = loop {
                match appender.append(&record(number)) {
                    Ok(lsn) if number.is_multiple_of(3) => log.wait(lsn).unwrap(),
                    Ok(_) => {}
                    Err(error) => break error,
                }
                acknowledged.push(record(number));
                number += 1;
            };
            assert!(matches!(&cause, LogError::NoRoom { .. }) && cause.to_string().contains("no storage"), "{cause}");
            refused += 1;
            log.force().unwrap();
            assert_eq!(log.durable(), log.appended());
            files.set_faults(Faults::default());
            // Room again: at the latest when the last attempt to make a segment is over for as long as it lasted.
            while appender.append(&record(number)).is_err() {}
            acknowledged.push(record(number));
            number += 1;
        }
        assert_eq!(refused, 20);
        assert!(number > 60, "{number} records");
        full(&files);
        log.close().unwrap();
        drop((appender, log));
        let (_, found) = open(&files.after_kill(), config, Lsn::NONE).unwrap();
        assert!(found.into_iter().map(|(_, record)| record).eq(acknowledged), "records differ");
    }
}

#[test]
fn rolling_back_has_room_on_a_full_disk() {
    for threads in [false, true] {
        let files = MemoryFiles::new();
        let log = create(&files, LogConfig { undo_room: true, threads, ..tiny() });
        let mut appenders = [log.appender().unwrap(), log.appender().unwrap()];
        let mut owed = [Vec::new(), Vec::new()];
        for number in 0..400 {
            if number == 100 {
                full(&files);
            }
            let (appender, owed) = (&mut appenders[number % 2], &mut owed[number % 2]);
            if appender.append(&record(number as u64)).is_ok() {
                owed.push(record(number as u64));
                appender.set_undo_bytes(owed.iter().map(|record| record.len() as u64 + 64).sum());
            }
        }
        assert!(owed.iter().all(|owed| owed.len() > 30 && owed.len() < 200), "{:?}", owed.each_ref().map(Vec::len));
        for (appender, owed) in appenders.iter_mut().zip(&mut owed) {
            while let Some(record) = owed.pop() {
                let lsn = appender.append_undo(&record).unwrap();
                if owed.len().is_multiple_of(8) {
                    log.wait(lsn).unwrap();
                }
            }
            appender.set_undo_bytes(0);
        }
        log.force().unwrap();
    }
}

#[test]
fn many_appenders_on_a_full_disk_never_poison_the_log() {
    let files = MemoryFiles::new();
    let log = create(&files, LogConfig { threads: true, ..tiny() });
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let (log, files) = (&log, &files);
            scope.spawn(move || {
                let mut appender = log.appender().unwrap();
                for number in 0..2_000 {
                    if thread == 0 && number % 100 == 50 {
                        let full_from = (number % 200 == 50).then(|| files.operations());
                        files.set_faults(Faults { full_from, ..Faults::default() });
                    }
                    match appender.append(&record(thread << 32 | number)) {
                        Ok(lsn) if number % 5 == 0 => log.wait(lsn).unwrap(),
                        Ok(_) | Err(LogError::NoRoom { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    log.close().unwrap();
}
