//! Procedures that do not declare their keys: a dry run finds their partitions.

use std::any::Any;
use std::sync::atomic::Ordering;

use super::engine::{CallOutcome, Ending, Engine};
use super::origin::{AnyBody, Origin, ProcedureCall};
use super::transaction::{Keep, PartitionedTransaction};
use crate::config::LogKind;
use crate::error::Error;
use crate::executed::RunningCall;
use crate::partitioned::log_records::record_buffer::RecordTooLarge;
use crate::procedure::{DryRun, MAKES_TRIAL_RUNS, PartitionSet, PrivateWrites, Procedure, ReadWriteSet, Stop};

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
        let mut needed = declared;
        if unknown
            && MAKES_TRIAL_RUNS
            && let Discovered::All(set) | Discovered::Exhausted(set) = self.discover(procedure, declared)?
        {
            // Without them, the real run finds its partitions one after the other.
            needed = set.partitions();
        }
        let mut run = |transaction: &mut PartitionedTransaction<'_>| {
            let _inside = self.health().enter();
            run(transaction)
        };
        // Undo is kept. Between dry run and run another transaction may have changed what this one reads, so that it
        // needs more partitions; or the log may refuse its record.
        self.run_keeping_undo(needed, &mut run, call, || {
            if !unknown {
                self.misdeclared.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Takes the tokens and makes a dry run; its ending, if it has one.
    fn run_trial(&self, held: PartitionSet, mut dry: &mut AnyBody<'_>, trial: &Trial) -> Option<Ending> {
        let mut ending = None;
        self.run_holding(held, Keep::default(), true, &mut dry, trial, &mut ending);
        ending
    }

    /// Dry-runs a procedure until every partition that it reads is held.
    pub(crate) fn discover<P: Procedure>(&self, procedure: &P, declared: PartitionSet) -> Result<Discovered, Error> {
        let code = self.procedures.of::<P>().map_or(RunningCall::UNNAMED, RunningCall::procedure);
        let trial = Trial { name: P::NAME, code };
        let mut held = declared;
        loop {
            let mut discovered = None;
            let mut dry = |transaction: &mut PartitionedTransaction<'_>| {
                let _inside = self.health().enter();
                let mut set = ReadWriteSet::new(self.cells.len());
                let mut writes = PrivateWrites::default();
                let mut dry_run = DryRun::new(transaction, &mut writes, &mut set);
                let ended = procedure.run(&mut dry_run);
                let is_exhausted = dry_run.is_exhausted();
                match ended {
                    Err(Stop::Retry(retry)) if !is_exhausted => return Err(Stop::Retry(retry)),
                    _ if is_exhausted => discovered = Some(Discovered::Exhausted(set)),
                    _ => discovered = Some(Discovered::All(set)),
                }
                Ok(())
            };
            match self.run_trial(held, &mut dry, &trial) {
                Some(Ending::Widen(more)) => held.extend(more),
                None => return Ok(discovered.expect("a dry run that ended has found its keys")),
                Some(Ending::Panicked(panic)) => return Ok(Discovered::Panicked(panic)),
                Some(Ending::Failed(error)) => return Err(error),
                Some(Ending::Aborted(..)) => unreachable!("the aborts of a dry run are its end"),
            }
        }
    }
}

/// The keys that a dry run found.
pub(crate) enum Discovered {
    /// The keys of a run up to its end.
    All(ReadWriteSet),
    /// The keys of a run up to its last access.
    Exhausted(ReadWriteSet),
    /// The procedure panicked, as its real run will.
    Panicked(Box<dyn Any + Send>),
}

/// A dry run of the procedure of this name: nothing to declare, to log, or to count.
struct Trial {
    name: &'static str,
    code: u32,
}

impl Origin for Trial {
    fn is_counted(&self) -> bool {
        false
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn code(&self) -> u32 {
        self.code
    }

    fn values(&self, _log: Option<LogKind>) -> bool {
        false
    }

    fn write_command(
        &self,
        _transaction: &mut PartitionedTransaction<'_>,
        _max_bytes: usize,
    ) -> Result<(), RecordTooLarge> {
        unreachable!("a dry run changes nothing");
    }
}
