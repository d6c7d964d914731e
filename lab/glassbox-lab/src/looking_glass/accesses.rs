//! The calls of a transaction to the engine: Figure 4 of the paper, counted here.
//!
//! They are counted on the main-memory engine, since a procedure makes the same calls on every engine.

use std::ops::ControlFlow;

use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};
use glassbox::{Config, Database, Error};
use glassbox_workloads::tpcc::{self, Call, Input, Kind, Scale};

use super::paper;
use crate::points::Points;
use crate::workload::{Workload, WorkloadInputs};

/// The figure of these numbers; rows are calls, metrics workloads.
pub(super) const ACCESSES: &str = "calls of a transaction";

/// Counted transactions: all make the same calls, with other keys.
const TRANSACTIONS: usize = 100;

/// The calls so far, in the order of [`paper::CALLS`].
#[derive(Debug, Default, Clone, Copy)]
struct AccessCounts {
    lookups: u64,
    pins: u64,
    updates: u64,
    creates: u64,
    entries: u64,
}

struct CountingTransaction<'a, T> {
    inner: &'a mut T,
    counts: &'a mut AccessCounts,
}

impl<T: Transaction> Transaction for CountingTransaction<'_, T> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.counts.lookups += 1;
        self.counts.pins += 1;
        self.inner.get(key)
    }

    fn get_for_update<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.counts.lookups += 1;
        self.counts.pins += 1;
        self.inner.get_for_update(key)
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        self.counts.lookups += 1;
        self.counts.pins += 1;
        self.counts.updates += 1;
        self.inner.update(key, change)
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.counts.creates += 1;
        self.counts.entries += 1 + R::INDEXES as u64;
        self.inner.insert(row)
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        self.counts.lookups += 1;
        self.inner.delete::<R>(key)
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.counts.lookups += 1;
        self.inner.scan(bounds, direction, visit)
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.counts.lookups += 1;
        self.inner.scan_index::<I>(bounds, direction, visit)
    }

    fn scan_for_update<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.counts.lookups += 1;
        self.inner.scan_for_update(bounds, direction, visit)
    }

    fn scan_index_for_update<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.counts.lookups += 1;
        self.inner.scan_index_for_update::<I>(bounds, direction, visit)
    }

    fn now(&mut self) -> Timestamp {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }
}

struct CountingCaller<'a>(&'a Database, &'a mut AccessCounts);

impl Call for CountingCaller<'_> {
    type Answer = Result<(), Error>;

    fn call<P: Procedure + Copy>(&mut self, _kind: Kind, procedure: &P) -> Self::Answer {
        let Self(database, counts) = self;
        database
            .transaction(|tx| {
                // The calls of a run that is repeated are discarded.
                let mut of_this = **counts;
                procedure.run(&mut CountingTransaction { inner: tx, counts: &mut of_this })?;
                Ok(of_this)
            })
            .map(|of_this| **counts = of_this)
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
    let config = Config::default().with_partitions(1);
    let database = Database::in_memory(config, tpcc::catalog())?;
    let load = database.bulk_load()?;
    tpcc::load_database(&load, &scale, tpcc::LOAD_SEED, 1, &|_| true)?;
    load.finish()?;
    let mut work = WorkloadInputs::new(&scale, seed);
    for workload in [Workload::NewOrder, Workload::Payment] {
        let mut counts = AccessCounts::default();
        let inputs: Vec<Input> = work.draw(workload, TRANSACTIONS);
        inputs.into_iter().try_for_each(|input| input.give(&mut CountingCaller(&database, &mut counts)))?;
        let AccessCounts { lookups, pins, updates, creates, entries } = counts;
        for ((call, ..), count) in paper::CALLS.into_iter().zip([lookups, pins, updates, creates, entries]) {
            let per = count as f64 / TRANSACTIONS as f64;
            points.put(ACCESSES, call, 0.0, workload.name(), per, "calls/transaction");
        }
    }
    Ok(())
}
