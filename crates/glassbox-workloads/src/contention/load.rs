//! The clients of the microbenchmark of *An Evaluation of the Advantages and Disadvantages of Deterministic Database
//! Systems* (VLDB 2014), section 3: the rows of the next transaction.

use glassbox::Error;
use glassbox::io::Dice;
use glassbox::research::shard::Shard;
use serde::{Deserialize, Serialize};

use super::{Counter, INCREMENTED, Increment, IncrementListed, LISTS, List, Relist};
use crate::{ALL, UpTo};

/// The load; shares are of one million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Rows of each home; the paper's are a million.
    pub rows: u32,
    /// Of these, the hot ones: the contention index is one divided by their number.
    pub hot: u32,
    /// Distributed transactions.
    pub several: u64,
    /// The homes of a distributed transaction, 2 to 4.
    pub participants: u8,
    /// The time that each participant computes, in microseconds: in the paper's long transactions 15 for each row.
    pub work_us: u32,
    /// Transactions whose keys are in lists.
    pub dependent: u64,
    /// Transactions that change a list instead.
    pub relists: u64,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ContentionCall {
    /// Rows whose keys are known.
    Increment(Increment),
    /// Rows in lists.
    Listed(IncrementListed),
    /// A change of a list.
    Relist(Relist),
}

/// One client's choice of transactions.
#[derive(Debug)]
pub struct ContentionClient {
    load: Contention,
    partitions: u8,
    dice: Dice,
    /// The next list to be changed.
    list: u16,
}

impl Contention {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The problem.
    pub fn check(&self, partitions: u8) -> Result<(), String> {
        let needed = INCREMENTED as u32 + self.hot;
        if self.hot == 0 || self.rows < needed {
            return Err(format!(
                "{} rows with {} hot ones are too few: give at least {needed} rows",
                self.rows, self.hot
            ));
        }
        if !(2..=4).contains(&self.participants) || self.several > 0 && self.participants > partitions {
            return Err(format!(
                "transactions on {} of {partitions} partitions are impossible: give 2 to 4 participants, and as many \
                 partitions",
                self.participants
            ));
        }
        Ok(())
    }

    /// Loads a partition.
    ///
    /// # Errors
    /// When a table is full.
    pub fn fill(&self, partitions: u8, shard: &mut Shard) -> Result<(), Error> {
        for home in 0..partitions {
            for id in 0..self.rows {
                shard.load(&Counter { home, id, count: 0 })?;
            }
            let mut dice = Dice(u64::from(home) + 1);
            for id in 0..LISTS {
                let mut rows = [0; INCREMENTED];
                for (slot, row) in rows.iter_mut().enumerate() {
                    *row = self.row(slot as u8, &mut dice);
                }
                shard.load(&List::of(home, id, rows))?;
            }
        }
        Ok(())
    }

    /// A row for a slot of a list: a hot one for the first, and for each other one from a part of the cold ones of its
    /// own, so that no list has a row twice.
    fn row(&self, slot: u8, dice: &mut Dice) -> u32 {
        if slot == 0 {
            return dice.below(self.hot.into()) as u32;
        }
        let part = (self.rows - self.hot) / (INCREMENTED as u32 - 1);
        self.hot + u32::from(slot - 1) * part + dice.below(part.into()) as u32
    }
}

impl ContentionClient {
    /// A client.
    pub fn new(client: u32, partitions: u8, load: Contention, seed: u64) -> Self {
        let mut dice = Dice(seed ^ (u64::from(client) + 1).wrapping_mul(0x5851_f42d_4c95_7f2d));
        let list = dice.below(LISTS.into()) as u16;
        Self { load, partitions, dice, list }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.dice.below(ALL) < of
    }

    /// The homes of the next transaction, and how many rows of each.
    fn homes(&mut self) -> UpTo<4, (u8, u8)> {
        let several = self.partitions > 1 && self.chance(self.load.several);
        let counts: &[u8] = match (several, self.load.participants) {
            (false, _) => &[10],
            (true, 3) => &[4, 3, 3],
            (true, 4) => &[3, 3, 2, 2],
            (true, _) => &[5, 5],
        };
        let mut homes: UpTo<4, (u8, u8)> = UpTo::new();
        for &count in counts {
            let mut home = self.dice.below(self.partitions.into()) as u8;
            while homes.iter().any(|(other, _)| *other == home) {
                home = self.dice.below(self.partitions.into()) as u8;
            }
            homes.push((home, count));
        }
        homes
    }

    /// The next transaction.
    pub fn draw(&mut self) -> ContentionCall {
        if self.chance(self.load.relists) {
            self.list = (self.list + 1) % LISTS;
            let (home, slot) = (self.dice.below(self.partitions.into()) as u8, self.dice.below(10) as u8);
            let row = self.load.row(slot, &mut self.dice);
            return ContentionCall::Relist(Relist { list: (home, self.list), slot, row });
        }
        let (homes, work_us) = (self.homes(), self.load.work_us);
        if self.chance(self.load.dependent) {
            let list = self.dice.below(LISTS.into()) as u16;
            return ContentionCall::Listed(IncrementListed { homes, list, work_us });
        }
        let mut keys = UpTo::new();
        for &(home, count) in homes.iter() {
            (0..count).for_each(|slot| keys.push((home, self.load.row(slot, &mut self.dice))));
        }
        ContentionCall::Increment(Increment { keys, work_us })
    }
}
