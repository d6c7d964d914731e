//! TPC-C on a [`Database`]: the population, batches of transactions, the checks.
//!
//! The population and the conditions are generic over the engine; here they are compiled for a database once, for all
//! programs.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use glassbox::procedure::Procedure;
use glassbox::record::Record;
use glassbox::{BulkLoad, Database, Error, Ticket};

use super::conditions::{self, Report};
use super::inputs::{Call, Input};
use super::loader::load;
use super::mix::Kind;
use super::population::{self, Sink};
use super::scale::Scale;

/// Rows between two reports of progress by a thread that loads.
const ROWS_BETWEEN_REPORTS: u64 = 4_096;

/// A bulk load that reports its progress, and stops when it is asked to.
struct ReportingLoad<'a> {
    bulk: &'a BulkLoad<'a>,
    progress: &'a (dyn Fn(u64) -> bool + Sync),
    stopped: &'a AtomicBool,
    rows: u64,
}

/// The end of an incomplete load.
enum LoadEnd {
    Stopped,
    Failed(Error),
}

impl Sink for ReportingLoad<'_> {
    type Error = LoadEnd;

    #[inline]
    fn row<R: Record>(&mut self, row: &R) -> Result<(), LoadEnd> {
        self.bulk.insert(row).map_err(LoadEnd::Failed)?;
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_BETWEEN_REPORTS) && !(self.progress)(ROWS_BETWEEN_REPORTS) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { Err(LoadEnd::Stopped) } else { Ok(()) }
    }
}

/// Adds the initial rows to a bulk load, in a number of threads. `progress` receives numbers of rows that were added,
/// and stops the load by `false`. Returns whether the load is complete.
///
/// # Errors
/// When the engine refuses a row.
///
/// # Panics
/// When the scale is impossible ([`Scale::check`]) or there are no threads.
pub fn load_database(
    bulk: &BulkLoad<'_>,
    scale: &Scale,
    seed: u64,
    threads: usize,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<bool, Error> {
    let stopped = &AtomicBool::new(false);
    match load(scale, seed, threads, || ReportingLoad { bulk, progress, stopped, rows: 0 }) {
        Ok(()) => Ok(true),
        Err(LoadEnd::Stopped) => Ok(false),
        Err(LoadEnd::Failed(error)) => Err(error),
    }
}

/// The scale of a database's population; `None` if it has none.
///
/// # Errors
/// When the database cannot run a transaction.
pub fn scale_of_database(db: &Database) -> Result<Option<Scale>, Error> {
    db.transaction(|tx| population::stored_scale(tx))
}

/// Checks all consistency conditions.
///
/// # Errors
/// When the database cannot run a transaction.
pub fn check_database(db: &Database, scale: &Scale) -> Result<Vec<Report>, Error> {
    db.transaction(|tx| conditions::check_all(tx, scale))
}

/// The number of orders that were entered since the population.
///
/// # Errors
/// When the database cannot run a transaction.
pub fn orders_in_database(db: &Database, scale: &Scale) -> Result<u64, Error> {
    db.transaction(|tx| conditions::orders_entered(tx, scale))
}

/// A client that calls without pauses.
pub struct BatchClient<'a> {
    db: &'a Database,
    in_flight: usize,
    /// Transactions in flight: one less than may be, as the next is submitted before the oldest is waited for.
    tickets: Vec<Ticket<'a, ()>>,
    /// The oldest, if all places are in use.
    oldest: usize,
}

impl<'a> BatchClient<'a> {
    /// A client with at most `in_flight` transactions in flight.
    pub fn new(db: &'a Database, in_flight: usize) -> Self {
        Self { db, in_flight, tickets: Vec::with_capacity(in_flight), oldest: 0 }
    }

    /// Runs the inputs; the last of them may be in flight afterwards. One transaction at a time needs no ticket.
    ///
    /// # Errors
    /// When a transaction fails or aborts.
    pub fn run(&mut self, inputs: &[Input]) -> Result<(), Error> {
        if self.in_flight == 1 { call_each(self.db, inputs) } else { self.submit_each(inputs) }
    }

    fn submit_each(&mut self, inputs: &[Input]) -> Result<(), Error> {
        for input in inputs {
            let ticket = input.give(&mut Submitting(self.db))?;
            if self.tickets.len() + 1 < self.in_flight {
                self.tickets.push(ticket);
                continue;
            }
            std::mem::replace(&mut self.tickets[self.oldest], ticket).wait()?;
            self.oldest = if self.oldest + 1 == self.tickets.len() { 0 } else { self.oldest + 1 };
        }
        Ok(())
    }

    /// Waits for those in flight.
    ///
    /// # Errors
    /// When a transaction fails or aborts.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.oldest = 0;
        self.tickets.drain(..).try_for_each(Ticket::wait)
    }
}

fn call_each(db: &Database, inputs: &[Input]) -> Result<(), Error> {
    inputs.iter().try_for_each(|input| input.give(&mut Calling(db)))
}

struct Calling<'a>(&'a Database);

impl Call for Calling<'_> {
    type Answer = Result<(), Error>;

    #[inline]
    fn call<P: Procedure + Copy>(&mut self, _kind: Kind, procedure: &P) -> Self::Answer {
        // By reference: moving the output is the caller's cost.
        self.0.call_with(procedure, |output| _ = black_box(output))
    }
}

/// Submits a transaction whose output is not kept.
pub(super) struct Submitting<'a>(pub(super) &'a Database);

impl<'a> Call for Submitting<'a> {
    type Answer = Result<Ticket<'a, ()>, Error>;

    #[inline(always)]
    fn call<P: Procedure + Copy>(&mut self, _kind: Kind, procedure: &P) -> Self::Answer {
        self.0.submit_with(*procedure, |output| _ = black_box(output))
    }
}
