//! The trait of a stored procedure.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::key_set::KeySet;
use super::read_write_set::Declared;
use super::stop::Stop;
use super::transaction::Transaction;

/// When a procedure may abort: decides whether what it overwrites is kept.
///
/// A promise, and checked: a run that aborts (or panics) after a write although it promised not to cannot be undone.
/// The engine then stops answering rather than show half a transaction; opening the database again recovers the state
/// without it.
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
    /// To be raised whenever the same arguments may come to do something else. A command log is replayed only under the
    /// version that wrote it.
    const VERSION: u32 = 1;
    /// When it may abort.
    const ABORTS: Aborts = Aborts::Anytime;
    /// What it answers.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// States from the arguments alone what the run will read and write, so that it can be sent to the right partitions
    /// and the rows be brought into the cache beforehand. What it leaves out is found by running. Run more than once,
    /// for different `set`s; it must tell each the same.
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let _ = set;
        Declared::Unknown
    }

    /// Adds to the output of the home's run what another partition's run answered, where several ran it because each
    /// is a process of its own. The home is the partition of the first key declared. By default the home's output is
    /// the answer.
    fn merge(output: &mut Self::Output, part: Self::Output) {
        let _ = (output, part);
    }

    /// The body. May run several times before one run counts.
    ///
    /// # Errors
    /// [`Stop`], its own or passed on from `tx`.
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop>;
}
