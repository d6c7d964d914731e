//! What every run asserts: the order of conflicting transactions, exclusive rows, and a serial order.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

/// The transactions on a row: the last one that began, and whether it has not ended.
#[derive(Debug, Clone, Copy, Default)]
struct RowUse {
    last: u64,
    is_held: bool,
}

/// Checks that transactions with a row in common execute one after the other, in the order of the log if there is one.
#[derive(Debug)]
pub(super) struct RowOrderCheck {
    nodes: Vec<HashMap<u32, RowUse, FixedState>>,
    /// Rows below are checked.
    checked: u32,
    /// The order of all rows, if a serial order is looked for.
    serial: Option<BTreeMap<(usize, u32), Vec<u64>>>,
}

impl RowOrderCheck {
    /// Checks the first rows of each node, or all.
    pub fn new(nodes: usize, hot: u64, is_thorough: bool) -> Self {
        let checked = if is_thorough { u32::MAX } else { hot as u32 };
        Self { nodes: (0..nodes).map(|_| HashMap::default()).collect(), checked, serial: None }
    }

    /// In addition keeps what [`Self::assert_serializable`] needs.
    pub fn keep_order(&mut self) {
        self.serial = Some(BTreeMap::new());
    }

    /// A transaction begins to execute on rows of a node, in an order if it has one.
    pub fn begin(&mut self, node: usize, rows: &[u32], (txn, is_ordered): (u64, bool)) {
        for &row in rows.iter().filter(|row| **row < self.checked) {
            let used = self.nodes[node].entry(row).or_default();
            assert!(!used.is_held, "row {row} of node {node} is used by {txn} while {} executes", used.last);
            assert!(!is_ordered || used.last < txn, "{txn} executes on row {row} of node {node} after {}", used.last);
            *used = RowUse { last: txn, is_held: true };
        }
    }

    /// A transaction is rolled back.
    pub fn abort(&mut self, node: usize, rows: &[u32], txn: u64) {
        let serial = self.serial.take();
        self.end(node, rows, txn);
        self.serial = serial;
    }

    /// A transaction has executed.
    pub fn end(&mut self, node: usize, rows: &[u32], txn: u64) {
        for &row in rows.iter().filter(|row| **row < self.checked) {
            let used = self.nodes[node].get_mut(&row).expect("a row that is released was used");
            assert!(
                used.is_held && used.last == txn,
                "{txn} releases row {row} of node {node}, which it does not hold"
            );
            used.is_held = false;
            if let Some(serial) = &mut self.serial {
                serial.entry((node, row)).or_default().push(txn);
            }
        }
    }

    /// Asserts that some serial order explains the order on every row.
    pub fn assert_serializable(&self) {
        let Some(serial) = &self.serial else { return };
        let mut after: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut before: BTreeMap<u64, usize> = BTreeMap::new();
        for order in serial.values() {
            for txn in order {
                before.entry(*txn).or_default();
            }
            for pair in order.windows(2) {
                after.entry(pair[0]).or_default().push(pair[1]);
                *before.entry(pair[1]).or_default() += 1;
            }
        }
        let mut free: Vec<u64> = before.iter().filter(|(_, count)| **count == 0).map(|(txn, _)| *txn).collect();
        let mut ordered = 0;
        while let Some(txn) = free.pop() {
            ordered += 1;
            for next in after.remove(&txn).into_iter().flatten() {
                let count = before.get_mut(&next).expect("it was counted");
                *count -= 1;
                if *count == 0 {
                    free.push(next);
                }
            }
        }
        assert_eq!(ordered, before.len(), "the transactions have no serial order");
    }
}

/// Counts inputs: each ends once.
#[derive(Debug, Default)]
pub(super) struct InputCount {
    issued: u64,
    ended: u64,
}

impl InputCount {
    pub fn issue(&mut self) {
        self.issued += 1;
    }

    pub fn end(&mut self) {
        self.ended += 1;
    }

    /// Asserts that all other inputs are open.
    pub fn assert_open(&self, open: usize) {
        assert_eq!(self.issued, self.ended + open as u64, "an input was lost or executed twice");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "executes on row 7")]
    fn a_transaction_out_of_order_is_caught() {
        let mut check = RowOrderCheck::new(1, 100, false);
        for txn in [2, 1] {
            check.begin(0, &[7], (txn, true));
            check.end(0, &[7], txn);
        }
    }

    #[test]
    #[should_panic(expected = "have no serial order")]
    fn orders_that_contradict_each_other_are_caught() {
        let mut check = RowOrderCheck::new(2, 100, true);
        check.keep_order();
        for (node, txn) in [(0, 1), (0, 2), (1, 2), (1, 1)] {
            check.begin(node, &[7], (txn, false));
            check.end(node, &[7], txn);
        }
        check.assert_serializable();
    }

    #[test]
    #[should_panic(expected = "while 1 executes")]
    fn two_transactions_on_a_row_are_caught() {
        let mut check = RowOrderCheck::new(1, 100, false);
        check.begin(0, &[7], (1, true));
        check.begin(0, &[7], (2, true));
    }
}
