//! A disk that is full for a while: what needs room is refused, and nothing else.

use std::sync::Mutex;

use glassbox::io::{Faults, MemoryFiles};
use glassbox::{Config, Error, LogKind, Transaction};
use glassbox_testing::ModelDatabase;
use glassbox_testing::check::{difference, of_engine, of_model};
use glassbox_testing::dice::Dice;
use glassbox_testing::history::{Op, in_short, open, tiny, tiny_classic};
use glassbox_testing::script::CRASHES;
use glassbox_testing::steps::Kind;
use glassbox_testing::tables::{Note, TestRow};

/// The engines, with a log that takes the largest flood as one record.
fn engines() -> [Config; 4] {
    [tiny(1, LogKind::Values), tiny(2, LogKind::Values), tiny(2, LogKind::Commands), tiny_classic()]
        .map(|config| config.with_segment_bytes(16 << 10).with_log_buffer_bytes(64 << 10))
}

fn fill_up(files: &MemoryFiles) {
    files.set_faults(Faults { full_from: Some(files.operations()), ..Faults::default() });
}

/// One call; floods among them, which need new pages.
fn call(dice: &mut Dice) -> Op {
    if dice.one_in(6) {
        return Op::flood(dice);
    }
    loop {
        if let op @ Op::Call(..) = Op::transaction(dice) {
            return op;
        }
    }
}

#[test]
fn a_full_disk_refuses_what_needs_room_and_stops_nothing() {
    for (config, seed) in engines().into_iter().flat_map(|config| [1, 2, 3].map(|seed| (config.clone(), seed))) {
        let engine = in_short(&config);
        let (files, mut dice, mut model) = (MemoryFiles::new(), Dice(seed), ModelDatabase::new());
        let database = open(&files, config.clone(), true).unwrap();
        let mut refused = 0;
        for round in 0..8 {
            for _ in 0..20 {
                let op = call(&mut dice);
                let (answers, done) = op.on_engine(&database);
                done.unwrap_or_else(|error| panic!("{engine}, round {round}, with room: {error}"));
                assert_eq!(answers, op.on_model(&mut model, |_| ()));
            }
            fill_up(&files);
            let mut refused_now = 0;
            while refused_now < 15 {
                let op = call(&mut dice);
                match op.on_engine(&database) {
                    (_, Err(Error::NoRoom { cause })) => {
                        assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
                        refused_now += 1;
                        let found = of_engine(&database).expect("reading goes on");
                        assert_eq!(
                            difference(&found, &of_model(&mut model)),
                            None,
                            "{engine}: a refused call left something"
                        );
                    }
                    (answers, Ok(())) => assert_eq!(answers, op.on_model(&mut model, |_| ())),
                    (_, Err(error)) => panic!("{engine}, round {round}: {error}"),
                }
            }
            refused += refused_now;
            assert_eq!(database.verify(), Vec::<String>::new());
            files.set_faults(Faults::default());
            // An attempt to make a file is repeated at the latest after as long as the last one lasted.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(refused, 8 * 15);
        fill_up(&files);
        database.close().unwrap();
        for mode in CRASHES {
            let found = open(&files.after_crash(mode, 1), config.clone(), true).unwrap();
            assert_eq!(difference(&of_engine(&found).unwrap(), &of_model(&mut model)), None, "{engine} {mode:?}");
        }
    }
}

/// A checkpoint needs a new file: the partitioned engine's for its rows, and each engine's for the manifest.
#[test]
fn a_checkpoint_on_a_full_disk_stops_nothing() {
    for config in engines() {
        let (files, mut dice) = (MemoryFiles::new(), Dice(4));
        let database = open(&files, config.clone(), true).unwrap();
        (0..20).for_each(|_| call(&mut dice).on_engine(&database).1.unwrap());
        fill_up(&files);
        let mut refused = 0;
        while refused < 10 {
            refused += u32::from(call(&mut dice).on_engine(&database).1.is_err());
        }
        database.checkpoint().expect_err("it needs a file");
        files.set_faults(Faults::default());
        std::thread::sleep(std::time::Duration::from_millis(5));
        database.checkpoint().unwrap();
        (0..20).for_each(|_| call(&mut dice).on_engine(&database).1.unwrap());
        database.close().unwrap();
    }
}

#[test]
fn a_database_whose_process_died_on_a_full_disk_opens_on_a_full_disk() {
    for (config, seed) in engines().into_iter().flat_map(|config| [1, 2, 3].map(|seed| (config.clone(), seed))) {
        let engine = in_short(&config);
        let (files, mut dice) = (MemoryFiles::new(), Dice(seed));
        let database = open(&files, config.clone(), true).unwrap();
        (0..20).for_each(|_| call(&mut dice).on_engine(&database).1.unwrap());
        fill_up(&files);
        while call(&mut dice).on_engine(&database).1.is_ok() {}
        let right = of_engine(&database).unwrap();
        // Killed in the middle of a transaction, as far as there is room for one, and before it.
        let killed = Mutex::new(vec![files.after_kill()]);
        let unfinished = database.transaction(|tx| {
            for number in 0..200 {
                let mut row = Note::make(5 * number, 7);
                row.place = 999;
                tx.insert(&row)?;
                killed.lock().unwrap().push(files.after_kill());
            }
            Ok(())
        });
        assert!(unfinished.is_err());
        for found in killed.into_inner().unwrap().into_iter().step_by(5) {
            fill_up(&found);
            let database = open(&found, config.clone(), true).unwrap_or_else(|error| panic!("{engine}: {error}"));
            assert_eq!(difference(&of_engine(&database).unwrap(), &right), None, "{engine}");
            assert_eq!(database.verify(), Vec::<String>::new());
            let flood = Op::flood_of(&mut dice, Kind::TryInsert);
            let refused = (0..50).find_map(|_| flood.on_engine(&database).1.err());
            assert!(matches!(refused, None | Some(Error::NoRoom { .. })), "{engine}: {refused:?}");
            found.set_faults(Faults::default());
            std::thread::sleep(std::time::Duration::from_millis(2));
            flood.on_engine(&database).1.unwrap();
        }
    }
}
