//! The transactions: the microbenchmark, and a model of TPC-C's two frequent transactions.
//!
//! The microbenchmark (VLDB 2014, section 3.3): a partition of a million rows, of which K are hot; a transaction reads
//! and writes 10 of them, one hot row at each participant. The contention index is 1/K.
//!
//! TPC-C (section 3.4): New-Order writes a district, Payment a warehouse and its district, each at its home alone; so
//! one hot row in all, or two of one node. A remote New-Order writes one stock at another node, a remote Payment its
//! customer there. Warehouses' and items' constant columns are not locked.

use std::ops::Range;

use glassbox_testing::dice::Dice;

use super::events::uniform;

/// Rows of a partition, as in the paper.
const ROWS: u64 = 1_000_000;
/// The most nodes that a transaction is on.
pub(super) const MAX_PARTS: usize = 4;
/// The most records of a transaction at one node.
const MAX_KEYS: usize = 14;
/// TPC-C: warehouses of a node, and districts of a warehouse.
const WAREHOUSES: u64 = 20;
const DISTRICTS: u64 = 10;

/// The shape of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadShape {
    /// Rows of a partition.
    pub rows: u64,
    /// Hot rows of a partition.
    pub hot: u64,
    /// The share of transactions on several nodes.
    pub distributed: f64,
    /// Nodes of such a transaction: 2 to 4.
    pub participants: usize,
    /// Computation of a transaction, at each participant.
    pub compute_ns: u64,
    /// The share of transactions whose keys an index says.
    pub dependent: f64,
    /// Changes of each index entry per second.
    pub volatility: f64,
    /// The share of a dependent transaction's work before the reading of the index.
    pub before_lookup: f64,
    /// Whether it is TPC-C instead of the microbenchmark.
    pub is_tpcc: bool,
}

impl WorkloadShape {
    /// Short transactions of the microbenchmark, on one node each.
    pub fn short(hot: u64) -> Self {
        let (participants, compute_ns, is_tpcc) = (2, 0, false);
        let (distributed, dependent, volatility, before_lookup) = (0.0, 0.0, 0.0, 0.0);
        let rows = ROWS;
        Self { rows, hot, distributed, participants, compute_ns, dependent, volatility, before_lookup, is_tpcc }
    }

    /// Long ones: 15 µs more for each record.
    pub fn long(hot: u64) -> Self {
        Self { compute_ns: 150_000, ..Self::short(hot) }
    }

    /// TPC-C: 20 µs of computation for each record on average, more than the 15 of the long ones.
    pub fn tpcc() -> Self {
        Self { compute_ns: 150_000, is_tpcc: true, ..Self::short(WAREHOUSES * (DISTRICTS + 1)) }
    }

    /// With a share of transactions on this many nodes.
    pub fn with_distributed(self, distributed: f64, participants: usize) -> Self {
        Self { distributed, participants, ..self }
    }

    fn cold(&self) -> Range<u64> {
        self.hot..self.rows
    }

    /// Records of a transaction on average.
    pub(super) fn keys_per_txn(&self) -> f64 {
        if self.is_tpcc { (12.0 + 3.0) / 2.0 } else { 10.0 }
    }

    /// Draws a transaction of a home.
    pub(crate) fn draw(&self, home: usize, nodes: usize, dice: &mut Dice) -> TxnKeys {
        let is_distributed = nodes > 1 && uniform(dice) < self.distributed;
        let is_dependent = self.dependent > 0.0 && uniform(dice) < self.dependent;
        let mut keys = TxnKeys { is_dependent, ..TxnKeys::default() };
        keys.add_part(home);
        let others = if is_distributed { self.participants.min(nodes) - 1 } else { 0 };
        while keys.parts.len() < 1 + others {
            let node = dice.place(nodes);
            if keys.parts.iter().all(|part| part.node != node) {
                keys.add_part(node);
            }
        }
        if self.is_tpcc {
            self.draw_tpcc(&mut keys, dice)
        } else {
            self.draw_micro(&mut keys, dice)
        }
        keys
    }

    fn draw_micro(&self, keys: &mut TxnKeys, dice: &mut Dice) {
        let cold: &[usize] = match keys.parts.len() {
            1 => &[9],
            2 => &[4, 4],
            3 => &[3, 2, 2],
            _ => &[2, 2, 1, 1],
        };
        for (part, &cold) in keys.parts.iter_mut().zip(cold) {
            part.rows.push(dice.below(self.hot) as u32);
            part.draw_cold(cold, self.cold(), dice);
        }
    }

    fn draw_tpcc(&self, keys: &mut TxnKeys, dice: &mut Dice) {
        let (warehouse, district) = (dice.below(WAREHOUSES), dice.below(DISTRICTS));
        let is_payment = dice.one_in(2);
        let is_local = keys.parts.len() == 1;
        let home = &mut keys.parts[0];
        if is_payment {
            home.rows.push(warehouse as u32);
        }
        home.rows.push((WAREHOUSES + warehouse * DISTRICTS + district) as u32);
        // The customer of a Payment; the customer and ten stocks of a New-Order.
        let cold = if is_payment { 1 } else { 11 };
        home.draw_cold(cold - usize::from(!is_local), self.cold(), dice);
        if let Some(remote) = keys.parts.get_mut(1) {
            remote.draw_cold(1, self.cold(), dice);
        }
    }
}

/// A transaction's records at one node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PartKeys {
    pub node: usize,
    /// The hot ones first.
    pub rows: Vec<u32>,
}

impl PartKeys {
    /// Adds so many different rows of the cold ones, in order.
    fn draw_cold(&mut self, count: usize, cold: Range<u64>, dice: &mut Dice) {
        let first = self.rows.len();
        while self.rows.len() < first + count {
            let row = (cold.start + dice.below(cold.end - cold.start)) as u32;
            if !self.rows[first..].contains(&row) {
                self.rows.push(row);
            }
        }
        self.rows[first..].sort_unstable();
        debug_assert!(self.rows.len() <= MAX_KEYS);
    }
}

/// A transaction's records; its home is the first participant.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TxnKeys {
    pub parts: Vec<PartKeys>,
    pub is_dependent: bool,
}

impl TxnKeys {
    fn add_part(&mut self, node: usize) {
        self.parts.push(PartKeys { node, rows: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_ten_records_and_one_hot_at_each_node() {
        let mut dice = Dice(1);
        for participants in 2..=MAX_PARTS {
            let shape = WorkloadShape::short(100).with_distributed(0.5, participants);
            let drawn: Vec<_> = (0..400).map(|_| shape.draw(3, 8, &mut dice)).collect();
            let several = drawn.iter().filter(|txn| txn.parts.len() > 1).count();
            assert!((150..250).contains(&several), "{several} are on several nodes");
            for txn in drawn {
                assert!(txn.parts.len() == 1 || txn.parts.len() == participants);
                assert_eq!(txn.parts.iter().map(|part| part.rows.len()).sum::<usize>(), 10);
                assert!(
                    txn.parts.iter().all(|part| part.rows[0] < 100 && part.rows[1..].iter().all(|row| *row >= 100))
                );
                assert_eq!(txn.parts[0].node, 3);
            }
        }
    }

    #[test]
    fn tpcc_is_hot_at_its_home_alone() {
        let shape = WorkloadShape::tpcc().with_distributed(1.0, 2);
        let mut dice = Dice(1);
        for _ in 0..100 {
            let txn = shape.draw(0, 8, &mut dice);
            assert!(txn.parts[1].rows.iter().all(|row| u64::from(*row) >= shape.hot));
            assert!(u64::from(txn.parts[0].rows[0]) < shape.hot);
        }
    }
}
