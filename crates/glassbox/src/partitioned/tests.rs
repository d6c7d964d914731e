//! Procedures that make the wrong thing of a refusal.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{Engine, TableKind, new_cells};
use crate::Record;
use crate::answer::Answer;
use crate::config::Config;
use crate::error::Error;
use crate::io::ManualClock;
use crate::procedure::{AbortReason, Aborts, Declared, KeySet, Procedure, Stop, TableFull, Transaction};
use crate::record::Bytes;

#[derive(Record, Clone, Copy)]
#[record(table = "note", key = id, replicated)]
struct Note {
    id: u32,
    text: Bytes<100>,
}

const fn note(id: u32) -> Note {
    Note { id, text: Bytes([0; 100]) }
}

/// Two partitions, after `prepare`.
fn engine(prepare: impl FnOnce(&mut [super::Cell])) -> Engine {
    let config = Config { partitions: 2, table_bytes: 1 << 20, ..Config::default() };
    let mut cells = new_cells(&[TableKind::of::<Note>()], &[0], &config).unwrap();
    prepare(&mut cells);
    Engine::new(cells, None, &config, Box::new(ManualClock::default()), &[(TypeId::of::<Swallow>(), 0)]).unwrap()
}

#[test]
fn a_retry_of_another_run_is_not_believed() {
    let (engine, kept) = (engine(|_| ()), Mutex::new(None));
    let keeping = engine.execute_adhoc(|tx| {
        let inserted = tx.insert(&note(1));
        kept.lock().unwrap().get_or_insert(inserted.clone());
        inserted
    });
    keeping.unwrap().outcome.unwrap();
    let kept = kept.into_inner().unwrap().unwrap();
    assert!(matches!(kept, Err(Stop::Retry(_))), "the other partition was not held");
    let answering = catch_unwind(AssertUnwindSafe(|| engine.execute_adhoc(|_| kept.clone()).map(drop)));
    let words = answering.expect_err("it would run for ever").downcast::<&str>().unwrap();
    assert!(words.contains("kept a `Stop::Retry`"), "{words}");
    engine.execute_adhoc(|tx| tx.delete::<Note>(&1).map(drop)).unwrap().outcome.unwrap();
}

#[test]
fn what_was_missing_counts_whatever_the_procedure_says() {
    let engine = engine(|_| ());
    let hiding = engine.execute_adhoc(|tx| tx.insert(&note(1)).map_err(|_| Stop::abort(1, "it did not work")));
    hiding.unwrap().outcome.unwrap();
}

/// An engine whose second copy of the table has no room for the rows below 1000; the first has.
fn engine_with_a_full_copy() -> Engine {
    engine(|cells| {
        let table = cells[1].get_mut().table::<Note>();
        assert!((1000..1_000_000).any(|id| table.insert(&note(id)).is_err()), "it never gets full");
    })
}

/// Whether the first copy has the row.
fn has(engine: &Engine, id: u32) -> bool {
    let mut found = false;
    let reading = engine.execute_adhoc(|tx| {
        found = tx.get::<Note>(&id)?.is_some();
        Ok(())
    });
    reading.unwrap().outcome.unwrap();
    found
}

#[test]
fn a_row_that_one_copy_has_no_room_for_is_in_none() {
    let engine = engine_with_a_full_copy();
    let swallowing = engine.execute_adhoc(|tx| {
        let _ = tx.insert(&note(1));
        Ok(())
    });
    let reason = swallowing.unwrap().outcome.unwrap_err();
    assert_eq!(reason, AbortReason::TableFull(TableFull::of::<Note>()));
    assert!(!has(&engine, 1));
}

/// Promises never to abort, and swallows that it should.
#[derive(Serialize, Deserialize)]
struct Swallow;

impl Procedure for Swallow {
    const NAME: &'static str = "swallow";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let _ = tx.insert(&note(1));
        Ok(())
    }

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.insert::<Note>(&1);
        Declared::Complete
    }
}

#[test]
fn where_nothing_can_be_undone_copies_that_differ_stop_the_database() {
    let engine = engine_with_a_full_copy();
    let error = engine.execute(&Swallow, &mut Answer::Empty).unwrap_err();
    assert!(matches!(&error, Error::BrokenPromise(broken) if broken.event.contains("table \"note\"")), "{error}");
    let error = engine.execute(&Swallow, &mut Answer::Empty).unwrap_err();
    assert!(matches!(&error, Error::Stopped { reason } if reason.contains("table \"note\"")), "{error}");

    let engine = engine_with_a_full_copy();
    engine.health().begin_loading().unwrap();
    engine.load_row(&note(1)).unwrap_err();
    let error = engine.check_whole(true).unwrap_err();
    assert!(matches!(&error, Error::Stopped { reason } if reason.contains("table `note`")), "{error}");
}
