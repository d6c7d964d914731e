//! The trait of a stored procedure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::key_set::KeySet;
use super::read_write_set::Declared;
use super::stop::Stop;
use super::transaction::Transaction;

/// When a procedure may abort: decides whether the engine keeps the rows that it overwrites.
///
/// It is a promise, and checked: after a run that aborts (or panics) after a write against its promise, the engine
/// stops, because undo information need not exist, and no partial transaction may become visible. Opening the database
/// again recovers the state without it.
///
/// The promise also covers the size of the changes. On the partitioned engine with a log of values, all changes of a
/// transaction are one log record, of at most a quarter of [`Config::log_buffer_bytes`](crate::Config) (8 MiB by
/// default). A larger transaction is an error: if it has undo information, it is rolled back and the database
/// continues; otherwise the database stops. So a procedure that may change that much declares [`Aborts::Anytime`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aborts {
    /// It never aborts.
    Never,
    /// It may abort, but only before its first write.
    BeforeFirstWrite,
    /// It may abort at any time. The safe default.
    Anytime,
}

/// A stored procedure: its arguments are the fields, its body is [`Procedure::run`].
///
/// The body must be deterministic: the same arguments on the same data give the same writes, with time and random
/// numbers taken from the transaction alone. A command log replays it: a procedure that reads a clock, or iterates over
/// a `HashMap`, would make its database unopenable, and is refused where the [log](crate::LogKind::Commands) notices.
///
/// Arguments and output are encoded with [postcard](https://docs.rs/postcard), whose format is stable; adding, removing
/// or reordering fields changes the encoding, so raise [`Procedure::VERSION`] with it.
///
/// A procedure is a name, an output and [`run`](Procedure::run). [`declare`](Procedure::declare) saves dry runs and
/// brings rows into the cache; [`ABORTS`](Procedure::ABORTS) saves copies of overwritten rows. Two items are for
/// special uses: [`merge`](Procedure::merge) for clusters, and [`answer`](Procedure::answer) for outputs so large that
/// moving them shows in a measurement.
pub trait Procedure: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name for calls and in the log; unique within a catalog.
    const NAME: &'static str;
    /// Its version. Raise it whenever the same arguments may have another effect: a command log is replayed only by the
    /// version that wrote it.
    const VERSION: u32 = 1;
    /// When it may abort.
    const ABORTS: Aborts = Aborts::Anytime;
    /// Its output.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// Declares from the arguments alone the keys that the run will read and write, so that the call is routed to the
    /// right partitions and the rows are prefetched. The run itself finds keys that are not declared. The declaration
    /// runs more than once, for different `set`s, and must name the same keys to each.
    ///
    /// A procedure that returns [`Declared::Unknown`], as this default does, runs at least twice on an engine with more
    /// than one partition: dry runs, which change nothing, find the partitions that it reads and writes; then it runs
    /// under their tokens. So each call takes at least twice the time of the body, and more if the dry runs find the
    /// partitions one after the other. With one partition, and on the classic engine, it runs once.
    ///
    /// A dry run sees its own writes, so a procedure cannot tell it from the real run. It ends after about a million
    /// accesses at the latest; the real run then finds the remaining partitions, one after the other. A program whose
    /// profile has `panic = "abort"` makes no dry runs: each real run finds its partitions one after the other.
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let _ = set;
        Declared::Unknown
    }

    /// The body. It may be restarted several times before it commits.
    ///
    /// # Errors
    /// [`Stop`], its own or one returned by `tx`.
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop>;

    /// For clusters: merges the output of another participant's run into that of the home's run. The home is the
    /// partition of the first declared key. By default the home's output is the answer.
    fn merge(output: &mut Self::Output, part: Self::Output) {
        let _ = (output, part);
    }

    /// For performance: the body as engines run it, with a place for the output. By default the output of
    /// [`Procedure::run`] is moved there. A procedure with large outputs implements this method instead, puts an output
    /// there and fills it in place; its `run` is [`run_in_place`]. The output is used only if this returns `Ok`, and
    /// must have been put then.
    ///
    /// # Errors
    /// As [`Procedure::run`].
    #[inline(always)]
    fn answer<T: Transaction>(&self, tx: &mut T, place: &mut impl Place<Self::Output>) -> Result<(), Stop> {
        place.put(self.run(tx)?);
        Ok(())
    }
}

/// The memory for an output.
pub trait Place<O> {
    /// Stores the output there, and returns it to be filled in.
    fn put(&mut self, output: O) -> &mut O;
}

impl<O> Place<O> for Option<O> {
    #[inline(always)]
    fn put(&mut self, output: O) -> &mut O {
        self.insert(output)
    }
}

/// [`Procedure::run`] of a procedure that has [`Procedure::answer`].
///
/// # Errors
/// As `answer`.
///
/// # Panics
/// When `answer` returns `Ok` without an output.
#[inline]
pub fn run_in_place<P: Procedure, T: Transaction>(procedure: &P, tx: &mut T) -> Result<P::Output, Stop> {
    let mut place = None;
    procedure.answer(tx, &mut place)?;
    Ok(place.expect("a procedure that ends well has put its output"))
}
