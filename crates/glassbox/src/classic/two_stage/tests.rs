//! A fetch stage leaves no trace, whatever user code does in it; and an execution of two stages does what one of one
//! stage does.

mod chain;
mod converted;
mod declared;
mod latches;
mod measured;
mod smallest_pool;
mod touched;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::declared::Moves;
use super::Stage;
use crate::classic::engine::Engine;
use crate::classic::engine::sessions::Sessions;
use crate::classic::ids::{PageId, TxnId};
use crate::classic::lock::{Duration, LockMode, LockName, Locks};
use crate::classic::page::miss::{self, OnMiss};
use crate::classic::page::pages::Pages;
use crate::classic::stack::{Session, Standard};
use crate::classic::transaction::StackTransaction;
use crate::config::{ClassicConfig, ExecutionPolicy};
use crate::io::{Dice, ManualClock, MemoryFiles};
use crate::procedure::{Procedure, Stop, Transaction};
use crate::record::{Direction, Text};
use crate::{Architecture, Catalog, Config, Database, Record};

/// Rows at first: more than there are pages in memory.
const ROWS: u64 = 4_000;
const SESSIONS: usize = 2;

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "parcel", key = id, index(name = by_place, columns = (place, id)))]
struct Parcel {
    id: u64,
    place: u32,
    weight: u32,
    moves: u64,
    rest: Text<96>,
}

fn parcel(id: u64) -> Parcel {
    Parcel { id, place: (id % 97) as u32, weight: 1, moves: 0, rest: Text::new("a parcel").unwrap() }
}

/// Random accesses, and perhaps a failure at the end.
#[derive(Serialize, Deserialize, Clone, Debug)]
struct Work {
    seed: u64,
    /// Rows at first.
    rows: u64,
    accesses: u32,
    ends: Ends,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
enum Ends {
    Well,
    Aborted,
    Panicked,
}

impl Procedure for Work {
    const NAME: &'static str = "work";
    type Output = u64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let mut dice = Dice(self.seed);
        let mut seen = 0;
        for _ in 0..self.accesses {
            let id = dice.below(self.rows + 200);
            match dice.below(8) {
                0 | 1 => seen += tx.get::<Parcel>(&id)?.map_or(0, |row| row.moves + 1),
                2 => {
                    seen += tx
                        .update::<Parcel, _>(&id, |row| {
                            row.moves += 1;
                            row.moves
                        })?
                        .unwrap_or(0)
                }
                3 => drop(tx.update::<Parcel, _>(&id, |row| row.place = (row.place + 1) % 97)?),
                4 if tx.get::<Parcel>(&id)?.is_none() => tx.insert(&parcel(id))?,
                5 => seen += u64::from(tx.delete::<Parcel>(&id)?),
                6 => {
                    let mut left = 5;
                    tx.scan::<Parcel>(id.., Direction::Forward, |row| {
                        (seen, left) = (seen + row.moves, left - 1);
                        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    })?;
                }
                7 => {
                    let place = dice.below(97) as u32;
                    let mut left = 3;
                    tx.scan_index::<ParcelByPlace>((place, 0)..=(place, u64::MAX), Direction::Backward, |row| {
                        (seen, left) = (seen + row.moves, left - 1);
                        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    })?;
                }
                _ => {
                    let keys: Vec<_> = (0..20).map(|_| (dice.below(self.rows), ())).collect();
                    tx.update_each::<Parcel, ()>(keys, |(), row| row.weight += 1)?;
                }
            }
        }
        match self.ends {
            Ends::Well => Ok(seen),
            Ends::Aborted => Err(Stop::abort(1, "as it was told")),
            Ends::Panicked => panic!("as it was told"),
        }
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Parcel>().procedure::<Work>().procedure::<Moves>()
}

fn database(policy: ExecutionPolicy) -> Database {
    let config = Config {
        architecture: Architecture::Classic,
        classic: ClassicConfig {
            page_bytes: 4 << 10,
            pool_bytes: 48 * (4 << 10),
            sessions: SESSIONS,
            execution: policy,
            ..ClassicConfig::default()
        },
        log_threads: false,
        ..Config::default()
    };
    let (files, clock) = (Arc::new(MemoryFiles::new()), Box::new(ManualClock::default()));
    let db = Database::open_files(files, clock, config, catalog()).unwrap();
    let load = db.bulk_load().unwrap();
    (0..ROWS).for_each(|id| load.insert(&parcel(id)).unwrap());
    load.finish().unwrap();
    db
}

/// What a fetch stage must not change.
#[derive(PartialEq)]
struct Traces {
    pages: Vec<(PageId, Vec<u8>)>,
    log_end: u64,
}

fn traces(engine: &Engine) -> Traces {
    let mut used = Vec::new();
    engine.space.for_each_used(|page| used.push(page)).unwrap();
    // Without the checksum, which is made when a page is written.
    let bytes = |page: PageId| (page, engine.pages.fix_shared(page).unwrap()[4..].to_vec());
    Traces { pages: used.into_iter().map(bytes).collect(), log_end: engine.log().appended().0 }
}

/// Runs a fetch stage of at most so many accesses.
fn in_fetch_stage<T>(
    engine: &Engine,
    session: &mut Session<Standard>,
    fetches_left: u64,
    run: impl FnOnce(&mut StackTransaction<'_, Standard>) -> T,
) -> T {
    miss::set(OnMiss::Refuse);
    let mut transaction = StackTransaction {
        engine,
        session,
        now: None,
        random: 1,
        repeated: 0,
        ended: None,
        stage: Stage::Fetch,
        accesses: 0,
        fetches_left,
        converted: None,
        writes: None,
        has_lost_changes: false,
    };
    let out = run(&mut transaction);
    miss::set(OnMiss::Read);
    out
}

/// The traces that a fetch stage of `run` leaves.
fn traces_of_fetch(engine: &Engine, run: impl FnOnce(&mut StackTransaction<'_, Standard>)) -> Vec<&'static str> {
    let before = traces(engine);
    let mut session = engine.sessions.take().unwrap();
    let _ =
        in_fetch_stage(engine, &mut session, 1_000, |transaction| catch_unwind(AssertUnwindSafe(|| run(transaction))));
    let mut left = Vec::new();
    if session.owner.count() > 0 || engine.locks.names() > 0 {
        left.push("a lock");
        engine.locks.release_all(&mut session.owner);
    }
    if session.journal.transaction() != TxnId::NONE || session.journal.changes() > 0 {
        left.push("a change in the journal");
    }
    session.pins.release(&engine.pages, &engine.pin_budget);
    if engine.pin_budget.reserved() > 0 {
        left.push("a pin");
    }
    drop(session);
    let after = traces(engine);
    if after.pages != before.pages {
        left.push("a change of a page");
    }
    if after.log_end != before.log_end {
        left.push("a log record");
    }
    left
}

#[test]
fn a_fetch_stage_leaves_no_trace() {
    let db = database(ExecutionPolicy::Conventional);
    let engine = db.inner.engine.as_classic().unwrap();
    let mut dice = Dice(1);
    for seed in 0..150 {
        let ends = [Ends::Well, Ends::Aborted, Ends::Panicked][dice.place(3)];
        let work = Work { seed, rows: ROWS, accesses: dice.below(60) as u32, ends };
        let left = traces_of_fetch(engine, |transaction| drop(work.run(transaction)));
        assert!(left.is_empty(), "{work:?} leaves {left:?}");
    }
}

#[test]
fn a_procedure_that_never_ends_is_stopped() {
    let db = database(ExecutionPolicy::Conventional);
    let engine = db.inner.engine.as_classic().unwrap();
    let mut accesses = 0;
    let left = traces_of_fetch(engine, |transaction| {
        while transaction.get::<Parcel>(&(accesses % ROWS)).is_ok() {
            accesses += 1;
        }
    });
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(accesses, 500, "each with a lookup and a row");
    // One that reads only rows of its own.
    let mut own_accesses = 0;
    let left = traces_of_fetch(engine, |transaction| {
        transaction.insert(&parcel(ROWS)).unwrap();
        while transaction.get::<Parcel>(&ROWS).is_ok() {
            own_accesses += 1;
            assert!(own_accesses <= 1_000, "its accesses are bounded");
        }
    });
    assert!(left.is_empty(), "{left:?}");
    assert!(own_accesses > 900, "{own_accesses}");
}

#[test]
fn a_fetch_stage_that_keeps_a_lock_is_caught() {
    let db = database(ExecutionPolicy::Conventional);
    let engine = db.inner.engine.as_classic().unwrap();
    let heap = engine.table::<Parcel>().heap.store();
    let left = traces_of_fetch(engine, |transaction| {
        let name = LockName::Store(heap);
        let _ = engine.locks.lock(&mut transaction.session.owner, name, LockMode::S, false, Duration::Commit);
    });
    assert_eq!(left, ["a lock"]);
    let left = traces_of_fetch(engine, |transaction| {
        transaction.stage = Stage::Operate;
        miss::set(OnMiss::Read);
        transaction.update::<Parcel, _>(&7, |row| row.moves += 1).unwrap();
        transaction.engine.abort(transaction.session).unwrap();
    });
    assert!(left.contains(&"a log record"), "{left:?}");
}

/// All rows, and what each execution answered.
fn history(policy: ExecutionPolicy) -> (Vec<Parcel>, Vec<Result<u64, String>>, u64) {
    let db = database(policy);
    let mut dice = Dice(2);
    let mut answers = Vec::new();
    for seed in 0..400 {
        let ends = if dice.one_in(5) { Ends::Aborted } else { Ends::Well };
        let work = Work { seed, rows: ROWS, accesses: dice.below(40) as u32, ends };
        answers.push(db.call(&work).map_err(|error| error.to_string()));
        let moves = Moves::random(&mut dice, 12, seed as usize % 2);
        answers.push(db.call(&moves).map_err(|error| error.to_string()));
    }
    assert_eq!(db.verify(), Vec::<String>::new());
    let engine = db.inner.engine.as_classic().unwrap();
    assert_eq!(engine.pin_budget.reserved(), 0, "{policy:?} leaves pins");
    let mut rows = Vec::new();
    db.transaction(|tx| {
        tx.scan::<Parcel>(.., Direction::Forward, |_| ControlFlow::Continue(()))?;
        Ok(())
    })
    .unwrap();
    for id in 0..ROWS + 200 {
        rows.extend(db.transaction(|tx| Ok(tx.get::<Parcel>(&id)?.copied())).unwrap());
    }
    let executed = &db.explain_execution().unwrap()[0];
    (rows, answers, executed.conversions)
}

#[test]
fn stages_change_nothing_of_what_is_answered() {
    let (rows, answers, conversions) = history(ExecutionPolicy::Conventional);
    assert!(answers.iter().filter(|answer| answer.is_ok()).count() > 200 && conversions == 0);
    for policy in [ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic, ExecutionPolicy::Hybrid(Default::default())]
    {
        let (staged_rows, staged_answers, conversions) = history(policy);
        assert_eq!(staged_answers, answers, "{policy:?}");
        assert!(staged_rows == rows, "{policy:?} leaves other rows");
        assert_eq!(conversions > 200, policy == ExecutionPolicy::Optimistic, "{policy:?}: {conversions} conversions");
    }
}
