//! How big a database is: the specification's sizes, or smaller ones for tests.

use serde::{Deserialize, Serialize};

/// Districts of a warehouse; not to be scaled, procedures rely on it.
pub const DISTRICTS: u8 = 10;

/// Sizes of the population (clause 1.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Warehouses, numbered from 1.
    pub warehouses: u16,
    /// Items, and as many rows of stock in each warehouse.
    pub items: u32,
    /// Customers in each district.
    pub customers: u16,
    /// Orders in each district; the last three in ten are not delivered.
    pub orders: u32,
}

/// Sizes that no database can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a TPC-C database cannot have {what} = {value}: it must be within {low} and {high}")]
pub struct BadScale {
    what: &'static str,
    value: u64,
    low: u64,
    high: u64,
}

impl Scale {
    /// The specification's sizes for so many warehouses.
    pub const fn full(warehouses: u16) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000, orders: 3_000 }
    }

    /// About a hundredth of them, for tests.
    pub const fn small(warehouses: u16) -> Self {
        Self { warehouses, items: 1_000, customers: 30, orders: 30 }
    }

    /// Checks that every size is one that a database can have.
    ///
    /// # Errors
    /// [`BadScale`] names the first that is not.
    pub fn check(&self) -> Result<(), BadScale> {
        let sizes = [
            ("warehouses", u64::from(self.warehouses), 1, u64::from(u16::MAX)),
            ("items", u64::from(self.items), 15, 100_000),
            ("customers", u64::from(self.customers), 1, 3_000),
            ("orders", u64::from(self.orders), 1, 100_000),
        ];
        match sizes.into_iter().find(|&(_, value, low, high)| !(low..=high).contains(&value)) {
            Some((what, value, low, high)) => Err(BadScale { what, value, low, high }),
            None => Ok(()),
        }
    }

    /// Orders of each district that the population delivered: 2,100 of 3,000.
    pub const fn delivered(&self) -> u32 {
        self.orders - self.orders * 3 / 10
    }

    /// Last names that occur in every district: 1,000, or as many as there are customers.
    pub fn last_names(&self) -> u64 {
        u64::from(self.customers).min(super::random::LAST_NAMES)
    }

    /// Numbers of the warehouses.
    pub fn warehouse_ids(&self) -> std::ops::RangeInclusive<u16> {
        1..=self.warehouses
    }
}
