//! The microbenchmark of *Low Overhead Concurrency Control for Partitioned Main Memory Databases* (SIGMOD 2010),
//! section 5: a transaction that reads twelve small rows and then writes them, on one partition or six on each of two.
//!
//! Every transaction writes a stamp of its own into all of its rows and answers what it read, so that from the answers
//! of all one can tell in which order they happened on each row.

mod load;

use glassbox::procedure::{Declared, KeySet, Mode, Procedure, Stop, Transaction};
use glassbox::{Catalog, Record};
use serde::{Deserialize, Serialize};

use crate::UpTo;
pub use load::{Load, Micro};

/// Rows that a transaction touches.
pub const KEYS: usize = 12;
/// The abort of a transaction that was to abort.
pub const ABORT_CHOSEN: u32 = 1;

/// A row: three bytes of key, four of value, as in the paper.
#[derive(Record, Clone, Copy, Debug, PartialEq, Eq)]
#[record(table = "pair", key = (home, id), partition_by = home, access = point)]
pub struct Pair {
    /// Decides the partition.
    pub home: u8,
    /// Its number there.
    pub id: u16,
    /// The stamp of the transaction that wrote it last, 0: none has; above its bits, how often it was written.
    pub value: u32,
}

/// The bits of a stamp.
pub const STAMP: u32 = (1 << 28) - 1;

impl Pair {
    /// The stamp of the transaction that wrote it last; 0: none has.
    pub fn stamp(&self) -> u32 {
        self.value & STAMP
    }

    /// Writes a stamp. To do it twice leaves something else than to do it once, so that a copy on which a transaction
    /// ran twice differs.
    fn write(&mut self, stamp: u32) {
        self.value = (self.value & !STAMP).wrapping_add(STAMP + 1) | stamp & STAMP;
    }
}

/// A key of [`Pair`].
pub type PairKey = (u8, u16);

/// Reads its rows, then writes its stamp into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadWrite {
    /// Which rows, no key twice.
    pub keys: UpTo<KEYS, PairKey>,
    /// The number written, one that no other transaction has, within [`STAMP`].
    pub stamp: u32,
    /// It aborts at the beginning, where the rows of this home are.
    pub aborts_at: Option<u8>,
    /// It writes only after all rows were read everywhere: two rounds, where partitions are apart.
    pub two_rounds: bool,
}

/// The rows read, in the order of the keys.
pub type Seen = UpTo<KEYS, (u8, u16, u32)>;

impl Procedure for ReadWrite {
    const NAME: &'static str = "read_write";
    type Output = Seen;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        for key in self.keys.iter() {
            if self.two_rounds {
                set.share::<Pair>(key, Mode::Write);
            } else {
                set.write::<Pair>(key);
            }
        }
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Seen, Stop> {
        if self.aborts_at.is_some_and(|home| tx.owns::<Pair>(&(home, 0))) {
            return Err(Stop::abort(ABORT_CHOSEN, "it was chosen to abort"));
        }
        let missing = || Stop::abort(ABORT_CHOSEN + 1, "there is no such row");
        let mut seen = Seen::new();
        for &(home, id) in self.keys.iter() {
            if self.two_rounds || tx.owns::<Pair>(&(home, id)) {
                let row = tx.get::<Pair>(&(home, id))?.ok_or_else(missing)?;
                if seen.try_push((home, id, row.stamp())).is_err() {
                    return Err(Stop::abort(ABORT_CHOSEN + 1, "more rows than there can be"));
                }
            }
        }
        for key in self.keys.iter() {
            if tx.owns::<Pair>(key) {
                tx.update::<Pair, _>(key, |row| row.write(self.stamp))?.ok_or_else(missing)?;
            }
        }
        Ok(seen)
    }

    fn merge(seen: &mut Seen, part: Seen) {
        for &(home, id, value) in part.iter() {
            if !seen.iter().any(|known| (known.0, known.1) == (home, id)) {
                // No more than a transaction has keys: another partition's answer may come from anywhere.
                let _ = seen.try_push((home, id, value));
            }
        }
    }
}

/// The microbenchmark's catalog.
#[inline] // compiled where it is used: the kinds of runs in a cluster are many
pub fn catalog() -> Catalog {
    Catalog::new().table::<Pair>().distributed_procedure::<ReadWrite>()
}
