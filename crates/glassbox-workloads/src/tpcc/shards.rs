//! TPC-C on partitions by themselves: filling one, and looking at all of them together.

use glassbox::Error;
use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::record::{Record, Timestamp};
use glassbox::research::shard::{Arguments, Call, PartitionSet, Ran, Shard, Task};
use serde::{Deserialize, Serialize};

use super::catalog::tables;
use super::conditions::{Report, check_all, orders_entered};
use super::population::{self, Sink};
use super::scale::Scale;
use super::schema::History;

/// Keeps the rows that are its own.
impl Sink for Shard {
    type Error = Error;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        self.load(row)
    }
}

/// Loads a partition's part of the population.
///
/// # Errors
/// When the shard has no room, or has rows already.
pub fn fill(scale: &Scale, seed: u64, shard: &mut Shard) -> Result<(), Error> {
    population::items(scale, seed, shard)?;
    scale.warehouse_ids().try_for_each(|w_id| population::warehouse(scale, seed, w_id, shard))
}

/// All conditions, as a procedure; its answer also says how many orders were entered.
#[derive(Serialize, Deserialize)]
struct Conditions {
    scale: Scale,
}

impl Procedure for Conditions {
    const NAME: &'static str = "conditions";
    type Output = (Vec<Report>, u64);

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop> {
        Ok((check_all(tx, &self.scale)?, orders_entered(tx, &self.scale)?))
    }
}

/// What all rows together say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Each condition.
    pub reports: Vec<Report>,
    /// Orders since the population.
    pub orders: u64,
    /// Payments since the population.
    pub payments: u64,
}

/// The rows of all partitions in one place, where the conditions can be checked.
#[derive(Debug)]
pub struct Together {
    /// It has everything.
    shard: Shard,
}

/// Rows that are copied at once, in bytes.
const COPIED: usize = 1 << 20;

/// What [`Shard::stored`] gives.
pub type Stored = Option<(bool, Vec<u8>, Option<u64>)>;

impl Together {
    /// No rows yet.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(table_bytes: usize) -> Result<Self, Error> {
        let shard = Shard::new(&tables().distributed_procedure::<Conditions>(), 0, 1, table_bytes)?;
        Ok(Self { shard })
    }

    /// Adds a partition's rows; those of replicated tables only if it is the `first`.
    ///
    /// # Errors
    /// When they are there already.
    pub fn add(&mut self, other: &mut Shard, first: bool) -> Result<(), String> {
        self.add_stored(first, |table, from| Ok(other.stored(table, from, COPIED)))
    }

    /// The same of a partition that is elsewhere: `stored` brings rows of a table, from a place on.
    ///
    /// # Errors
    /// When they are there already; those of `stored`.
    pub fn add_stored(
        &mut self,
        first: bool,
        mut stored: impl FnMut(u16, u64) -> Result<Stored, String>,
    ) -> Result<(), String> {
        for table in 0.. {
            let mut from = 0;
            loop {
                let Some((replicated, rows, next)) = stored(table, from)? else { return Ok(()) };
                if replicated && !first {
                    break;
                }
                self.shard.load_stored(table, &rows)?;
                let Some(next) = next else { break };
                from = next;
            }
        }
        Ok(())
    }

    /// Checks the conditions of a database that was loaded with this scale.
    ///
    /// # Errors
    /// When they cannot be checked.
    pub fn check(&mut self, scale: &Scale) -> Result<Found, String> {
        let procedure =
            tables().distributed_procedure::<Conditions>().number_of::<Conditions>().expect("it was just added");
        let arguments = Arguments::of(Conditions { scale: *scale });
        let call = Call { procedure, arguments, now: Timestamp::default(), seed: 0 };
        let (reports, orders) =
            match self.shard.run(&call, Task { participants: PartitionSet::of(0), given: &[] }, None, None) {
                Ran::Done(output) => {
                    output.read::<(_, u64)>().map_err(|why| format!("the conditions' answer: {why}"))?
                }
                other => return Err(format!("the conditions cannot be checked: {other:?}")),
            };
        let mut payments = 0_u64;
        self.shard.rows::<History>(|_| payments += 1);
        // Every customer begins with one.
        let loaded = u64::from(scale.warehouses) * u64::from(super::DISTRICTS) * u64::from(scale.customers);
        Ok(Found { reports, orders, payments: payments.saturating_sub(loaded) })
    }
}
