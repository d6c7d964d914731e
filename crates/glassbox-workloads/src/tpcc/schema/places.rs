//! Warehouses, their districts, and the customers of these.

use std::mem::offset_of;
use std::ops::Range;

use glassbox::Record;
use glassbox::record::{Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Money, Rate};

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

/// The names of a district and its warehouse: the same in all partitions, never changed.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "place_name", key = (w_id, d_id), replicated, access = point)]
pub struct PlaceName {
    /// The warehouse.
    pub w_id: u16,
    /// The district.
    pub d_id: u8,
    /// The warehouse's name.
    pub warehouse: Text<10>,
    /// The district's name.
    pub district: Text<10>,
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

impl Customer {
    /// The bytes in memory of all that orders and deliveries touch.
    pub const FRONT: Range<usize> = 0..offset_of!(Customer, middle);
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
