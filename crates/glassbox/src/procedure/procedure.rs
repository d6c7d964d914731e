//! The trait of a stored procedure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::key_set::KeySet;
use super::read_write_set::Declared;
use super::stop::Stop;
use super::transaction::Transaction;

/// When a procedure may abort: decides whether the engine keeps the rows that it overwrites.
///
/// A promise, and checked: a run that aborts (or panics) after a write although it promised not to cannot be undone.
/// The engine then stops rather than show half a transaction; opening the database again recovers the state without it.
///
/// The promise also covers the size of what is changed. On the partitioned engine with a log of values, all changes of
/// a transaction are one log record, of at most a quarter of [`Config::log_buffer_bytes`](crate::Config) (8 MiB by
/// default). A larger transaction is an error; where its changes are kept, it is undone and the database goes on; where
/// they are not, the database stops. So a procedure that may change that much says [`Aborts::Anytime`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aborts {
    /// It never aborts.
    Never,
    /// It may abort, but only while it has only read.
    BeforeFirstWrite,
    /// It may abort at any time. The safe default.
    Anytime,
}

/// A stored procedure: its arguments are the fields, its body is [`Procedure::run`].
///
/// The body must be deterministic: the same arguments on the same data give the same writes, with time and random
/// numbers taken from the transaction alone. A command log replays it.
///
/// Arguments and output are encoded with [postcard](https://docs.rs/postcard), whose format is stable; adding, removing
/// or reordering fields changes the encoding, so raise [`Procedure::VERSION`] with it.
pub trait Procedure: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name it is called and logged by; unique within a catalog.
    const NAME: &'static str;
    /// To be raised whenever the same arguments may have another effect. A command log is replayed only under the
    /// version that wrote it.
    const VERSION: u32 = 1;
    /// When it may abort.
    const ABORTS: Aborts = Aborts::Anytime;
    /// Its output.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// States from the arguments alone what the run will read and write, so that it can be sent to the right partitions
    /// and the rows be brought into the cache beforehand. A key that it leaves out is found by running. It runs more
    /// than once, for different `set`s, and must name the same keys to each.
    ///
    /// A procedure that answers [`Declared::Unknown`], as this one does unless it is written, runs at least twice on an
    /// engine with more than one partition: dry runs, which change nothing, find the partitions that it reads and
    /// writes, then it runs under their tokens. So each call takes at least twice the time of the body, and more where
    /// the dry runs find the partitions one after the other. With one partition, and on the classic engine, it runs
    /// once.
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let _ = set;
        Declared::Unknown
    }

    /// Merges the output of another partition's run into that of the home's run, where several partitions ran it, each
    /// in a process of its own. The home is the partition of the first key declared. By default the home's output is
    /// the answer.
    fn merge(output: &mut Self::Output, part: Self::Output) {
        let _ = (output, part);
    }

    /// The body. May run several times before one run commits.
    ///
    /// # Errors
    /// [`Stop`], its own or passed on from `tx`.
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop>;

    /// The body as engines run it: the output goes where it is to stay. A large one that [`Procedure::run`] gives is
    /// moved there; a procedure that makes such outputs writes this instead, puts an output there and fills it in where
    /// it is, and its `run` is [`run_in_place`]. The output is used only if this ends well, and then one
    /// must have been put.
    ///
    /// # Errors
    /// As [`Procedure::run`].
    #[inline(always)]
    fn answer<T: Transaction>(&self, tx: &mut T, place: &mut impl Place<Self::Output>) -> Result<(), Stop> {
        place.put(self.run(tx)?);
        Ok(())
    }
}

/// Where an output is to stay.
pub trait Place<O> {
    /// Puts it there, and gives it to be filled in.
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
/// When it ends well without an output.
#[inline]
pub fn run_in_place<P: Procedure, T: Transaction>(procedure: &P, tx: &mut T) -> Result<P::Output, Stop> {
    let mut place = None;
    procedure.answer(tx, &mut place)?;
    Ok(place.expect("a procedure that ends well has put its output"))
}
