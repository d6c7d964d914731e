//! Loading, row by row, in any order: what a generator of TPC-C data calls.

use super::index::Index;
use super::keys;
use super::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use super::store::{Indexes, Kernel};

/// Every row must be new, and the kernel's sizing must have room for it: more is a panic.
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

    /// Loads a payment made. No index knows it.
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
