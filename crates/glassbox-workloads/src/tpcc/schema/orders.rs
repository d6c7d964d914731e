//! Orders, their lines, and payments.

use glassbox::Record;
use glassbox::record::{Text, Timestamp};

use super::Money;

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
