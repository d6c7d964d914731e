//! The generator's rows and inputs for the kernel: the same as the engines', so that checksums can be compared.
//!
//! Rows are converted to the kernel's own layout; stock and its texts, two tables of an engine, are one row here. Only
//! inputs of the *Looking Glass* mix can be converted; the kernel has no other procedures.

use std::any::Any;
use std::convert::Infallible;
use std::hint::black_box;

use glassbox::record::{Record, Timestamp};
use glassbox_workloads::tpcc::{self, Customers, Scale, Sink, schema};

use crate::check::{Checksum, Inconsistency};
use crate::index::Index;
use crate::inputs::{KernelInput, LINES, LineInput, NewOrderInput, PaymentInput};
use crate::keys;
use crate::memory::Pages;
use crate::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use crate::store::{BTrees, HashTables, Indexes, Kernel, Sizing};

impl Sizing {
    /// Room for a load of this scale and so many transactions.
    pub fn of(scale: &Scale, transactions: usize) -> Self {
        let warehouses = usize::from(scale.warehouses);
        let districts = warehouses * usize::from(tpcc::DISTRICTS);
        let customers = districts * usize::from(scale.customers);
        let orders = districts * scale.orders as usize;
        Self {
            warehouses,
            customers,
            items: scale.items as usize,
            stocks: warehouses * scale.items as usize,
            orders: orders + transactions,
            order_lines: orders * 15 + transactions * LINES,
            history: customers + transactions,
        }
    }
}

impl KernelInput {
    /// The same input for the kernel, entered at `time`; `None` if it is not of the *Looking Glass* mix.
    pub fn from_shared(input: &tpcc::Input, time: Timestamp) -> Option<Self> {
        match input {
            tpcc::Input::NewOrder(tpcc::NewOrder { w_id, d_id, c_id, lines }) => {
                if lines.len() != LINES || lines.iter().any(|line| line.supply_w_id != *w_id) {
                    return None;
                }
                let lines = std::array::from_fn(|i| LineInput { i_id: lines[i].i_id, quantity: lines[i].quantity });
                let entry_d = time.micros();
                Some(Self::NewOrder(NewOrderInput { entry_d, lines, w_id: *w_id, c_id: *c_id, d_id: *d_id }))
            }
            tpcc::Input::Payment(payment) => {
                let Customers::Id(c_id) = payment.customer else { return None };
                let tpcc::Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = *payment;
                let amount = i32::try_from(amount.units()).ok()?;
                Some(Self::Payment(PaymentInput { date: time.micros(), amount, w_id, c_w_id, c_id, d_id, c_d_id }))
            }
            _ => None,
        }
    }
}

/// A money column that has 32 bits in the kernel.
fn cents(money: schema::Money) -> i32 {
    i32::try_from(money.units()).expect("prices and amounts of the population are small")
}

/// A tax or a discount.
fn rate(rate: schema::Rate) -> i32 {
    i32::try_from(rate.units()).expect("rates are below one")
}

macro_rules! like {
    ($row:expr => $to:ident { $($column:ident),* ; $($text:ident),* ; $($other:tt)* }) => {
        $to { $($column: $row.$column,)* $($text: *$row.$text.padded(),)* $($other)* }
    };
}

/// Loads the rows of the shared population.
impl<I: Indexes, const PREFETCH: bool> Sink for &mut Kernel<I, PREFETCH> {
    type Error = Infallible;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Infallible> {
        let row: &dyn Any = row;
        if let Some(row) = row.downcast_ref::<schema::Warehouse>() {
            self.load_warehouse(like!(row => Warehouse { id; name, street_1, street_2, city, state, zip;
                ytd: row.ytd.units(), tax: rate(row.tax) }));
        } else if let Some(row) = row.downcast_ref::<schema::District>() {
            self.load_district(
                like!(row => District { w_id, id, next_o_id; name, street_1, street_2, city, state, zip;
                ytd: row.ytd.units(), tax: rate(row.tax) }),
            );
        } else if let Some(row) = row.downcast_ref::<schema::Customer>() {
            self.load_customer(customer(row));
        } else if let Some(row) = row.downcast_ref::<schema::History>() {
            self.load_history(like!(row => History { c_w_id, c_id, w_id, c_d_id, d_id; data;
                date: row.date.micros(), amount: cents(row.amount) }));
        } else if let Some(row) = row.downcast_ref::<schema::Order>() {
            self.load_order(like!(row => Order { id, w_id, c_id, d_id, ol_cnt; ;
                entry_d: row.entry_d.micros(), carrier_id: row.carrier_id.unwrap_or(0),
                all_local: row.all_local.into() }));
        } else if let Some(row) = row.downcast_ref::<schema::Undelivered>() {
            self.load_new_order(like!(row => NewOrder { o_id, w_id, d_id; ; }));
        } else if let Some(row) = row.downcast_ref::<schema::OrderLine>() {
            self.load_order_line(
                like!(row => OrderLine { o_id, i_id, w_id, supply_w_id, d_id, number, quantity; dist_info;
                amount: cents(row.amount), delivery_d: row.delivery_d.map_or(0, Timestamp::micros) }),
            );
        } else if let Some(row) = row.downcast_ref::<schema::Item>() {
            self.load_item(like!(row => Item { id, im_id; name, data; price: cents(row.price) }));
        } else if let Some(row) = row.downcast_ref::<schema::Stock>() {
            let ytd = u32::try_from(row.ytd).expect("the population has sold little");
            self.load_stock(like!(row => Stock { i_id, w_id, order_cnt, remote_cnt, quantity; ;
                ytd, data: [0; 50], dist: [[0; 24]; 10] }));
        } else if let Some(row) = row.downcast_ref::<schema::StockInfo>() {
            let at = self.stock_by_id.find(keys::stock(row.w_id, row.i_id)).expect("a stock comes before its texts");
            let stock = self.stocks.get_mut(at);
            stock.data = *row.data.padded();
            stock.dist = std::array::from_fn(|i| *row.dist(i as u8 + 1).padded());
        } else if row.is::<schema::PlaceName>() {
            // A copy for engines that keep warehouses apart; the kernel reads the names in their own tables.
        } else {
            panic!("the kernel does not know this table");
        }
        Ok(())
    }
}

fn customer(row: &schema::Customer) -> Customer {
    like!(row => Customer { payment_cnt, delivery_cnt, w_id, id, d_id;
        credit, middle, last, first, street_1, street_2, city, state, zip, phone, data;
        balance: row.balance.units(), ytd_payment: row.ytd_payment.units(), credit_lim: row.credit_lim.units(),
        discount: rate(row.discount), since: row.since.micros() })
}

/// Loads the shared population.
pub fn load_shared<I: Indexes, const PREFETCH: bool>(kernel: &mut Kernel<I, PREFETCH>, scale: &Scale, seed: u64) {
    let mut sink = kernel;
    let Ok(()) = tpcc::population::items(scale, seed, &mut sink);
    for w_id in scale.warehouse_ids() {
        let Ok(()) = tpcc::population::warehouse(scale, seed, w_id, &mut sink);
    }
}

/// A loaded kernel.
pub trait AnyKernel {
    /// Runs all inputs.
    fn run(&mut self, inputs: &[KernelInput]);

    /// Sums over all rows.
    fn checksum(&self) -> Checksum;

    /// Checks TPC-C's consistency conditions.
    ///
    /// # Errors
    /// The first violation.
    fn check(&self) -> Result<(), Inconsistency>;
}

impl<I: Indexes, const PREFETCH: bool> AnyKernel for Kernel<I, PREFETCH> {
    fn run(&mut self, inputs: &[KernelInput]) {
        black_box(Kernel::run(self, inputs));
    }

    fn checksum(&self) -> Checksum {
        Kernel::checksum(self)
    }

    fn check(&self) -> Result<(), Inconsistency> {
        Kernel::check(self)
    }
}

/// A kernel with the population and room for a number of transactions.
///
/// # Errors
/// When the system refuses the memory.
pub fn load(
    hash: bool,
    prefetch: bool,
    scale: &Scale,
    seed: u64,
    transactions: usize,
) -> std::io::Result<Box<dyn AnyKernel>> {
    match (hash, prefetch) {
        (false, false) => filled::<BTrees, false>(scale, seed, transactions),
        (false, true) => filled::<BTrees, true>(scale, seed, transactions),
        (true, false) => filled::<HashTables, false>(scale, seed, transactions),
        (true, true) => filled::<HashTables, true>(scale, seed, transactions),
    }
}

fn filled<I: Indexes + 'static, const PREFETCH: bool>(
    scale: &Scale,
    seed: u64,
    transactions: usize,
) -> std::io::Result<Box<dyn AnyKernel>> {
    let mut kernel = Kernel::<I, PREFETCH>::new(Sizing::of(scale, transactions), Pages::Huge)?;
    load_shared(&mut kernel, scale, seed);
    kernel.touch(transactions);
    Ok(Box::new(kernel))
}
