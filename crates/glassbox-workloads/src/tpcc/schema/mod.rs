//! The nine tables of TPC-C (clause 1.3), eleven here.
//!
//! What differs from the specification, and why:
//! - STOCK is split in two, as in *Low Overhead Concurrency Control for Partitioned Main Memory Databases* (SIGMOD
//!   2010, section 5.5): [`Stock`] has what orders change and is partitioned; [`StockInfo`] has what they only read and
//!   is replicated to every partition. An order line from a remote warehouse then writes there, but reads nothing
//!   there.
//! - [`PlaceName`] repeats names of warehouses and districts in every partition, for payments to a warehouse of another
//!   partition: the history of a payment has these names, and lies with the customer.
//! - [`History`] has a key, as every table here does: the customer, and the number of the payment for that customer. It
//!   is therefore partitioned by the customer's warehouse, not the one that was paid.
//! - Counters that the specification gives four digits are wider, since runs here are long.
//!
//! Identifiers are as narrow as the specification allows, so that every key that transactions look up has at most 8
//! bytes. Tables whose rows are looked up by their whole key have hash indexes (`access = point`).
//!
//! The wide tables that are updated often keep their declared order in memory (`repr(C)`): what transactions change
//! stands first, within a cache line or two, and texts that are only shown come last.

use glassbox::record::Decimal;

mod goods;
mod orders;
mod places;

pub use goods::{Item, Stock, StockInfo};
pub use orders::{History, Order, OrderByCustomer, OrderLine, Undelivered};
pub use places::{Address, Customer, CustomerByName, District, PlaceName, Warehouse};

/// An amount of money.
pub type Money = Decimal<2>;
/// A share of one: a tax or a discount.
pub type Rate = Decimal<4>;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use glassbox::record::{Key, Record};

    #[test]
    fn looked_up_keys_fit_a_word_and_hot_columns_a_line() {
        assert_eq!(<OrderLine as Record>::Key::WIDTH, 8);
        assert_eq!(<Order as Record>::Key::WIDTH, 7);
        assert_eq!(<Undelivered as Record>::Key::WIDTH, 7);
        assert_eq!(<Customer as Record>::Key::WIDTH, 5);
        assert!(offset_of!(Customer, last) + 16 <= 64);
        assert_eq!(size_of::<Stock>(), 24);
    }
}
