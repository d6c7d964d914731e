//! Checks of the whole state: sums to compare with an engine's, and TPC-C's consistency conditions.

use std::collections::HashMap;
use std::fmt;

use crate::keys;
use crate::memory::Row;
use crate::store::{Indexes, Kernel};
use crate::tree::Tree;

/// Sums over the tables. Equal states have equal sums, and every transaction of the mix changes at least one of them.
/// Money is in cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "table and column, or table and number of rows")]
pub struct Checksum {
    pub warehouse_ytd: i64,
    pub district_ytd: i64,
    pub district_next_o_id: i64,
    pub customer_balance: i64,
    pub customer_ytd_payment: i64,
    pub customer_payment_cnt: i64,
    pub history_amount: i64,
    pub history_rows: i64,
    pub order_ol_cnt: i64,
    pub order_rows: i64,
    pub new_order_rows: i64,
    pub order_line_amount: i64,
    pub order_line_rows: i64,
    pub stock_quantity: i64,
    pub stock_ytd: i64,
    pub stock_order_cnt: i64,
}

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency(String);

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Inconsistency {}

fn same<T: PartialEq + fmt::Debug>(what: impl fmt::Display, one: T, other: T) -> Result<(), Inconsistency> {
    if one == other { Ok(()) } else { Err(Inconsistency(format!("{what}: {one:?} against {other:?}"))) }
}

/// The index holds exactly the given keys, each for the row at its position.
fn complete<T>(what: &str, index: &Tree<T>, keys: impl Iterator<Item = u64>) -> Result<(), Inconsistency> {
    let mut expected: Vec<_> = keys.zip(0_u32..).collect();
    expected.sort_unstable();
    let found: Vec<_> = index.scan(0).map(|(key, row): (u64, Row<T>)| (key, row.number())).collect();
    same(format!("{what}: entries"), found.len(), expected.len())?;
    found.iter().zip(&expected).try_for_each(|(found, expected)| same(what, found, expected))
}

impl<I: Indexes, const PREFETCH: bool> Kernel<I, PREFETCH> {
    /// The sums over the state as it is.
    pub fn checksum(&self) -> Checksum {
        let mut sums = Checksum {
            history_rows: self.history.as_slice().len() as i64,
            order_rows: self.orders.as_slice().len() as i64,
            new_order_rows: self.new_orders.as_slice().len() as i64,
            order_line_rows: self.order_lines.as_slice().len() as i64,
            warehouse_ytd: self.warehouses.as_slice().iter().map(|row| row.ytd).sum(),
            history_amount: self.history.as_slice().iter().map(|row| i64::from(row.amount)).sum(),
            order_ol_cnt: self.orders.as_slice().iter().map(|row| i64::from(row.ol_cnt)).sum(),
            order_line_amount: self.order_lines.as_slice().iter().map(|row| i64::from(row.amount)).sum(),
            ..Checksum::default()
        };
        for row in self.districts.as_slice() {
            sums.district_ytd += row.ytd;
            sums.district_next_o_id += i64::from(row.next_o_id);
        }
        for row in self.customers.as_slice() {
            sums.customer_balance += row.balance;
            sums.customer_ytd_payment += row.ytd_payment;
            sums.customer_payment_cnt += i64::from(row.payment_cnt);
        }
        for row in self.stocks.as_slice() {
            sums.stock_quantity += i64::from(row.quantity);
            sums.stock_ytd += i64::from(row.ytd);
            sums.stock_order_cnt += i64::from(row.order_cnt);
        }
        sums
    }

    /// Checks TPC-C's consistency conditions 1 to 4 and 8 (clause 3.3.2), and that the ordered indexes hold every row
    /// once.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check(&self) -> Result<(), Inconsistency> {
        self.check_money()?;
        self.check_orders()?;
        let orders = self.orders.as_slice().iter();
        complete("order", &self.order_by_id, orders.clone().map(|row| keys::order(row.w_id, row.d_id, row.id)))?;
        let by_customer = orders.map(|row| keys::order_of_customer(row.w_id, row.d_id, row.c_id, row.id));
        complete("order by customer", &self.order_by_customer, by_customer)?;
        let new_orders = self.new_orders.as_slice().iter().map(|row| keys::order(row.w_id, row.d_id, row.o_id));
        complete("new order", &self.new_order_by_id, new_orders)?;
        let lines = self.order_lines.as_slice().iter();
        let lines = lines.map(|row| keys::order_line(row.w_id, row.d_id, row.o_id) + u64::from(row.number));
        complete("order line", &self.order_line_by_id, lines)?;
        let names = self.customers.as_slice().iter();
        let names = names.map(|row| keys::customer_name(row.w_id, row.d_id, row.id, &row.last, &row.first));
        complete("customer by name", &self.customer_by_name, names)
    }

    /// Conditions 1 and 8: a warehouse's total is the sum of its districts' totals, and of its history.
    fn check_money(&self) -> Result<(), Inconsistency> {
        for warehouse in self.warehouses.as_slice() {
            let districts = self.districts.as_slice().iter().filter(|row| row.w_id == warehouse.id);
            same(format!("ytd of warehouse {}", warehouse.id), warehouse.ytd, districts.map(|row| row.ytd).sum())?;
            let history = self.history.as_slice().iter().filter(|row| row.w_id == warehouse.id);
            let paid = history.map(|row| i64::from(row.amount)).sum();
            same(format!("history of warehouse {}", warehouse.id), warehouse.ytd, paid)?;
        }
        Ok(())
    }

    /// Conditions 2 to 4: order numbers have no gaps, and orders have as many lines as they declare.
    fn check_orders(&self) -> Result<(), Inconsistency> {
        // For each district: highest order, declared lines, existing lines; lowest, highest and number of new orders.
        let mut found = HashMap::<u64, (u32, usize, usize, u32, u32, u32)>::new();
        for row in self.orders.as_slice() {
            let district = found.entry(keys::district(row.w_id, row.d_id)).or_insert((0, 0, 0, u32::MAX, 0, 0));
            district.0 = district.0.max(row.id);
            district.1 += usize::from(row.ol_cnt);
        }
        for row in self.order_lines.as_slice() {
            found.entry(keys::district(row.w_id, row.d_id)).or_default().2 += 1;
        }
        for row in self.new_orders.as_slice() {
            let district = found.entry(keys::district(row.w_id, row.d_id)).or_default();
            (district.3, district.4) = (district.3.min(row.o_id), district.4.max(row.o_id));
            district.5 += 1;
        }
        for district in self.districts.as_slice() {
            let key = keys::district(district.w_id, district.id);
            let (greatest, declared, lines, min_new, max_new, new) = found.get(&key).copied().unwrap_or_default();
            same(format!("last order of district {key}"), district.next_o_id - 1, greatest)?;
            same(format!("order lines of district {key}"), declared, lines)?;
            if new > 0 {
                same(format!("last new order of district {key}"), greatest, max_new)?;
                same(format!("new orders of district {key}"), max_new - min_new + 1, new)?;
            }
        }
        Ok(())
    }
}
