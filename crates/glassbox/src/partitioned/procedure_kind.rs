//! A procedure whose type is not known here: what a catalog keeps of it, and how a logged call is run again.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::held::Hold;
use super::origin::{AnyBody, Origin, ProcedureCall};
use super::run::{Cause, run_once};
use super::shard::ShardProcedure;
use super::transaction::{Keep, PartitionedTransaction};
use crate::answer::{OutputSlot, discard, run_in};
use crate::io::Clock;
use crate::partitioned::log_records::command::{CommandHead, digest_of_changes};
use crate::partitioned::log_records::values::VALUES;
use crate::partitioned::recovery::replay_error::ReplayError;
use crate::procedure::{AbortReason, PartitionSet, Partitions, Procedure, Stop};

/// Which partitions a call needs, of so many; `None`: any may be needed.
type PartitionsOfCall = fn(&[u8], usize) -> Result<Option<PartitionSet>, ReplayError>;
/// Runs a call again on the partitions held.
type Run = fn(Hold<'_>, &[u8], CommandHead, &dyn Clock) -> Result<(), ReplayError>;

/// What a catalog keeps of a procedure.
#[derive(Clone)]
pub(crate) struct ProcedureKind {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) route: PartitionsOfCall,
    pub(crate) run: Run,
    /// For shards; only a procedure that was added for them has it, because every kind of run is compiled.
    pub(crate) shard: Option<ShardProcedure>,
}

impl ProcedureKind {
    pub(crate) fn of<P: Procedure>() -> Self {
        Self {
            id: TypeId::of::<P>(),
            name: P::NAME,
            version: P::VERSION,
            route: |arguments, partitions| {
                let mut needed = Partitions::none(partitions);
                let procedure = decode::<P>(arguments)?;
                let declared = catch_unwind(AssertUnwindSafe(|| procedure.declare(&mut needed)));
                discard(|| drop(procedure));
                let declared = declared.map_err(|panic| ReplayError::of_procedure((P::NAME, P::VERSION), &*panic))?;
                Ok(declared.names_partitions().then(|| needed.set.or_if_empty(0)))
            },
            run: run::<P>,
            shard: None,
        }
    }

    /// The same, with its runs on shards.
    pub(crate) fn distributed<P: Procedure>() -> Self {
        Self { shard: Some(ShardProcedure::of::<P>()), ..Self::of::<P>() }
    }

    /// The runs on shards.
    ///
    /// # Errors
    /// When it was not added for them.
    pub(crate) fn on_shards(&self) -> Result<&ShardProcedure, String> {
        self.shard.as_ref().ok_or_else(|| {
            format!(
                "procedure `{}` is of one process only: add it to the catalog with `distributed_procedure`",
                self.name
            )
        })
    }
}

fn decode<P: Procedure>(arguments: &[u8]) -> Result<P, ReplayError> {
    postcard::from_bytes(arguments)
        .map_err(|error| ReplayError::Arguments { procedure: P::NAME, problem: error.to_string() })
}

fn run<P: Procedure>(
    hold: Hold<'_>,
    arguments: &[u8],
    head: CommandHead,
    clock: &dyn Clock,
) -> Result<(), ReplayError> {
    let procedure = decode::<P>(arguments)?;
    let call = ProcedureCall { procedure: &procedure, number: head.procedure };
    let mut output = None;
    let mut body = |running: &mut PartitionedTransaction<'_>| run_in(&mut output, &procedure, running);
    let ended = replay(hold, head, clock, &mut body, (&call, P::VERSION));
    output.clear();
    discard(|| drop(procedure));
    ended
}

/// Runs a logged call of a procedure of this version again.
fn replay(
    hold: Hold<'_>,
    head: CommandHead,
    clock: &dyn Clock,
    run: &mut AnyBody<'_>,
    (call, version): (&dyn Origin, u32),
) -> Result<(), ReplayError> {
    let keep = Keep { values: head.digest.is_some(), ..Keep::default() };
    if keep.values {
        hold.scratch.record.begin(VALUES, usize::MAX);
    }
    let mut transaction = PartitionedTransaction::new(hold, clock, keep);
    transaction.assign(head.now, head.seed);
    let ended = run_once(&mut transaction, &call, |running| {
        let returned = run(running);
        running.outcome(returned)
    });
    let record = &mut transaction.changes.scratch.record;
    let is_same = head.digest.is_none_or(|logged| logged == digest_of_changes(record.as_slice()));
    record.clear();
    let procedure = call.name();
    let differs = |what: String| ReplayError::ProcedureDiffers { procedure, version, what };
    match ended.map_err(|failed| failed.cause) {
        Ok(()) if is_same => Ok(()),
        Ok(()) => Err(differs("makes other changes of rows".to_owned())),
        Err(Cause::Stopped(Stop::Retry(_))) => Err(ReplayError::Undeclared),
        Err(Cause::Stopped(Stop::TableFull(full))) => Err(ReplayError::Full(full)),
        Err(Cause::Stopped(stop)) => {
            let why = AbortReason::of(stop).map_or("a retry".to_owned(), |reason| reason.to_string());
            Err(differs(format!("aborts with {why}")))
        }
        Err(Cause::Panicked(panic)) => Err(ReplayError::of_procedure((procedure, version), &*panic)),
    }
}
