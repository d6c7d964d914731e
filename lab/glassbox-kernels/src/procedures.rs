//! The procedures: New-Order of ten lines from the home warehouse (TPC-C 5.11, clause 2.4), and Payment by customer
//! number (clause 2.5).

use crate::fields::{is_original, remember_payment};
use crate::index::Index;
use crate::inputs::{LINES, LineInput, NewOrderInput, NewOrderOutput, PaymentInput, PaymentOutput};
use crate::keys;
use crate::memory::Row;
use crate::rows::{Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse};
use crate::store::{Indexes, Kernel};
use crate::tree::LeafPosition;

/// A cache line, in bytes.
const CACHE_LINE: usize = 64;

/// The rows a New-Order works on.
struct Located {
    warehouse: Row<Warehouse>,
    district: Row<District>,
    customer: Row<Customer>,
    items: [Row<Item>; LINES],
    stocks: [Row<Stock>; LINES],
    /// The position of the order among its customer's: the only insertion that is not next to the district's last one.
    of_customer: LeafPosition<Order>,
}

/// All of them, or none if one is missing.
#[inline(always)]
fn all<T>(rows: [Option<Row<T>>; LINES]) -> Option<[Row<T>; LINES]> {
    if rows.iter().any(Option::is_none) {
        return None;
    }
    Some(rows.map(|row| row.unwrap_or_else(|| unreachable!("none is missing"))))
}

impl<I: Indexes, const PREFETCH: bool> Kernel<I, PREFETCH> {
    /// Places an order.
    ///
    /// # Panics
    /// When the warehouse, the district or the customer does not exist: the caller's inputs are wrong.
    #[inline(never)]
    pub fn new_order(&mut self, input: &NewOrderInput) -> NewOrderOutput {
        let located = if PREFETCH { self.locate_together(input) } else { self.locate(input) };
        match located {
            Some(located) => self.place(input, &located),
            None => NewOrderOutput::UnknownItem,
        }
    }

    /// The district, and the place among its customer's orders of the next one.
    #[inline(always)]
    fn locate_order(&self, input: &NewOrderInput) -> (Row<District>, LeafPosition<Order>) {
        let NewOrderInput { w_id, d_id, c_id, .. } = *input;
        let district = self.district_by_id.find(keys::district(w_id, d_id)).expect("the district exists");
        let key = keys::order_of_customer(w_id, d_id, c_id, self.districts.get(district).next_o_id);
        (district, self.order_by_customer.seek(key))
    }

    #[inline(always)]
    fn locate(&self, input: &NewOrderInput) -> Option<Located> {
        let customer = keys::customer(input.w_id, input.d_id, input.c_id);
        let items = all(input.lines.map(|line| self.item_by_id.find(line.i_id.into())))?;
        let stocks = all(input.lines.map(|line| self.stock_by_id.find(keys::stock(input.w_id, line.i_id))))?;
        let (district, of_customer) = self.locate_order(input);
        Some(Located {
            warehouse: self.warehouse_by_id.find(input.w_id.into()).expect("the warehouse exists"),
            district,
            of_customer,
            customer: self.customer_by_id.find(customer).expect("the customer exists"),
            items,
            stocks,
        })
    }

    /// As [`Kernel::locate`], with all keys descending their indexes together; then the rows' cache lines are
    /// prefetched.
    #[inline(always)]
    fn locate_together(&self, input: &NewOrderInput) -> Option<Located> {
        let stock_keys = input.lines.map(|line| keys::stock(input.w_id, line.i_id));
        let item_keys = input.lines.map(|line| u64::from(line.i_id));
        let customer_key = keys::customer(input.w_id, input.d_id, input.c_id);
        let at_stocks = self.stock_by_id.begin(&stock_keys);
        let at_items = self.item_by_id.begin(&item_keys);
        let [at_customer] = self.customer_by_id.begin(&[customer_key]);
        let (district, of_customer) = self.locate_order(input);
        self.order_by_customer.prefetch_leaf(of_customer);

        let mut i = 0;
        let stocks = all(at_stocks.map(|step| {
            let row = self.stock_by_id.finish(stock_keys[i], step);
            i += 1;
            if let Some(row) = row {
                let dist = std::mem::offset_of!(Stock, dist) + 24 * usize::from(input.d_id - 1);
                self.stocks.prefetch(row, 0);
                self.stocks.prefetch(row, dist);
                self.stocks.prefetch(row, dist + 23);
            }
            row
        }));
        let mut i = 0;
        let items = all(at_items.map(|step| {
            let row = self.item_by_id.finish(item_keys[i], step);
            i += 1;
            if let Some(row) = row {
                self.items.prefetch(row, 0);
            }
            row
        }));
        let customer = self.customer_by_id.finish(customer_key, at_customer).expect("the customer exists");
        self.customers.prefetch(customer, 0);
        Some(Located {
            warehouse: self.warehouse_by_id.find(input.w_id.into()).expect("the warehouse exists"),
            district,
            of_customer,
            customer,
            items: items?,
            stocks: stocks?,
        })
    }

    #[inline(always)]
    fn place(&mut self, input: &NewOrderInput, located: &Located) -> NewOrderOutput {
        let NewOrderInput { w_id, d_id, c_id, entry_d, .. } = *input;
        let district = self.districts.get_mut(located.district);
        let o_id = district.next_o_id;
        district.next_o_id = o_id + 1;
        let tax = self.warehouses.get(located.warehouse).tax + district.tax;

        let key = keys::order(w_id, d_id, o_id);
        let ol_cnt = LINES as u8;
        let order =
            self.orders.push(Order { id: o_id, d_id, w_id, c_id, entry_d, carrier_id: 0, ol_cnt, all_local: 1 });
        self.order_by_id.insert(key, order);
        let new_order = self.new_orders.push(NewOrder { o_id, d_id, w_id });
        self.new_order_by_id.insert(key, new_order);

        let (mut sum, mut originals) = (0, 0);
        let first = self.order_lines.push_each::<LINES>(|i| {
            let LineInput { i_id, quantity } = input.lines[i];
            let item = self.items.get(located.items[i]);
            let stock = self.stocks.get_mut(located.stocks[i]);
            take(stock, quantity);
            let original = is_original(&item.data) && is_original(&stock.data);
            originals |= u32::from(original) << i;
            let amount = item.price * i32::from(quantity);
            sum += i64::from(amount);
            let dist_info = stock.dist[usize::from(d_id - 1)];
            let number = i as u8 + 1;
            OrderLine { o_id, d_id, w_id, number, i_id, supply_w_id: w_id, delivery_d: 0, quantity, amount, dist_info }
        });
        let line_key = keys::order_line(w_id, d_id, o_id) + 1;
        let spot = self.order_line_by_id.seek(line_key);
        self.order_line_by_id.insert_run_at::<LINES>(spot, line_key, first);
        let key = keys::order_of_customer(w_id, d_id, c_id, o_id);
        self.order_by_customer.insert_at(located.of_customer, key, order);

        let discount = self.customers.get(located.customer).discount;
        let total = sum * i64::from(10_000 - discount) * i64::from(10_000 + tax) / 100_000_000;
        NewOrderOutput::Placed { o_id, total, originals }
    }

    /// Makes a payment.
    ///
    /// # Panics
    /// When the warehouse, the district or the customer does not exist: the caller's inputs are wrong.
    #[inline(never)]
    pub fn payment(&mut self, input: &PaymentInput) -> PaymentOutput {
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, c_id, amount, date } = *input;
        let customer_key = keys::customer(c_w_id, c_d_id, c_id);
        let customer = if PREFETCH {
            let [step] = self.customer_by_id.begin(&[customer_key]);
            self.customer_by_id.finish(customer_key, step)
        } else {
            self.customer_by_id.find(customer_key)
        };
        let customer = customer.expect("the customer exists");
        if PREFETCH {
            self.customers.prefetch(customer, 0);
        }
        let warehouse = self.warehouse_by_id.find(w_id.into()).expect("the warehouse exists");
        let district = self.district_by_id.find(keys::district(w_id, d_id)).expect("the district exists");

        let warehouse = self.warehouses.get_mut(warehouse);
        warehouse.ytd += i64::from(amount);
        let district = self.districts.get_mut(district);
        district.ytd += i64::from(amount);
        let mut data = [b' '; 24];
        data[..10].copy_from_slice(&warehouse.name);
        data[14..].copy_from_slice(&district.name);
        self.history.push(History { date, amount, c_w_id, c_id, w_id, c_d_id, d_id, data });

        let customer = self.customers.get_mut(customer);
        customer.balance -= i64::from(amount);
        customer.ytd_payment += i64::from(amount);
        customer.payment_cnt += 1;
        if customer.credit == *b"BC" {
            remember_payment(customer, input);
        }
        PaymentOutput { balance: customer.balance }
    }
}

/// Removes `quantity` from stock, which is refilled if it would fall below ten (clause 2.4.2.2).
#[inline(always)]
fn take(stock: &mut Stock, quantity: u8) {
    let left = stock.quantity - i16::from(quantity);
    stock.quantity = if left >= 10 { left } else { left + 91 };
    stock.ytd += u32::from(quantity);
    stock.order_cnt += 1;
}

const _: () = {
    assert!(std::mem::offset_of!(Stock, dist) <= CACHE_LINE && std::mem::offset_of!(Item, im_id) <= CACHE_LINE);
};
