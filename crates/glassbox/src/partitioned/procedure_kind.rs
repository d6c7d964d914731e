//! A procedure whose type is not known here: what a catalog keeps of it, and how a logged call is run again.

use std::any::TypeId;

use super::held::Hold;
use super::origin::ProcedureCall;
use super::run::{Cause, run_once};
use super::shard::ShardProcedure;
use super::transaction::{Keep, PartitionedTransaction};
use crate::io::Clock;
use crate::partitioned::log_records::command::CommandHead;
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
    pub(crate) shard: ShardProcedure,
}

impl ProcedureKind {
    pub(crate) fn of<P: Procedure>() -> Self {
        Self {
            id: TypeId::of::<P>(),
            name: P::NAME,
            version: P::VERSION,
            route: |arguments, partitions| {
                let mut needed = Partitions::none(partitions);
                let declared = decode::<P>(arguments)?.declare(&mut needed);
                Ok(declared.names_partitions().then(|| needed.set.or_if_empty(0)))
            },
            run: run::<P>,
            shard: ShardProcedure::of::<P>(),
        }
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
    let mut transaction = PartitionedTransaction::new(hold, clock, Keep::default());
    transaction.assign(head.now, head.seed);
    let ended = run_once(&mut transaction, &call, |running| {
        let returned = procedure.run(running).map(drop);
        running.outcome(returned)
    });
    match ended.map_err(|failed| failed.cause) {
        Ok(()) => Ok(()),
        Err(Cause::Stopped(Stop::Retry(_))) => Err(ReplayError::Undeclared),
        Err(Cause::Stopped(Stop::TableFull(full))) => Err(ReplayError::Full(full)),
        Err(Cause::Stopped(stop)) => {
            let why = AbortReason::of(stop).map_or("a retry".to_owned(), |reason| reason.to_string());
            Err(ReplayError::ProcedureDiffers { procedure: P::NAME, what: format!("aborts with {why}") })
        }
        Err(Cause::Panicked(panic)) => Err(ReplayError::of_procedure(P::NAME, &*panic)),
    }
}
