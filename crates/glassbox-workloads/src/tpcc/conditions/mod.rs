//! The twelve consistency conditions (clause 3.3.2), and one more.
//!
//! Each is a function over a transaction that must see the whole database. Tables of point access cannot be scanned, so
//! their keys are counted up from the [`Scale`]; payments, from each customer's count of them.
//!
//! Two differences from the specification:
//! - Condition 11 is stated for a fresh population only (2,100 more orders than undelivered ones). Here the deliveries
//!   that customers counted since are added, so that it holds at any time.
//! - None of the twelve looks at stock, which is the very thing that orders change in other warehouses. Condition 13 is
//!   our own: every stock's counters are what the orders since the population add up to.

mod customers;
mod districts;
mod orders;
mod payments;

use std::fmt;

use glassbox::procedure::{Stop, Transaction};
use serde::{Deserialize, Serialize};

use super::scale::Scale;
use super::schema::District;

pub use customers::{condition_10, condition_12};
pub use districts::{condition_1, condition_2, condition_3, condition_4};
pub use orders::{condition_5, condition_6, condition_7, condition_11, condition_13};
pub use payments::{condition_8, condition_9};

/// How many violations of a condition are told; the others are counted.
const TOLD: usize = 5;

/// What a condition found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Number of the condition, 1 to 13.
    pub condition: u8,
    /// How many things were compared.
    pub checked: u64,
    /// How many were wrong.
    pub wrong: u64,
    /// The first few that were wrong, with the numbers.
    pub violations: Vec<String>,
}

impl Report {
    fn new(condition: u8) -> Self {
        Self { condition, checked: 0, wrong: 0, violations: Vec::new() }
    }

    /// Whether the condition holds.
    pub const fn holds(&self) -> bool {
        self.wrong == 0
    }

    /// Counts a comparison, and a violation when `left` and `right` differ.
    fn equal<V: PartialEq + fmt::Debug>(&mut self, left: V, right: V, what: impl FnOnce() -> String) {
        self.check(left == right, || format!("{}: {left:?} is not {right:?}", what()));
    }

    /// Counts a comparison, and a violation when it does not hold.
    fn check(&mut self, holds: bool, violation: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.wrong += 1;
            if self.violations.len() < TOLD {
                self.violations.push(violation());
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, checked, wrong, violations } = self;
        if self.holds() {
            return write!(f, "condition {condition} holds ({checked} checked)");
        }
        write!(f, "condition {condition} is violated {wrong} times of {checked}: {}", violations.join("; "))
    }
}

/// All thirteen, in order.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn check_all<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Vec<Report>, Stop> {
    Ok(vec![
        condition_1(tx, scale)?,
        condition_2(tx, scale)?,
        condition_3(tx, scale)?,
        condition_4(tx, scale)?,
        condition_5(tx, scale)?,
        condition_6(tx, scale)?,
        condition_7(tx, scale)?,
        condition_8(tx, scale)?,
        condition_9(tx, scale)?,
        condition_10(tx, scale)?,
        condition_11(tx, scale)?,
        condition_12(tx, scale)?,
        condition_13(tx, scale)?,
    ])
}

/// The orders entered since the population, as the districts count them: none that was answered may be missing here.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn orders_entered<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<u64, Stop> {
    let mut orders = 0;
    for key in districts(scale) {
        let district = tx.get::<District>(&key)?;
        orders += district.map_or(0, |district| u64::from(district.next_o_id - 1 - scale.orders));
    }
    Ok(orders)
}

/// All thirteen; the violated ones.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn violated<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Vec<Report>, Stop> {
    let mut reports = check_all(tx, scale)?;
    reports.retain(|report| !report.holds());
    Ok(reports)
}

/// Every district: warehouse and number.
fn districts(scale: &Scale) -> impl Iterator<Item = (u16, u8)> + use<> {
    scale.warehouse_ids().flat_map(|w_id| (1..=super::DISTRICTS).map(move |d_id| (w_id, d_id)))
}

/// Place of a district in a list of all.
fn place(w_id: u16, d_id: u8) -> usize {
    (usize::from(w_id) - 1) * usize::from(super::DISTRICTS) + usize::from(d_id) - 1
}
