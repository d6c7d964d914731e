//! Procedures that make the wrong thing of a refusal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use super::{Engine, TableKind, new_cells};
use crate::Record;
use crate::config::{Config, LogKind};
use crate::io::ManualClock;
use crate::procedure::{Stop, Transaction};
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
    Engine::new(cells, None, LogKind::Values, Box::new(ManualClock::default()), Vec::new())
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
