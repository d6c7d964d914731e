//! Data and inputs of the specification's shape and sizes (TPC-C 5.11, clauses 4.3.3 and 2.1.6), from a seed.
//!
//! A stand-in until the shared generator fills the kernel; the kernel needs nothing of it but [`fill`] and [`inputs`].

use super::new_order::{LINES, Line, NewOrderInput};
use super::payment::PaymentInput;
use super::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use super::store::{Indexes, Input, Kernel, Sizing};

/// How much is loaded. [`Scale::standard`] is the specification's; tests take less.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u16,
    /// Items, and rows of stock of each warehouse: 100,000 at most.
    pub items: u32,
    /// Customers, and orders, of each district: 3,000 at most.
    pub customers: u16,
}

impl Scale {
    /// The specification's.
    pub fn standard(warehouses: u16) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }

    /// Room for this load and so many transactions.
    pub fn sizing(&self, transactions: usize) -> Sizing {
        let warehouses = usize::from(self.warehouses);
        let customers = warehouses * 10 * usize::from(self.customers);
        let items = self.items as usize;
        Sizing {
            warehouses,
            customers,
            items,
            stocks: warehouses * items,
            orders: customers + transactions,
            order_lines: customers * 15 + transactions * LINES,
            history: customers + transactions,
        }
    }
}

/// Steele and others' SplitMix64 (*Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `least` to `most`, both included.
    fn uniform(&mut self, least: u32, most: u32) -> u32 {
        least + (self.next() % u64::from(most - least + 1)) as u32
    }

    /// The specification's uneven choice (clause 2.1.6) among 1 to `most`; its range is cut to fit smaller loads.
    fn uneven(&mut self, a: u32, most: u32) -> u32 {
        const C: u32 = 123;
        ((self.uniform(0, a) | self.uniform(1, most)) + C) % most + 1
    }

    /// `least` to `N` letters and digits.
    fn text<const N: usize>(&mut self, least: u32) -> [u8; N] {
        const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut text = [0; N];
        let length = self.uniform(least, N as u32) as usize;
        text[..length].fill_with(|| LETTERS[self.uniform(0, 61) as usize]);
        text
    }

    /// As `text`, saying `ORIGINAL` in one of ten.
    fn data(&mut self) -> [u8; 50] {
        let mut data = self.text(26);
        if self.uniform(1, 10) == 1 {
            let at = self.uniform(0, 18) as usize;
            data[at..at + 8].copy_from_slice(b"ORIGINAL");
        }
        data
    }

    fn zip(&mut self) -> [u8; 9] {
        let mut zip = *b"000011111";
        zip[..4].fill_with(|| b'0' + self.uniform(0, 9) as u8);
        zip
    }

    fn last_name(&mut self, c_id: u16) -> [u8; 16] {
        const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
        let number = if c_id <= 1_000 { u32::from(c_id) - 1 } else { self.uneven(255, 1_000) - 1 } as usize;
        let name = [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit]).concat();
        let mut text = [0; 16];
        text[..name.len()].copy_from_slice(name.as_bytes());
        text
    }
}

/// The time of all loaded rows: 1 January 2026, in microseconds.
const LOADED_AT: i64 = 1_767_225_600_000_000;
/// What every customer has paid before the load, in cents.
const PAID: i32 = 1_000;

/// Loads everything.
pub fn fill<I: Indexes, const PREFETCH: bool>(kernel: &mut Kernel<I, PREFETCH>, scale: &Scale, seed: u64) {
    let random = &mut Random(seed);
    for id in 1..=scale.items {
        let (im_id, price) = (random.uniform(1, 10_000), random.uniform(100, 10_000) as i32);
        kernel.load_item(Item { id, im_id, price, name: random.text(14), data: random.data() });
    }
    for w_id in 1..=scale.warehouses {
        fill_warehouse(kernel, scale, w_id, random);
        for i_id in 1..=scale.items {
            let dist = std::array::from_fn(|_| random.text(24));
            let (quantity, data) = (random.uniform(10, 100) as i16, random.data());
            kernel.load_stock(Stock { ytd: 0, order_cnt: 0, remote_cnt: 0, quantity, data, dist, i_id, w_id });
        }
        for d_id in 1..=10 {
            fill_customers(kernel, scale, w_id, d_id, random);
            fill_orders(kernel, scale, w_id, d_id, random);
        }
    }
}

fn fill_warehouse<I: Indexes, const PREFETCH: bool>(
    kernel: &mut Kernel<I, PREFETCH>,
    scale: &Scale,
    w_id: u16,
    random: &mut Random,
) {
    let ytd = i64::from(scale.customers) * i64::from(PAID);
    kernel.load_warehouse(Warehouse {
        ytd: ytd * 10,
        tax: random.uniform(0, 2_000) as i32,
        id: w_id,
        name: random.text(6),
        street_1: random.text(10),
        street_2: random.text(10),
        city: random.text(10),
        state: random.text(2),
        zip: random.zip(),
    });
    for id in 1..=10 {
        kernel.load_district(District {
            ytd,
            next_o_id: u32::from(scale.customers) + 1,
            tax: random.uniform(0, 2_000) as i32,
            w_id,
            id,
            name: random.text(6),
            street_1: random.text(10),
            street_2: random.text(10),
            city: random.text(10),
            state: random.text(2),
            zip: random.zip(),
        });
    }
}

fn fill_customers<I: Indexes, const PREFETCH: bool>(
    kernel: &mut Kernel<I, PREFETCH>,
    scale: &Scale,
    w_id: u16,
    d_id: u8,
    random: &mut Random,
) {
    for id in 1..=scale.customers {
        kernel.load_customer(Customer {
            balance: -i64::from(PAID),
            ytd_payment: PAID.into(),
            credit_lim: 5_000_000,
            payment_cnt: 1,
            delivery_cnt: 0,
            discount: random.uniform(0, 5_000) as i32,
            w_id,
            id,
            d_id,
            credit: if random.uniform(1, 10) == 1 { *b"BC" } else { *b"GC" },
            middle: *b"OE",
            last: random.last_name(id),
            first: random.text(8),
            street_1: random.text(10),
            street_2: random.text(10),
            city: random.text(10),
            state: random.text(2),
            zip: random.zip(),
            phone: random.text(16),
            since: LOADED_AT,
            data: random.text(300),
        });
        let (c_w_id, c_d_id, date, amount) = (w_id, d_id, LOADED_AT, PAID);
        kernel.load_history(History { date, amount, c_w_id, c_id: id, w_id, c_d_id, d_id, data: random.text(12) });
    }
}

/// One order of each customer, in random order; the last 30 % are not delivered.
fn fill_orders<I: Indexes, const PREFETCH: bool>(
    kernel: &mut Kernel<I, PREFETCH>,
    scale: &Scale,
    w_id: u16,
    d_id: u8,
    random: &mut Random,
) {
    let mut customers: Vec<u16> = (1..=scale.customers).collect();
    for i in (1..customers.len()).rev() {
        customers.swap(i, random.uniform(0, i as u32) as usize);
    }
    let delivered = customers.len() * 7 / 10;
    for (i, c_id) in customers.iter().copied().enumerate() {
        let (o_id, new) = (i as u32 + 1, i >= delivered);
        let ol_cnt = random.uniform(5, 15) as u8;
        let carrier_id = if new { 0 } else { random.uniform(1, 10) as u8 };
        kernel.load_order(Order { entry_d: LOADED_AT, id: o_id, w_id, c_id, d_id, carrier_id, ol_cnt, all_local: 1 });
        if new {
            kernel.load_new_order(NewOrder { o_id, w_id, d_id });
        }
        for number in 1..=ol_cnt {
            let (delivery_d, amount) = if new { (0, random.uniform(1, 999_999) as i32) } else { (LOADED_AT, 0) };
            let (i_id, supply_w_id, dist_info) = (random.uniform(1, scale.items), w_id, random.text(24));
            let quantity = 5;
            let row =
                OrderLine { delivery_d, dist_info, o_id, i_id, amount, w_id, supply_w_id, d_id, number, quantity };
            kernel.load_order_line(row);
        }
    }
}

/// So many transactions: half New-Order (one in a hundred with an unknown item if `refusals`), half Payment, in random
/// order.
pub fn inputs(scale: &Scale, transactions: usize, refusals: bool, seed: u64) -> Vec<Input> {
    let random = &mut Random(seed);
    (0..transactions).map(|_| input(scale, refusals, random)).collect()
}

fn input(scale: &Scale, refusals: bool, random: &mut Random) -> Input {
    let time = LOADED_AT + random.uniform(0, 1_000_000) as i64;
    let w_id = random.uniform(1, scale.warehouses.into()) as u16;
    let d_id = random.uniform(1, 10) as u8;
    let c_id = random.uneven(1_023, scale.customers.into()) as u16;
    if random.uniform(0, 1) == 0 {
        let amount = random.uniform(100, 500_000) as i32;
        return Input::Payment(PaymentInput { date: time, amount, w_id, c_w_id: w_id, c_id, d_id, c_d_id: d_id });
    }
    let mut lines = [Line { i_id: 0, quantity: 0 }; LINES];
    for place in 0..LINES {
        let mut i_id = random.uneven(8_191, scale.items);
        while lines.iter().any(|line| line.i_id == i_id) {
            i_id = random.uneven(8_191, scale.items);
        }
        lines[place] = Line { i_id, quantity: random.uniform(1, 10) as u8 };
    }
    if refusals && random.uniform(1, 100) == 1 {
        lines[LINES - 1].i_id = u32::MAX;
    }
    Input::NewOrder(NewOrderInput { entry_d: time, lines, w_id, c_id, d_id })
}
