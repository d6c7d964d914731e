//! The nine tables of TPC-C (clause 1.3), ten here.
//!
//! What differs from the specification, and why:
//! - STOCK is split in two, as in *Low Overhead Concurrency Control for Partitioned Main Memory Databases* (SIGMOD 2010,
//!   section 5.5): [`Stock`] has what orders change and is partitioned; [`StockInfo`] has what they only read and is replicated
//!   to every partition. An order line from a remote warehouse then writes there, but reads nothing there.
//! - [`History`] has a key, as every table here does: the customer, and the number of the payment for that customer. It is
//!   therefore partitioned by the customer's warehouse, not the one that was paid.
//! - Counters that the specification gives four digits are wider, since runs here are long.
//!
//! Identifiers are as narrow as the specification allows, so that every key that transactions look up has at most 8 bytes.
//! Tables whose rows are looked up by their whole key have hash indexes (`access = point`).
//!
//! The wide tables that are updated often keep their declared order in memory (`repr(C)`): what transactions change stands first,
//! within a cache line or two, and texts that are only shown come last.

use glassbox::Record;
use glassbox::record::{Decimal, Text, Timestamp};
use serde::{Deserialize, Serialize};

/// An amount of money.
pub type Money = Decimal<2>;
/// A share of one: a tax or a discount.
pub type Rate = Decimal<4>;

/// WAREHOUSE.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "warehouse", key = id, partition_by = id, access = point)]
#[repr(C)]
pub struct Warehouse {
    /// Sum of all payments to it.
    pub ytd: Money,
    /// Sales tax.
    pub tax: Rate,
    /// 1, 2, …
    pub id: u16,
    /// Name.
    pub name: Text<10>,
    /// Address, first line.
    pub street_1: Text<20>,
    /// Address, second line.
    pub street_2: Text<20>,
    /// City.
    pub city: Text<20>,
    /// State.
    pub state: Text<2>,
    /// Postal code.
    pub zip: Text<9>,
}

/// DISTRICT.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "district", key = (w_id, id), partition_by = w_id, access = point)]
#[repr(C)]
pub struct District {
    /// Sum of all payments to it.
    pub ytd: Money,
    /// Sales tax.
    pub tax: Rate,
    /// Number of the next order.
    pub next_o_id: u32,
    /// Its warehouse.
    pub w_id: u16,
    /// 1 to 10.
    pub id: u8,
    /// Name.
    pub name: Text<10>,
    /// Address, first line.
    pub street_1: Text<20>,
    /// Address, second line.
    pub street_2: Text<20>,
    /// City.
    pub city: Text<20>,
    /// State.
    pub state: Text<2>,
    /// Postal code.
    pub zip: Text<9>,
}

/// CUSTOMER. The first 64 bytes are all that orders and deliveries touch.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "customer", key = (w_id, d_id, id), partition_by = w_id, access = point,
         index(name = by_name, columns = (w_id, d_id, last, first)))]
#[repr(C)]
pub struct Customer {
    /// Amounts of delivered orders less payments.
    pub balance: Money,
    /// Sum of payments.
    pub ytd_payment: Money,
    /// Discount.
    pub discount: Rate,
    /// How many payments, the one of the population among them.
    pub payment_cnt: u32,
    /// How many orders were delivered since the population.
    pub delivery_cnt: u32,
    /// Warehouse.
    pub w_id: u16,
    /// 1 to 3,000 in its district.
    pub id: u16,
    /// District.
    pub d_id: u8,
    /// `GC`, good credit, or `BC`, bad credit.
    pub credit: Text<2>,
    /// Last name.
    pub last: Text<16>,
    /// Middle name.
    pub middle: Text<2>,
    /// First name.
    pub first: Text<16>,
    /// When it became a customer.
    pub since: Timestamp,
    /// How much credit it may have.
    pub credit_lim: Money,
    /// Address, first line.
    pub street_1: Text<20>,
    /// Address, second line.
    pub street_2: Text<20>,
    /// City.
    pub city: Text<20>,
    /// State.
    pub state: Text<2>,
    /// Postal code.
    pub zip: Text<9>,
    /// Telephone number.
    pub phone: Text<16>,
    /// Miscellaneous information; for bad credit, the latest payments.
    pub data: Text<500>,
}

/// HISTORY: one payment.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "history", key = (c_w_id, c_d_id, c_id, number), partition_by = c_w_id, access = point)]
pub struct History {
    /// Warehouse of the customer.
    pub c_w_id: u16,
    /// District of the customer.
    pub c_d_id: u8,
    /// The customer who paid.
    pub c_id: u16,
    /// The customer's payments so far, this one included. Not in the specification; completes the key.
    pub number: u32,
    /// Warehouse that was paid.
    pub w_id: u16,
    /// District that was paid.
    pub d_id: u8,
    /// When.
    pub date: Timestamp,
    /// How much.
    pub amount: Money,
    /// Names of warehouse and district.
    pub data: Text<24>,
}

/// NEW-ORDER: an order that is not yet delivered.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "new_order", key = (w_id, d_id, o_id), partition_by = w_id)]
pub struct Undelivered {
    /// Warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// The order.
    pub o_id: u32,
}

/// ORDER.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "orders", key = (w_id, d_id, id), partition_by = w_id,
         index(name = by_customer, columns = (w_id, d_id, c_id)))]
pub struct Order {
    /// Warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// Counts up from 1 in its district.
    pub id: u32,
    /// The customer.
    pub c_id: u16,
    /// Who delivered it; `None` before it is.
    pub carrier_id: Option<u8>,
    /// How many lines it has.
    pub ol_cnt: u8,
    /// Whether all its items come from the home warehouse.
    pub all_local: bool,
    /// When it was entered.
    pub entry_d: Timestamp,
}

/// ORDER-LINE.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "order_line", key = (w_id, d_id, o_id, number), partition_by = w_id)]
pub struct OrderLine {
    /// Warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// The order.
    pub o_id: u32,
    /// 1, 2, … in its order.
    pub number: u8,
    /// How many.
    pub quantity: u8,
    /// Warehouse the item comes from.
    pub supply_w_id: u16,
    /// The item.
    pub i_id: u32,
    /// Quantity times price; before discount and taxes.
    pub amount: Money,
    /// When it was delivered; `None` before it is.
    pub delivery_d: Option<Timestamp>,
    /// The stock's text for the district.
    pub dist_info: Text<24>,
}

/// ITEM: the same in all partitions, never changed.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "item", key = id, replicated, access = point)]
pub struct Item {
    /// 1 to 100,000.
    pub id: u32,
    /// Identifies a picture.
    pub im_id: u32,
    /// Price of one.
    pub price: Money,
    /// Name.
    pub name: Text<24>,
    /// Brand information: holds `ORIGINAL` for one item in ten.
    pub data: Text<50>,
}

/// What orders change of STOCK.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stock", key = (w_id, i_id), partition_by = w_id, access = point)]
#[repr(C)]
pub struct Stock {
    /// Sum of ordered quantities.
    pub ytd: u64,
    /// The item.
    pub i_id: u32,
    /// Order lines so far.
    pub order_cnt: u32,
    /// Those from other warehouses.
    pub remote_cnt: u32,
    /// The warehouse.
    pub w_id: u16,
    /// How many are there.
    pub quantity: i16,
}

/// What orders only read of STOCK: the same in all partitions, never changed.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "stock_info", key = (w_id, i_id), replicated, access = point)]
#[allow(missing_docs)]
pub struct StockInfo {
    /// The warehouse.
    pub w_id: u16,
    /// The item.
    pub i_id: u32,
    pub dist_01: Text<24>,
    pub dist_02: Text<24>,
    pub dist_03: Text<24>,
    pub dist_04: Text<24>,
    pub dist_05: Text<24>,
    pub dist_06: Text<24>,
    pub dist_07: Text<24>,
    pub dist_08: Text<24>,
    pub dist_09: Text<24>,
    pub dist_10: Text<24>,
    /// Brand information: holds `ORIGINAL` for one row in ten.
    pub data: Text<50>,
}

impl StockInfo {
    /// The text for a district; the first one's for a district that does not exist.
    #[inline]
    pub fn dist(&self, d_id: u8) -> &Text<24> {
        match d_id {
            2 => &self.dist_02,
            3 => &self.dist_03,
            4 => &self.dist_04,
            5 => &self.dist_05,
            6 => &self.dist_06,
            7 => &self.dist_07,
            8 => &self.dist_08,
            9 => &self.dist_09,
            10 => &self.dist_10,
            _ => &self.dist_01,
        }
    }
}

/// An address, as procedures answer it.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Address {
    /// First line.
    pub street_1: Text<20>,
    /// Second line.
    pub street_2: Text<20>,
    /// City.
    pub city: Text<20>,
    /// State.
    pub state: Text<2>,
    /// Postal code.
    pub zip: Text<9>,
}

macro_rules! has_address {
    ($($table:ty),+) => {$(
        impl $table {
            /// Its address.
            #[inline]
            pub fn address(&self) -> Address {
                let Self { street_1, street_2, city, state, zip, .. } = *self;
                Address { street_1, street_2, city, state, zip }
            }
        }
    )+};
}

has_address!(Warehouse, District, Customer);

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
