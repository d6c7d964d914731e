//! The microbenchmark of *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*
//! (VLDB 2014), section 3: a transaction that reads and increments ten rows of one or several homes, one row of each
//! home from its few *hot* ones. The *contention index* is one divided by their number.
//!
//! Its keys are in its arguments, or in a list of each home that it reads first: then it is *dependent*. Lists change,
//! by transactions too. The *volatility* is how often a list changes in a second.
//!
//! Nothing aborts, so the sum of all rows is ten for each increment that has committed.

mod load;

use std::hint::black_box;

use glassbox::procedure::{Aborts, Declared, KeySet, Mode, Procedure, Stop, Transaction};
use glassbox::record::Bytes;
use glassbox::{Catalog, Record};
use serde::{Deserialize, Serialize};

use crate::UpTo;
pub use load::{Contention, ContentionCall, ContentionClient};

/// Rows that a transaction increments.
pub const INCREMENTED: usize = 10;
/// Lists of each home.
pub const LISTS: u16 = 10_000;
const ID_BYTES: usize = 4;

/// A row that is incremented.
#[derive(Record, Clone, Copy, Debug, PartialEq, Eq)]
#[record(table = "counter", key = (home, id), partition_by = home, access = point)]
pub struct Counter {
    /// Decides the partition.
    pub home: u8,
    /// Its number there; the first ones are hot.
    pub id: u32,
    /// How often it was incremented.
    pub count: u64,
}

/// A list of rows of the same home.
#[derive(Record, Clone, Copy, Debug, PartialEq, Eq)]
#[record(table = "listed", key = (home, id), partition_by = home, access = point)]
pub struct List {
    /// Decides the partition.
    pub home: u8,
    /// Its number there.
    pub id: u16,
    /// The numbers of [`INCREMENTED`] rows, four bytes each, little-endian.
    pub rows: Bytes<{ INCREMENTED * ID_BYTES }>,
}

impl List {
    /// A list of these rows.
    pub fn of(home: u8, id: u16, rows: [u32; INCREMENTED]) -> Self {
        let mut list = Self { home, id, rows: Bytes([0; INCREMENTED * ID_BYTES]) };
        (0..).zip(rows).for_each(|(slot, row)| list.set(slot, row));
        list
    }

    fn set(&mut self, slot: usize, row: u32) {
        let place = self.rows.0.chunks_exact_mut(ID_BYTES).nth(slot);
        place.into_iter().for_each(|place| place.copy_from_slice(&row.to_le_bytes()));
    }

    /// Its rows.
    pub fn rows(&self) -> UpTo<INCREMENTED, u32> {
        let id = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        self.rows.0.chunks_exact(ID_BYTES).map(id).collect()
    }
}

/// Increments rows whose keys are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Increment {
    /// The rows, no key twice.
    pub keys: UpTo<INCREMENTED, (u8, u32)>,
    /// About how long each participant computes, in microseconds.
    pub work_us: u32,
}

/// Increments the first rows of a list of each home: a dependent transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncrementListed {
    /// The homes, and how many rows of each.
    pub homes: UpTo<4, (u8, u8)>,
    /// The list's number.
    pub list: u16,
    /// As for [`Increment`].
    pub work_us: u32,
}

/// Puts another row into a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relist {
    /// The list.
    pub list: (u8, u16),
    /// The place in the list.
    pub slot: u8,
    /// The row.
    pub row: u32,
}

/// Multiplications, one after the other, that take about a microsecond.
const MULTIPLICATIONS_PER_US: u64 = 800;

/// Computes for about this time.
fn work(us: u32) {
    let steps = 0..u64::from(us) * MULTIPLICATIONS_PER_US;
    black_box(steps.fold(1_u64, |product, step| black_box(product).wrapping_mul(step | 1)));
}

impl Procedure for Increment {
    const NAME: &'static str = "increment";
    const ABORTS: Aborts = Aborts::Never;
    /// The rows that it incremented.
    type Output = u32;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let first = self.keys.first().map(|key| key.0);
        let is_distributed = self.keys.iter().any(|key| Some(key.0) != first);
        for key in self.keys.iter() {
            // As in the paper, every participant reads all rows before it writes.
            if is_distributed { set.share::<Counter>(key, Mode::Write) } else { set.write::<Counter>(key) }
        }
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u32, Stop> {
        for key in self.keys.iter() {
            tx.get::<Counter>(key)?;
        }
        work(self.work_us);
        let mut incremented = 0;
        for key in self.keys.iter() {
            if tx.owns::<Counter>(key) {
                incremented += u32::from(tx.update::<Counter, _>(key, |row| row.count += 1)?.is_some());
            }
        }
        Ok(incremented)
    }

    fn merge(all: &mut u32, part: u32) {
        *all += part;
    }
}

impl Procedure for IncrementListed {
    const NAME: &'static str = "increment_listed";
    const ABORTS: Aborts = Aborts::Never;
    /// The rows that it incremented.
    type Output = u32;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.homes.iter().for_each(|(home, _)| set.read::<List>(&(*home, self.list)));
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u32, Stop> {
        work(self.work_us);
        let mut incremented = 0;
        for &(home, count) in self.homes.iter() {
            if !tx.owns::<List>(&(home, self.list)) {
                continue;
            }
            let rows = tx.get::<List>(&(home, self.list))?.map(|list| list.rows()).unwrap_or_default();
            for &row in rows.iter().take(count.into()) {
                incremented += u32::from(tx.update::<Counter, _>(&(home, row), |row| row.count += 1)?.is_some());
            }
        }
        Ok(incremented)
    }

    fn merge(all: &mut u32, part: u32) {
        *all += part;
    }
}

impl Procedure for Relist {
    const NAME: &'static str = "relist";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<List>(&self.list);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.update::<List, _>(&self.list, |list| list.set(self.slot.into(), self.row)).map(drop)
    }
}

/// The catalog; [`Counter`] is its first table.
#[inline] // compiled where it is used: the kinds of runs in a cluster are many
pub fn catalog() -> Catalog {
    let tables = Catalog::new().table::<Counter>().table::<List>();
    tables
        .distributed_procedure::<Increment>()
        .distributed_procedure::<IncrementListed>()
        .distributed_procedure::<Relist>()
}

/// The increments in stored rows of [`Counter`].
///
/// # Errors
/// When they are no such rows.
pub fn increments(stored: &[u8]) -> Result<u64, String> {
    let rows = stored.chunks(Counter::ROW_WIDTH).map(Counter::load);
    rows.map(|row| row.map(|row| row.count)).sum::<Result<u64, _>>().map_err(|bad| format!("{bad:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_rows() {
        let mut list = List::of(1, 2, [0, 1, 2, 3, 4, 5, 6, 7, 8, 1_000_000]);
        list.set(3, 77);
        list.set(10, 5);
        assert_eq!(list.rows()[..], [0, 1, 2, 77, 4, 5, 6, 7, 8, 1_000_000]);
        let row = Counter { home: 1, id: 2, count: 300 };
        let mut stored = vec![0; 2 * Counter::ROW_WIDTH];
        stored.chunks_mut(Counter::ROW_WIDTH).for_each(|place| row.store(place));
        assert_eq!(increments(&stored), Ok(600));
        assert!(increments(&stored[..5]).is_err());
    }
}
