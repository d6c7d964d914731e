//! Procedures that do not say what they touch: what a dry run finds out.

use std::sync::atomic::Ordering;

use super::engine::{CallOutcome, Ending, Engine};
use super::origin::{AdHoc, ProcedureCall};
use super::transaction::{Keep, PartitionedTransaction};
use crate::error::Error;
use crate::procedure::{DryRun, PartitionSet, Procedure, ReadWriteSet, Stop};

impl Engine {
    /// Runs a procedure that may have to be undone whatever it promises. If it is `unknown` what it touches, a dry run
    /// finds out, under the tokens that it turns out to need; then it runs for real, under the same ones.
    #[cold]
    pub(super) fn execute_keeping_undo<P: Procedure>(
        &self,
        procedure: &P,
        declared: PartitionSet,
        unknown: bool,
        mut run: impl FnMut(&mut PartitionedTransaction<'_>) -> Result<(), Stop> + Send,
        call: &ProcedureCall<'_, P>,
    ) -> Result<CallOutcome, Error> {
        let discovered = if unknown { self.discover(procedure, declared)? } else { None };
        let needed = discovered.map_or(declared, |set| set.partitions());
        let run = |transaction: &mut PartitionedTransaction<'_>| {
            let _inside = self.health().enter();
            run(transaction)
        };
        // Undo is kept. Between dry run and run another transaction may have changed what this one reads, so that it
        // needs more partitions; or the log may refuse its record.
        self.run_until_done(needed, true, true, run, call, || {
            if !unknown {
                self.misdeclared.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Dry-runs a procedure until every partition it reads is held: its read and write set; `None` when it panicked.
    pub(crate) fn discover<P: Procedure>(
        &self,
        procedure: &P,
        declared: PartitionSet,
    ) -> Result<Option<ReadWriteSet>, Error> {
        let mut held = declared;
        loop {
            let mut discovered = None;
            let mut dry = |transaction: &mut PartitionedTransaction<'_>| {
                let _inside = self.health().enter();
                let mut set = ReadWriteSet::new(self.cells.len());
                let mut dry_run = DryRun::new(transaction, &mut set);
                // A dry run does not see its own writes, so what it answers, abort included, means nothing.
                match procedure.run(&mut dry_run) {
                    Err(Stop::Retry(retry)) => return Err(Stop::Retry(retry)),
                    _ => discovered = Some(set),
                }
                Ok(())
            };
            let mut ending = None;
            self.run_holding(held, Keep::default(), true, &mut dry, &AdHoc, &mut ending);
            match ending {
                Some(Ending::Widen(more)) => held.extend(more),
                // It may panic on not finding what it would have written; what is known so far will do.
                None | Some(Ending::Panicked(_) | Ending::Aborted(..)) => return Ok(discovered),
                Some(Ending::Failed(error)) => return Err(error),
            }
        }
    }
}
