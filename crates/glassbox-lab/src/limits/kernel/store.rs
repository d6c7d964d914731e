//! The kernel's tables and indexes, chosen by type.

use std::io;

use super::direct::Direct;
use super::hash::Hash;
use super::index::Index;
use super::memory::{Pages, Row, Slab};
use super::new_order::{LINES, NewOrderInput, NewOrderOutput};
use super::payment::{PaymentInput, PaymentOutput};
use super::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use super::tree::Tree;

/// The kind of index used where the mix needs no order: [`BTrees`] or [`HashTables`]. Only the kernel can make another.
#[expect(missing_docs, reason = "the tables' names")]
pub trait Indexes {
    type Warehouses: Index<Row<Warehouse>>;
    type Districts: Index<Row<District>>;
    type Customers: Index<Row<Customer>>;
    type Items: Index<Row<Item>>;
    type Stocks: Index<Row<Stock>>;
}

/// B+-trees everywhere.
pub struct BTrees;

impl Indexes for BTrees {
    type Warehouses = Tree<Warehouse>;
    type Districts = Tree<District>;
    type Customers = Tree<Customer>;
    type Items = Tree<Item>;
    type Stocks = Tree<Stock>;
}

/// Arrays for warehouses and districts, hash tables for customers, items and stock, B+-trees for the rest.
pub struct HashTables;

impl Indexes for HashTables {
    type Warehouses = Direct<Warehouse>;
    type Districts = Direct<District>;
    type Customers = Hash<Customer>;
    type Items = Hash<Item>;
    type Stocks = Hash<Stock>;
}

/// The most rows a kernel will ever hold; addresses are reserved for them, memory only as they come.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the tables' names")]
pub struct Sizing {
    pub warehouses: usize,
    pub customers: usize,
    pub items: usize,
    pub stocks: usize,
    pub orders: usize,
    pub order_lines: usize,
    pub history: usize,
}

impl Sizing {
    /// Room for the specification's load of so many warehouses and for so many transactions of either kind.
    pub fn standard(warehouses: usize, new_orders: usize, payments: usize) -> Self {
        let orders = warehouses * 30_000 + new_orders;
        Self {
            warehouses,
            customers: warehouses * 30_000,
            items: 100_000,
            stocks: warehouses * 100_000,
            orders,
            order_lines: warehouses * 30_000 * 15 + new_orders * 10,
            history: warehouses * 30_000 + payments,
        }
    }
}

/// One transaction's arguments.
#[derive(Debug, Clone, Copy)]
pub enum Input {
    /// Clause 2.4.
    NewOrder(NewOrderInput),
    /// Clause 2.5.
    Payment(PaymentInput),
}

/// All tables and indexes, and the procedures on them. `I` says what the indexes are, `PREFETCH` whether all keys of a
/// transaction go down together before it executes.
pub struct Kernel<I: Indexes, const PREFETCH: bool> {
    pub(super) warehouses: Slab<Warehouse>,
    pub(super) districts: Slab<District>,
    pub(super) customers: Slab<Customer>,
    pub(super) history: Slab<History>,
    pub(super) orders: Slab<Order>,
    pub(super) new_orders: Slab<NewOrder>,
    pub(super) order_lines: Slab<OrderLine>,
    pub(super) items: Slab<Item>,
    pub(super) stocks: Slab<Stock>,
    pub(super) warehouse_by_id: I::Warehouses,
    pub(super) district_by_id: I::Districts,
    pub(super) customer_by_id: I::Customers,
    pub(super) customer_by_name: Tree<Customer>,
    pub(super) order_by_id: Tree<Order>,
    pub(super) order_by_customer: Tree<Order>,
    pub(super) new_order_by_id: Tree<NewOrder>,
    pub(super) order_line_by_id: Tree<OrderLine>,
    pub(super) item_by_id: I::Items,
    pub(super) stock_by_id: I::Stocks,
}

impl<I: Indexes, const PREFETCH: bool> Kernel<I, PREFETCH> {
    /// An empty kernel.
    ///
    /// # Errors
    /// When the system refuses the address space, or a table would have more than 2^32 rows.
    pub fn new(sizing: Sizing, pages: Pages) -> io::Result<Self> {
        let Sizing { warehouses, customers, items, stocks, orders, order_lines, history } = sizing;
        let districts = warehouses * 10;
        Ok(Self {
            warehouses: Slab::new(warehouses, pages)?,
            districts: Slab::new(districts, pages)?,
            customers: Slab::new(customers, pages)?,
            history: Slab::new(history, pages)?,
            orders: Slab::new(orders, pages)?,
            new_orders: Slab::new(orders, pages)?,
            order_lines: Slab::new(order_lines, pages)?,
            items: Slab::new(items, pages)?,
            stocks: Slab::new(stocks, pages)?,
            warehouse_by_id: Index::with_capacity(warehouses, pages)?,
            district_by_id: Index::with_capacity(districts, pages)?,
            customer_by_id: Index::with_capacity(customers, pages)?,
            customer_by_name: Index::with_capacity(customers, pages)?,
            order_by_id: Index::with_capacity(orders, pages)?,
            order_by_customer: Index::with_capacity(orders, pages)?,
            new_order_by_id: Index::with_capacity(orders, pages)?,
            order_line_by_id: Index::with_capacity(order_lines, pages)?,
            item_by_id: Index::with_capacity(items, pages)?,
            stock_by_id: Index::with_capacity(stocks, pages)?,
        })
    }

    /// Has the system give the memory that so many transactions will fill, which would otherwise be given in the midst
    /// of them.
    pub fn touch(&self, transactions: usize) {
        self.history.touch(transactions);
        self.orders.touch(transactions);
        self.new_orders.touch(transactions);
        self.order_lines.touch(transactions * LINES);
        self.order_by_id.touch(transactions);
        self.order_by_customer.touch(transactions);
        self.new_order_by_id.touch(transactions);
        self.order_line_by_id.touch(transactions * LINES);
    }

    /// Runs one transaction; the answer is a number that depends on its whole output, so that no part of it is left
    /// out.
    #[inline(always)]
    pub fn execute(&mut self, input: &Input) -> i64 {
        match input {
            Input::NewOrder(input) => match self.new_order(input) {
                NewOrderOutput::Placed { o_id, total, originals } => total + i64::from(o_id) + i64::from(originals),
                NewOrderOutput::UnknownItem => -1,
            },
            Input::Payment(input) => {
                let PaymentOutput { balance } = self.payment(input);
                balance
            }
        }
    }

    /// Runs all transactions, one after the other; the answer is the sum of [`Kernel::execute`]'s.
    #[inline(never)]
    pub fn run(&mut self, inputs: &[Input]) -> i64 {
        inputs.iter().fold(0, |sum, input| sum.wrapping_add(self.execute(input)))
    }
}
