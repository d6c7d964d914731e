//! Keys, packed into one `u64` each so that they order as the columns do.
//!
//! Warehouse, district, customer, item and stock numbers are dense, so their keys are too: consecutive rows have
//! consecutive keys. Orders and their lines take bit fields, because their numbers have no upper end.

/// The key of a district: consecutive over all warehouses. Below 2^20.
#[inline(always)]
pub(super) fn district(w_id: u16, d_id: u8) -> u64 {
    u64::from(w_id) * 10 + u64::from(d_id) - 1
}

/// The key of a customer: consecutive over all districts of 3,000 customers. Below 2^31.
#[inline(always)]
pub(super) fn customer(w_id: u16, d_id: u8, c_id: u16) -> u64 {
    district(w_id, d_id) * 3_000 + u64::from(c_id) - 1
}

/// The key of a warehouse's stock of an item: consecutive over all warehouses of 100,000 items.
#[inline(always)]
pub(super) fn stock(w_id: u16, i_id: u32) -> u64 {
    u64::from(w_id) * 100_000 + u64::from(i_id) - 1
}

/// The key of an order, and of its row among the new orders: district, order.
#[inline(always)]
pub(super) fn order(w_id: u16, d_id: u8, o_id: u32) -> u64 {
    district(w_id, d_id) << 32 | u64::from(o_id)
}

/// The key of an order's line 0 (lines count from 1): district, order, line.
#[inline(always)]
pub(super) fn order_line(w_id: u16, d_id: u8, o_id: u32) -> u64 {
    order(w_id, d_id, o_id) << 4
}

/// The key of an order among its customer's orders: customer, order.
#[inline(always)]
pub(super) fn order_of_customer(w_id: u16, d_id: u8, c_id: u16, o_id: u32) -> u64 {
    customer(w_id, d_id, c_id) << 32 | u64::from(o_id)
}

/// The key of a customer by name: district (20 bits), last name (10), the start of the first name (22), customer (12).
///
/// A last name is three of ten syllables (TPC-C, clause 4.3.2.3), so its number says it all; another name counts as
/// number 0. Two first names that agree in 22 bits are in the order of their customers, and a reader that needs more
/// looks at the rows.
pub(super) fn customer_name(w_id: u16, d_id: u8, c_id: u16, last: &[u8], first: &[u8]) -> u64 {
    let start = |i: usize| first.get(i).copied().map_or(0, u64::from);
    let first_bits = (start(0) << 16 | start(1) << 8 | start(2)) >> 2;
    district(w_id, d_id) << 44 | name_number(last) << 34 | first_bits << 12 | u64::from(c_id)
}

/// The place of a last name among the thousand, in the order of the alphabet.
fn name_number(last: &[u8]) -> u64 {
    const SYLLABLES: [&[u8]; 10] =
        [b"ABLE", b"ANTI", b"ATION", b"BAR", b"CALLY", b"EING", b"ESE", b"OUGHT", b"PRES", b"PRI"];
    let mut rest = last;
    let mut number = 0;
    for _ in 0..3 {
        let Some(digit) = SYLLABLES.iter().position(|syllable| rest.starts_with(syllable)) else { return 0 };
        rest = &rest[SYLLABLES[digit].len()..];
        number = number * 10 + digit as u64;
    }
    number
}
