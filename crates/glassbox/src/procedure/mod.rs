//! Stored procedures: code written once against [`Transaction`], run by every engine.
//!
//! This module knows records, but no engine, file or thread.

mod abort_reason;
mod dry_run;
mod key_set;
mod partition_set;
mod private_writes;
mod read_write_set;
mod stop;
#[path = "procedure.rs"]
mod stored;
mod transaction;

pub use abort_reason::{AbortReason, DuplicateKey, TableFull};
pub(crate) use dry_run::{DryRun, MAKES_TRIAL_RUNS, MAX_ACCESSES, StoredRows};
pub use key_set::KeySet;
pub(crate) use key_set::Partitions;
pub use partition_set::PartitionSet;
pub(crate) use private_writes::PrivateWrites;
pub(crate) use read_write_set::partition_of;
pub use read_write_set::{Declared, Entry, EntryKey, Mode, ReadWriteSet};
pub use stop::{Abort, Retry, Stop};
pub use stored::{Aborts, Place, Procedure, run_in_place};
pub use transaction::Transaction;
