//! One partition that one thread has to itself, without a token and without a log.
//!
//! This is the engine without every part that does not serve the procedure. The engine with its log off would run the
//! same, but a program with it contains the log, and threads may share it: here the caller borrows the partition
//! exclusively, so the compiler ensures what tokens ensure elsewhere.

use std::any::TypeId;
use std::thread;

use super::held::{Cell, Hold};
use super::numbers::ProcedureNumbers;
use super::origin::ProcedureCall;
use super::run::{Cause, Failed, run_once};
use super::transaction::{Keep, PartitionedTransaction};
use crate::answer::{Answer, run_in};
use crate::config::Config;
use crate::error::Error;
use crate::health::Health;
use crate::io::Clock;
use crate::partitioned::recovery::whole::new_cells;
use crate::partitioned::storage::any_table::TableKind;
use crate::procedure::{AbortReason, Aborts, Procedure};
use crate::record::Record;

/// The partition. Its user borrows it exclusively, which is all that a token stands for.
pub(crate) struct Alone {
    cells: Box<[Cell]>,
    procedures: ProcedureNumbers,
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
        let (procedures, health) = (ProcedureNumbers::new(procedures), Health::default());
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
        answer: &mut Answer<P::Output>,
    ) -> Result<thread::Result<()>, Error> {
        let Some(number) = self.procedures.of::<P>() else { return Err(Error::UnknownProcedure { name: P::NAME }) };
        self.health.check()?;
        let keep = Keep { undo: P::ABORTS == Aborts::Anytime, ..Keep::default() };
        let mut transaction = PartitionedTransaction::new(Hold::borrowed(&mut self.cells), &*self.clock, keep);
        let ended = run_once(&mut transaction, &ProcedureCall { procedure, number }, |running| {
            let returned = run_in(answer, procedure, running);
            running.outcome(returned)
        });
        transaction.changes.scratch.undo.clear();
        match ended {
            Ok(()) => Ok(Ok(())),
            Err(failed) => Ok(self.failed(failed, P::NAME)?.map(|abort| *answer = Answer::Failed(abort))),
        }
    }

    /// The abort or panic of a run that was undone, or, if its promise is broken, should have been.
    #[cold]
    fn failed(&mut self, failed: Failed, procedure: &'static str) -> Result<thread::Result<Error>, Error> {
        let broken = failed.broken_promise(procedure);
        if let Some(broken) = &broken {
            self.health.stop(broken.to_string());
        }
        match (failed.cause, broken) {
            (Cause::Panicked(panic), _) => Ok(Err(panic)),
            (Cause::Stopped(_), Some(broken)) => Err(broken.into()),
            (Cause::Stopped(stop), None) => Ok(Ok(AbortReason::of(stop).expect("there is no other partition").into())),
        }
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

    /// The defects of indexes.
    pub(crate) fn verify(&mut self) -> Vec<String> {
        let tables = self.cells[0].get_mut().tables.iter().flatten();
        tables.filter_map(|table| table.verify().err()).collect()
    }
}
