//! A procedure whose type is not known here: what a catalog keeps of it, and how a logged call is run again.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::command::CommandHead;
use super::origin::Call;
use super::partition::Cell;
use super::prefetch::prefetch;
use super::shard::ShardProcedure;
use super::transaction::{Keep, PartitionedTransaction};
use crate::io::Clock;
use crate::procedure::{Declared, PartitionSet, Partitions, Procedure, Stop};

/// Which partitions a call needs, of so many; `None`: any may be needed.
type Route = fn(&[u8], usize) -> Result<Option<PartitionSet>, String>;
/// Runs a call again on the partitions held.
type Run = unsafe fn(&[Cell], PartitionSet, usize, &[u8], CommandHead, &dyn Clock) -> Result<(), String>;

/// What a catalog keeps of a procedure.
#[derive(Clone)]
pub(crate) struct ProcedureKind {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) route: Route,
    /// # Safety
    /// As for [`PartitionedTransaction::new`].
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
                Ok((declared == Declared::Complete).then(|| needed.set.or_if_empty(0)))
            },
            run: run::<P>,
            shard: ShardProcedure::of::<P>(),
        }
    }
}

fn decode<P: Procedure>(arguments: &[u8]) -> Result<P, String> {
    postcard::from_bytes(arguments)
        .map_err(|error| format!("the arguments of procedure `{}` are damaged: {error}", P::NAME))
}

/// What is wrong with a call that needs a partition that it did not declare. Where all its keys were on one partition,
/// that went unnoticed; with other partitions it has to be run again with all of them.
pub(crate) const MISDECLARED: &str = "it needs a partition that its procedure did not declare";

unsafe fn run<P: Procedure>(
    cells: &[Cell],
    held: PartitionSet,
    home: usize,
    arguments: &[u8],
    head: CommandHead,
    clock: &dyn Clock,
) -> Result<(), String> {
    let procedure = decode::<P>(arguments)?;
    let call = Call { procedure: &procedure, number: head.procedure };
    // SAFETY: passed on.
    let mut transaction = unsafe {
        let scratch = &mut *cells[home].scratch();
        prefetch(&mut scratch.lookups, cells, held, home, &call);
        PartitionedTransaction::new(cells, scratch, clock, held, home, Keep { undo: false, values: false })
    };
    transaction.assign(head.now, head.seed);
    let diverged = |what: &str| {
        Err(format!(
            "replaying procedure `{}` {what}; it did not when it was logged: its code must be \
             deterministic, and changed code needs a new VERSION",
            P::NAME
        ))
    };
    let run = || {
        let told = procedure.run(&mut transaction).map(drop);
        transaction.outcome(told)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Stop::Retry(_))) => Err(MISDECLARED.to_owned()),
        Ok(Err(_)) => diverged("stopped before its end"),
        Err(_) => diverged("panicked"),
    }
}
