//! The pages that an optimistic operate stage has touched before it is converted: they are pinned with those that the
//! fetch stage reads, so the next operate stage reads nothing, whatever other sessions bring in meanwhile.

use super::{Parcel, ROWS, database};
use crate::Database;
use crate::classic::engine::Engine;
use crate::classic::ids::PageId;
use crate::classic::page::miss;
use crate::classic::page::pages::Pages;
use crate::classic::stack::Standard;
use crate::classic::transaction::StackTransaction;
use crate::config::ExecutionPolicy;
use crate::procedure::Transaction;

/// Rows that are far apart, in leaves and on pages of their own: the first two are touched before the third is missing.
const TOUCHED: [u64; 2] = [0, 2_000];
const MISSING: u64 = ROWS - 1;

/// Another session reads the rows between those of the test, which are on more pages than there is room for.
fn want_all_frames(db: &Database) {
    std::thread::scope(|scope| {
        let others = [200..1_800, 2_200..ROWS - 200];
        let read = |id| db.transaction(|tx| tx.get::<Parcel>(&id).map(drop)).unwrap();
        scope.spawn(move || others.into_iter().flatten().for_each(read));
    });
}

/// The pages among these that are not in memory.
fn missing(engine: &Engine, pages: &[PageId]) -> Vec<PageId> {
    pages.iter().copied().filter(|page| !engine.pages.is_resident(*page)).collect()
}

/// Observations of the runs of a transaction that is converted at its third row.
#[derive(Debug, Default)]
struct Seen {
    /// Pages that each run has read.
    reads: Vec<u64>,
    /// The pages that the first run has touched before its conversion.
    touched: Vec<PageId>,
    /// The ones that were missing after the conversion, once others had wanted all frames.
    missing: Vec<PageId>,
}

fn converted(db: &Database, are_evicted_before: bool) -> Seen {
    let engine = db.inner.engine.as_classic().unwrap();
    let mut seen = Seen::default();
    let run = |tx: &mut StackTransaction<'_, Standard>| {
        let is_first = seen.reads.is_empty();
        let before = miss::reads();
        TOUCHED.iter().try_for_each(|id| tx.get::<Parcel>(id).map(drop))?;
        if is_first {
            seen.touched = miss::fixed_pages();
        }
        if is_first && are_evicted_before {
            want_all_frames(db);
        }
        tx.get::<Parcel>(&MISSING)?;
        if is_first {
            want_all_frames(db);
            seen.missing = missing(engine, &seen.touched);
        }
        seen.reads.push(miss::reads() - before);
        Ok(())
    };
    engine.execute_adhoc(run).unwrap();
    seen
}

#[test]
fn a_conversion_pins_the_pages_touched_before_it() {
    for are_evicted_before in [false, true] {
        let db = database(ExecutionPolicy::Optimistic);
        let engine = db.inner.engine.as_classic().unwrap();
        want_all_frames(&db);
        db.transaction(|tx| TOUCHED.iter().try_for_each(|id| tx.get::<Parcel>(id).map(drop))).unwrap();
        let seen = converted(&db, are_evicted_before);
        // A leaf and a page of rows for each.
        assert!(seen.touched.len() >= 4 && seen.missing.is_empty(), "{seen:?}");
        let fetched = if are_evicted_before { 5 } else { 1 };
        assert!(seen.reads.len() == 2 && seen.reads[0] >= fetched && seen.reads[1] == 0, "{seen:?}");
        // Without pins they do not stay.
        assert_eq!(engine.pin_budget.reserved(), 0);
        want_all_frames(&db);
        assert!(missing(engine, &seen.touched).len() >= 4, "{seen:?}");
    }
}
