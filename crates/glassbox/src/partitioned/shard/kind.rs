//! A procedure whose type is not known here, run on a shard.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::origin::Call as TypedCall;
use super::super::partition::Cell;
use super::super::prefetch::prefetch;
use super::super::transaction::{Keep, PartitionedTransaction, table_full};
use super::carried::{Arguments, Output};
use super::elsewhere::{Elsewhere, Found};
use super::one::{Call, Ran};
use super::route::{Route, Routing};
use super::transaction::{Lacks, Place, ShardTransaction};
use super::watch::{Unwatched, Watch};
use crate::io::Clock;
use crate::procedure::{Aborts, Declared, Procedure, Stop};

/// What a run needs.
pub(super) struct Running<'a, 'w> {
    pub(super) cells: &'a [Cell; 1],
    pub(super) call: &'a Call,
    pub(super) place: Place,
    pub(super) given: &'a [Found],
    /// Whether what it overwrites is kept beyond its end.
    pub(super) keep: bool,
    pub(super) watch: Option<&'w mut dyn Watch>,
}

/// Gives a record's table number, if the catalog has it.
type Numbers<'a> = &'a dyn Fn(usize) -> Option<u16>;

/// What a catalog keeps of a procedure, for shards.
#[derive(Clone, Copy)]
pub(crate) struct ShardProcedure {
    pub(crate) route: fn(&Arguments, usize, Numbers<'_>) -> Result<Route, String>,
    /// # Safety
    /// The cell is the caller's alone.
    pub(super) run: unsafe fn(Running<'_, '_>) -> Ran,
}

impl ShardProcedure {
    pub(crate) fn of<P: Procedure>() -> Self {
        Self {
            route: |arguments, count, numbers| {
                if count == 1 {
                    return Ok(Route { partitions: 1, home: 0, shared: Vec::new() });
                }
                let mut routing = Routing::new(count, numbers);
                let declared = arguments.read::<P>()?.declare(&mut routing);
                Ok(routing.route(declared == Declared::Complete))
            },
            run: run::<P>,
        }
    }
}

unsafe fn run<P: Procedure>(running: Running<'_, '_>) -> Ran {
    let Running { cells, call, place, given, keep, watch } = running;
    let procedure = match call.arguments.read::<P>() {
        Ok(procedure) => procedure,
        Err(bad) => return Ran::Failed(bad),
    };
    // SAFETY: passed on.
    unsafe {
        match watch {
            Some(watch) => run_watched(&*procedure, cells, call, place, given, keep, watch),
            None => run_watched(&*procedure, cells, call, place, given, keep, Unwatched),
        }
    }
}

/// The time is assigned to every run before it begins.
struct Assigned;

impl Clock for Assigned {
    fn wall_us(&self) -> i64 {
        unreachable!("a run on a shard is given its time")
    }

    fn monotonic_ns(&self) -> u64 {
        unreachable!("a run on a shard is given its time")
    }
}

unsafe fn run_watched<P: Procedure, W: Watch>(
    procedure: &P,
    cells: &[Cell; 1],
    call: &Call,
    place: Place,
    given: &[Found],
    keep: bool,
    watch: W,
) -> Ran {
    let undo = keep || P::ABORTS == Aborts::Anytime;
    let origin = TypedCall { procedure, number: call.procedure };
    // SAFETY: passed on; the one cell's token stands for the exclusive use of it.
    let inner = unsafe {
        let scratch = &mut *cells[0].scratch();
        // Keys of rows elsewhere are not found, and asked for in vain.
        prefetch(&mut scratch.lookups, cells, 1, 0, &origin);
        PartitionedTransaction::new(cells, scratch, &Assigned, 1, 0, Keep { undo, values: false })
    };
    let mut transaction = ShardTransaction {
        inner,
        partition: cells[0].partition(),
        place,
        elsewhere: Elsewhere::new(given),
        lacks: None,
        keep_places: keep,
        watch,
    };
    transaction.inner.assign(call.now, call.seed);
    let told = catch_unwind(AssertUnwindSafe(|| procedure.run(&mut transaction).map(Output::of)));
    // Then the rows are not what their indexes say, whatever the procedure says.
    let told = transaction.inner.torn.map_or(told, |table| Ok(Err(table_full(table))));
    let ran = outcome(told, transaction.lacks.take(), P::NAME);
    if !matches!(ran, Ran::Done(_)) {
        transaction.inner.scratch.undo.undo();
        if transaction.inner.wrote && !undo {
            return Ran::Broken(format!("procedure `{}` stopped after it had written: {ran:?}", P::NAME));
        }
    }
    if !keep {
        transaction.inner.scratch.undo.clear();
    }
    ran
}

type Told = std::thread::Result<Result<Output, Stop>>;

/// What a run came to. What the procedure says means nothing when something was lacking.
#[inline]
fn outcome(told: Told, lacks: Option<Box<Lacks>>, name: &str) -> Ran {
    match lacks {
        Some(lacks) if lacks.bad.is_some() => return Ran::Failed(lacks.bad.unwrap_or_default()),
        Some(lacks) if lacks.partitions != 0 => return Ran::Elsewhere(lacks.partitions),
        Some(lacks) if lacks.refused => return Ran::Refused,
        Some(lacks) => return Ran::Wants(lacks.wanted),
        None => {}
    }
    match told {
        Ok(Ok(output)) => Ran::Done(output),
        Ok(Err(Stop::Abort(abort))) => Ran::Aborted(abort),
        Ok(Err(Stop::Retry(_))) => Ran::Failed(format!("procedure `{name}` made a retry of its own")),
        Err(_) => Ran::Failed(format!("procedure `{name}` panicked")),
    }
}
