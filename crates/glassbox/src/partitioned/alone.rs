//! One partition that one thread has to itself: nobody asks for its token, and nothing is logged.
//!
//! What is left of an engine when all is taken out that does not serve the procedure. The engine with its log off would
//! run the same, but a program with it has the log in it, and anybody may share it: here whoever runs a procedure
//! borrows the partition exclusively, so the compiler sees to what tokens do elsewhere.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::any_table::TableKind;
use super::engine::answering;
use super::numbers::Numbers;
use super::origin::Call;
use super::partition::Cell;
use super::prefetch::prefetch;
use super::transaction::{Keep, PartitionedTransaction};
use super::whole::new_cells;
use crate::config::Config;
use crate::error::Error;
use crate::failure::BrokenPromise;
use crate::health::Health;
use crate::io::Clock;
use crate::procedure::{AbortReason, Aborts, PartitionSet, Procedure, Stop};
use crate::record::Record;

/// The partition. Its user borrows it exclusively, which is all that a token stands for.
pub(crate) struct Alone {
    cells: Box<[Cell]>,
    procedures: Numbers,
    clock: Box<dyn Clock>,
    health: Health,
}

impl Alone {
    /// Empty, with these tables and procedures; each table and index may take `table_bytes`.
    ///
    /// # Errors
    /// When the system does not give address space.
    pub(crate) fn new(
        tables: &[TableKind],
        procedures: &[(TypeId, u16)],
        table_bytes: usize,
        clock: Box<dyn Clock>,
    ) -> Result<Self, Error> {
        let numbers: Vec<_> = (0..tables.len() as u16).collect();
        let cells = new_cells(tables, &numbers, &Config { partitions: 1, table_bytes, ..Config::default() })?;
        let (procedures, health) = (Numbers::new(procedures), Health::default());
        Ok(Self { cells, procedures, clock, health })
    }

    /// Runs a procedure, whose output or abort becomes the `answer`. Its panic is given back, for the caller to go on
    /// with when it has let go of what it holds.
    ///
    /// # Errors
    /// When the catalog does not have it, or a procedure, this or one before, has ended behind a write although it
    /// promised not to.
    #[inline]
    pub(crate) fn execute<P: Procedure>(
        &mut self,
        procedure: &P,
        answer: &mut Result<P::Output, Error>,
    ) -> Result<thread::Result<()>, Error> {
        let Some(number) = self.procedures.of::<P>() else { return Err(Error::UnknownProcedure { name: P::NAME }) };
        self.health.check()?;
        let keep = Keep { undo: P::ABORTS == Aborts::Anytime, values: false };
        // SAFETY: the partition is borrowed exclusively.
        let mut transaction = unsafe {
            let scratch = &mut *self.cells[0].scratch();
            PartitionedTransaction::new(&self.cells, scratch, &*self.clock, PartitionSet::of(0), 0, keep)
        };
        let (running, call, mut run) = (&mut transaction, Call { procedure, number }, answering(procedure, answer));
        let ended = catch_unwind(AssertUnwindSafe(move || {
            // SAFETY: as above.
            unsafe { prefetch(&mut running.scratch.lookups, running.cells, PartitionSet::of(0), 0, &call) };
            let told = run(running);
            running.outcome(told)
        }));
        if let Ok(Ok(())) = ended {
            transaction.scratch.undo.clear();
            return Ok(Ok(()));
        }
        let broken = (transaction.wrote && !keep.undo).then_some(P::NAME);
        Ok(self.take_back(ended, broken)?.map(|abort| *answer = Err(abort)))
    }

    /// Undoes a run that did not end well, unless nothing was kept to do so, which breaks the promise of the procedure
    /// `broken`; its abort or panic.
    #[cold]
    fn take_back(
        &mut self,
        ended: thread::Result<Result<(), Stop>>,
        broken: Option<&'static str>,
    ) -> Result<thread::Result<Error>, Error> {
        // SAFETY: the partition is borrowed exclusively.
        unsafe { &mut *self.cells[0].scratch() }.undo.undo();
        let stop = match ended {
            Ok(ended) => ended.expect_err("it did not end well"),
            Err(panic) => {
                if let Some(procedure) = broken {
                    self.health.stop(BrokenPromise::panicked(procedure, &*panic).to_string());
                }
                return Ok(Err(panic));
            }
        };
        if let Some(procedure) = broken {
            let broken = BrokenPromise::stopped(procedure, &stop);
            self.health.stop(broken.to_string());
            return Err(broken.into());
        }
        let reason = AbortReason::of(stop).expect("there is no other partition");
        Ok(Ok(reason.into()))
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::TableFull`].
    pub(crate) fn insert<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        let table = self.cells[0].get_mut().table::<R>();
        table.insert(row).map(drop).map_err(|refused| table.refusal(refused, row, None).into())
    }

    /// A number of all rows, equal for equal contents.
    pub(crate) fn digest(&mut self) -> u64 {
        let tables = self.cells[0].get_mut().tables.iter().flatten();
        tables.fold(0, |sum, table| sum.wrapping_add(table.digest()))
    }

    /// What is wrong with indexes.
    pub(crate) fn verify(&mut self) -> Vec<String> {
        let tables = self.cells[0].get_mut().tables.iter().flatten();
        tables.filter_map(|table| table.verify().err()).collect()
    }
}
