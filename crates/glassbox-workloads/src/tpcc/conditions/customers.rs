//! Conditions 10 and 12: customers against their payments and delivered orders.

use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Direction, Prefix};

use super::super::scale::Scale;
use super::super::schema::{Customer, Money, OrderLine};
use super::orders::orders;
use super::payments::payments;
use super::{Report, districts};

/// The amounts of all delivered lines of each customer of a district, customer 1 first.
fn delivered<T: Transaction>(tx: &mut T, scale: &Scale, w_id: u16, d_id: u8) -> Result<Vec<Money>, Stop> {
    let orders = orders(tx, w_id, d_id)?;
    let mut sums = vec![Money::ZERO; usize::from(scale.customers)];
    tx.scan::<OrderLine>(Prefix((w_id, d_id)), Direction::Forward, |line| {
        let customer = orders.get(&line.o_id).and_then(|order| sums.get_mut(usize::from(order.c_id).wrapping_sub(1)));
        if let (Some(sum), Some(_)) = (customer, line.delivery_d) {
            *sum += line.amount;
        }
        ControlFlow::Continue(())
    })?;
    Ok(sums)
}

/// C_BALANCE is the sum of the customer's delivered lines less that of the payments.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_10<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(10);
    for (w_id, d_id) in districts(scale) {
        for (c_id, delivered) in (1..).zip(delivered(tx, scale, w_id, d_id)?) {
            let paid = payments(tx, (w_id, d_id, c_id), |_| ())?;
            let balance = tx.get::<Customer>(&(w_id, d_id, c_id))?.map(|customer| customer.balance);
            let what = || format!("customer {w_id}.{d_id}.{c_id}: its balance, and deliveries less payments");
            report.check(balance.is_some(), || format!("customer {w_id}.{d_id}.{c_id} is missing"));
            report.equal(balance, paid.map(|paid| delivered - paid), what);
        }
    }
    Ok(report)
}

/// C_BALANCE plus C_YTD_PAYMENT is the sum of the customer's delivered lines. The specification asks it of a sample;
/// here of all.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_12<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(12);
    for (w_id, d_id) in districts(scale) {
        for (c_id, delivered) in (1..).zip(delivered(tx, scale, w_id, d_id)?) {
            let customer = tx.get::<Customer>(&(w_id, d_id, c_id))?;
            let sum = customer.map(|customer| customer.balance + customer.ytd_payment);
            let what = || format!("customer {w_id}.{d_id}.{c_id}: its balance plus payments, and deliveries");
            report.equal(sum, Some(delivered), what);
        }
    }
    Ok(report)
}
