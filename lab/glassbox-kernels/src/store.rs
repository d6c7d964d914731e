//! The kernel's tables and indexes, chosen by type.

use std::io;

use crate::hash::Hash;
use crate::index::{Direct, Index};
use crate::inputs::{KernelInput, LINES, NewOrderOutput, PaymentOutput};
use crate::keys;
use crate::memory::{Pages, Row, Slab};
use crate::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use crate::tree::Tree;

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

/// The maximum number of rows of each table; addresses are reserved for them, memory is allocated as they are inserted.
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

/// All tables and indexes, and the procedures on them. `I` is the kind of indexes; with `PREFETCH` all keys of a
/// transaction descend together before it executes.
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

    /// Has the system allocate the memory that so many transactions will fill, before they run.
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

    /// Runs one transaction. Returns a number that depends on its whole output, so that the compiler omits no part.
    #[inline(always)]
    pub fn execute(&mut self, input: &KernelInput) -> i64 {
        match input {
            KernelInput::NewOrder(input) => match self.new_order(input) {
                NewOrderOutput::Placed { o_id, total, originals } => total + i64::from(o_id) + i64::from(originals),
                NewOrderOutput::UnknownItem => -1,
            },
            KernelInput::Payment(input) => {
                let PaymentOutput { balance } = self.payment(input);
                balance
            }
        }
    }

    /// Runs all transactions, one after the other. Returns the sum of the results of [`Kernel::execute`].
    #[inline(never)]
    pub fn run(&mut self, inputs: &[KernelInput]) -> i64 {
        inputs.iter().fold(0, |sum, input| sum.wrapping_add(self.execute(input)))
    }
}

/// Loading, row by row, in any order. Every row must be new, and fit the kernel's sizing; otherwise it panics.
impl<I: Indexes, const PREFETCH: bool> Kernel<I, PREFETCH> {
    /// Loads a warehouse.
    pub fn load_warehouse(&mut self, row: Warehouse) {
        let at = self.warehouses.push(row);
        self.warehouse_by_id.insert(row.id.into(), at);
    }

    /// Loads a district.
    pub fn load_district(&mut self, row: District) {
        let at = self.districts.push(row);
        self.district_by_id.insert(keys::district(row.w_id, row.id), at);
    }

    /// Loads a customer, under its number and its name.
    pub fn load_customer(&mut self, row: Customer) {
        let at = self.customers.push(row);
        self.customer_by_id.insert(keys::customer(row.w_id, row.d_id, row.id), at);
        self.customer_by_name.insert(keys::customer_name(row.w_id, row.d_id, row.id, &row.last, &row.first), at);
    }

    /// Loads a payment, which is in no index.
    pub fn load_history(&mut self, row: History) {
        self.history.push(row);
    }

    /// Loads an order, under its number and its customer.
    pub fn load_order(&mut self, row: Order) {
        let at = self.orders.push(row);
        self.order_by_id.insert(keys::order(row.w_id, row.d_id, row.id), at);
        self.order_by_customer.insert(keys::order_of_customer(row.w_id, row.d_id, row.c_id, row.id), at);
    }

    /// Loads an order not yet delivered.
    pub fn load_new_order(&mut self, row: NewOrder) {
        let at = self.new_orders.push(row);
        self.new_order_by_id.insert(keys::order(row.w_id, row.d_id, row.o_id), at);
    }

    /// Loads a line of an order; lines count from 1 to 15.
    pub fn load_order_line(&mut self, row: OrderLine) {
        let at = self.order_lines.push(row);
        self.order_line_by_id.insert(keys::order_line(row.w_id, row.d_id, row.o_id) + u64::from(row.number), at);
    }

    /// Loads an item.
    pub fn load_item(&mut self, row: Item) {
        let at = self.items.push(row);
        self.item_by_id.insert(row.id.into(), at);
    }

    /// Loads a warehouse's stock of an item.
    pub fn load_stock(&mut self, row: Stock) {
        let at = self.stocks.push(row);
        self.stock_by_id.insert(keys::stock(row.w_id, row.i_id), at);
    }
}
