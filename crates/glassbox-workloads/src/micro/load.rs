//! The microbenchmark's clients: the rows of the next transaction.
//!
//! *Low Overhead Concurrency Control*, sections 5.1 to 5.4. Each client has rows of its own in every partition. For
//! conflicts, the first client stays on the first partition and the second on the second, so that one row of each is
//! written nearly all the time; the others touch one of these rows with a certain probability.

use glassbox::io::Dice;
use glassbox::research::shard::Shard;
use serde::{Deserialize, Serialize};

use super::{KEYS, Pair, ReadWrite};
use crate::{ALL, UpTo};

/// The microbenchmark's load; shares are of one million, [`ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Distributed transactions, on two partitions.
    pub several: u64,
    /// Transactions that touch a hot row.
    pub conflicts: u64,
    /// Transactions that abort, on one partition.
    pub aborts: u64,
    /// Distributed transactions that take two rounds, of these.
    pub two_rounds: u64,
}

/// One client's choice of transactions.
#[derive(Debug)]
pub struct Micro {
    client: u32,
    partitions: u8,
    load: Load,
    dice: Dice,
    made: u32,
}

impl Micro {
    /// A client.
    pub fn new(client: u32, partitions: u8, load: Load, seed: u64) -> Self {
        let dice = Dice(seed ^ (u64::from(client) + 1).wrapping_mul(0x5851_f42d_4c95_7f2d));
        Self { client, partitions, load, dice, made: 0 }
    }

    /// Loads a partition for this number of clients.
    ///
    /// # Panics
    /// When the partition has rows already.
    pub fn fill(shard: &mut Shard, clients: u32, partitions: u8) {
        for home in 0..partitions {
            for id in 0..clients.max(u32::from(partitions)) as u16 * KEYS as u16 {
                shard.load(&Pair { home, id, value: 0 }).expect("the partition is empty");
            }
        }
    }

    /// Changes the load.
    pub fn shift_to(&mut self, load: Load) {
        self.load = load;
    }

    fn chance(&mut self, of: u64) -> bool {
        self.dice.below(ALL) < of
    }

    /// The next transaction.
    pub fn draw(&mut self) -> ReadWrite {
        let several = self.partitions > 1 && self.chance(self.load.several);
        let first = self.dice.below(u64::from(self.partitions)) as u8;
        let pinned = self.load.conflicts > 0 && self.client < u32::from(self.partitions).min(2);
        let first = if pinned && !several { self.client as u8 } else { first };
        let second = if several {
            (first + 1 + self.dice.below(u64::from(self.partitions) - 1) as u8) % self.partitions
        } else {
            first
        };
        let mut keys: UpTo<KEYS, _> = (0..KEYS as u16)
            .map(|at| {
                let home = if usize::from(at) < KEYS / 2 { first } else { second };
                (home, self.client as u16 * KEYS as u16 + at)
            })
            .collect();
        if !pinned && self.chance(self.load.conflicts) {
            let at = if several && self.dice.one_in(2) { KEYS - 1 } else { 0 };
            let home = keys[at].0;
            keys[at] = (home, u16::from(home) * KEYS as u16);
        }
        let aborts_at = self.chance(self.load.aborts).then(|| if self.dice.one_in(2) { first } else { second });
        let two_rounds = several && self.chance(self.load.two_rounds);
        self.made += 1;
        ReadWrite { keys, stamp: self.client << 20 | self.made, aborts_at, two_rounds }
    }
}
