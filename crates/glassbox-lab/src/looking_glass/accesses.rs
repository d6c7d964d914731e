//! What a transaction asks of the engine: Figure 4 of the paper, counted here.
//!
//! A transaction on the engine in memory, since what a procedure asks for is the same on every engine.

use std::ops::ControlFlow;

use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::record::{Bounds, Direction, Index, Record, Timestamp};
use glassbox::{Config, Database, Error};
use glassbox_workloads::tpcc::{self, Call, Input, Kind, Scale};

use super::paper;
use super::work::{Work, Workload};
use crate::limits::measure::LOAD_SEED;
use crate::points::Points;

/// Where these numbers are; rows are calls, metrics workloads.
pub(super) const ACCESSES: &str = "calls of a transaction";

/// Transactions that are counted: each does the same but for its keys.
const TRANSACTIONS: usize = 100;

/// What was asked for so far, in the order of [`paper::CALLS`].
#[derive(Debug, Default, Clone, Copy)]
struct Asked {
    lookups: u64,
    pins: u64,
    updates: u64,
    creates: u64,
    entries: u64,
}

struct Watched<'a, T> {
    inner: &'a mut T,
    asked: &'a mut Asked,
}

impl<T: Transaction> Transaction for Watched<'_, T> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.asked.lookups += 1;
        self.asked.pins += 1;
        self.inner.get(key)
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        self.asked.lookups += 1;
        self.asked.pins += 1;
        self.asked.updates += 1;
        self.inner.update(key, change)
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.asked.creates += 1;
        self.asked.entries += 1 + R::INDEXES as u64;
        self.inner.insert(row)
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        self.asked.lookups += 1;
        self.inner.delete::<R>(key)
    }

    fn scan<R: Record>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.asked.lookups += 1;
        self.inner.scan(bounds, direction, visit)
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.asked.lookups += 1;
        self.inner.scan_index::<I>(bounds, direction, visit)
    }

    fn now(&mut self) -> Timestamp {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }
}

struct Watching<'a>(&'a Database, &'a mut Asked);

impl Call for Watching<'_> {
    type Answer = Result<(), Error>;

    fn call<P: Procedure>(&mut self, _kind: Kind, procedure: P) -> Self::Answer {
        let Self(database, asked) = self;
        database
            .transaction(|tx| {
                // A run that is repeated does not count.
                let mut of_this = **asked;
                procedure.run(&mut Watched { inner: tx, asked: &mut of_this })?;
                Ok(of_this)
            })
            .map(|of_this| **asked = of_this)
    }
}

/// Counts, and adds to `points`.
///
/// # Errors
/// When the database in memory fails.
///
/// # Panics
/// When loading does.
pub fn count_accesses(points: &mut Points, seed: u64) -> anyhow::Result<()> {
    let scale = Scale::small(1);
    let config = Config { partitions: 1, ..Config::default() };
    let database = Database::in_memory(config, tpcc::catalog())?;
    let load = database.bulk_load()?;
    tpcc::load(&scale, LOAD_SEED, 1, || &load, |_| ())?;
    load.finish()?;
    let mut work = Work::new(&scale, seed);
    for workload in [Workload::NewOrder, Workload::Payment] {
        let mut asked = Asked::default();
        let inputs: Vec<Input> = work.draw(workload, TRANSACTIONS);
        inputs.into_iter().try_for_each(|input| input.give(&mut Watching(&database, &mut asked)))?;
        let Asked { lookups, pins, updates, creates, entries } = asked;
        for ((call, ..), count) in paper::CALLS.into_iter().zip([lookups, pins, updates, creates, entries]) {
            let per = count as f64 / TRANSACTIONS as f64;
            points.put(ACCESSES, call, 0.0, workload.name(), per, "calls/transaction");
        }
    }
    Ok(())
}
