//! The nine tables' rows, as plain structs of the specification's sizes (TPC-C 5.11, clause 1.3).
//!
//! The order of columns puts those that the mix reads and writes together into one cache line. Money is in cents, taxes
//! and discounts in ten-thousandths, times in microseconds since 1970; texts are padded with zeros. Counters are wider
//! than the specification's four digits, since runs here are long.

/// A warehouse.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct Warehouse {
    pub ytd: i64,
    pub tax: i32,
    pub id: u16,
    pub name: [u8; 10],
    pub street_1: [u8; 20],
    pub street_2: [u8; 20],
    pub city: [u8; 20],
    pub state: [u8; 2],
    pub zip: [u8; 9],
}

/// A district of a warehouse.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct District {
    pub ytd: i64,
    pub next_o_id: u32,
    pub tax: i32,
    pub w_id: u16,
    pub id: u8,
    pub name: [u8; 10],
    pub street_1: [u8; 20],
    pub street_2: [u8; 20],
    pub city: [u8; 20],
    pub state: [u8; 2],
    pub zip: [u8; 9],
}

/// A customer of a district: 704 bytes, of which a Payment by one with good credit touches the first 64.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct Customer {
    pub balance: i64,
    pub ytd_payment: i64,
    pub credit_lim: i64,
    pub payment_cnt: u32,
    pub delivery_cnt: u32,
    pub discount: i32,
    pub w_id: u16,
    pub id: u16,
    pub d_id: u8,
    pub credit: [u8; 2],
    pub middle: [u8; 2],
    pub last: [u8; 16],
    pub first: [u8; 16],
    pub street_1: [u8; 20],
    pub street_2: [u8; 20],
    pub city: [u8; 20],
    pub state: [u8; 2],
    pub zip: [u8; 9],
    pub phone: [u8; 16],
    pub since: i64,
    pub data: [u8; 500],
}

/// A payment.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct History {
    pub date: i64,
    pub amount: i32,
    pub c_w_id: u16,
    pub c_id: u16,
    pub w_id: u16,
    pub c_d_id: u8,
    pub d_id: u8,
    pub data: [u8; 24],
}

/// An order. `carrier_id` 0 is an order not yet delivered.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct Order {
    pub entry_d: i64,
    pub id: u32,
    pub w_id: u16,
    pub c_id: u16,
    pub d_id: u8,
    pub carrier_id: u8,
    pub ol_cnt: u8,
    pub all_local: u8,
}

/// An order not yet delivered.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct NewOrder {
    pub o_id: u32,
    pub w_id: u16,
    pub d_id: u8,
}

/// A line of an order. `delivery_d` 0 is a line not yet delivered.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct OrderLine {
    pub delivery_d: i64,
    pub dist_info: [u8; 24],
    pub o_id: u32,
    pub i_id: u32,
    pub amount: i32,
    pub w_id: u16,
    pub supply_w_id: u16,
    pub d_id: u8,
    pub number: u8,
    pub quantity: u8,
}

/// An item: 128 bytes, of which a New-Order touches the first 64.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct Item {
    pub id: u32,
    pub price: i32,
    pub data: [u8; 50],
    pub im_id: u32,
    pub name: [u8; 24],
}

/// A warehouse's stock of an item: 320 bytes, of which a New-Order touches the first 64 and one of `dist`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
#[expect(missing_docs, reason = "the specification's columns")]
pub struct Stock {
    pub ytd: u32,
    pub order_cnt: u32,
    pub remote_cnt: u32,
    pub quantity: i16,
    pub data: [u8; 50],
    pub dist: [[u8; 24]; 10],
    pub i_id: u32,
    pub w_id: u16,
}

const _: () = {
    assert!(size_of::<Warehouse>() == 128 && size_of::<District>() == 128 && size_of::<Customer>() == 704);
    assert!(size_of::<History>() == 48 && size_of::<Order>() == 24 && size_of::<NewOrder>() == 8);
    assert!(size_of::<OrderLine>() == 56 && size_of::<Item>() == 128 && size_of::<Stock>() == 320);
};
