//! Payment (TPC-C 5.11, clause 2.5) by customer number.

use super::fields::remember_payment;
use super::index::Index;
use super::keys;
use super::rows::History;
use super::store::{Indexes, Kernel};

/// What a Payment is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentInput {
    /// The time, in microseconds since 1970.
    pub date: i64,
    /// The amount, in cents.
    pub amount: i32,
    /// The warehouse that is paid.
    pub w_id: u16,
    /// The customer's warehouse.
    pub c_w_id: u16,
    /// The customer.
    pub c_id: u16,
    /// The district that is paid.
    pub d_id: u8,
    /// The customer's district.
    pub c_d_id: u8,
}

/// What a Payment answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentOutput {
    /// The customer's balance afterwards, in cents.
    pub balance: i64,
}

impl<I: Indexes, const PREFETCH: bool> Kernel<I, PREFETCH> {
    /// Pays.
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
