//! Conditions 8 and 9: warehouses and districts against the payments to them.

use glassbox::procedure::{Stop, Transaction};

use super::super::scale::{DISTRICTS, Scale};
use super::super::schema::{Customer, District, History, Money, Warehouse};
use super::{Report, districts, place};

/// The sum of all payments of a customer, giving `each` every one; `None` when the customer or a payment is missing.
pub(super) fn payments<T: Transaction>(
    tx: &mut T,
    customer: (u16, u8, u16),
    mut each: impl FnMut(&History),
) -> Result<Option<Money>, Stop> {
    let Some(count) = tx.get::<Customer>(&customer)?.map(|customer| customer.payment_cnt) else { return Ok(None) };
    let mut sum = Some(Money::ZERO);
    for number in 1..=count {
        let payment = tx.get::<History>(&(customer.0, customer.1, customer.2, number))?;
        payment.into_iter().for_each(&mut each);
        sum = sum.zip(payment).map(|(sum, payment)| sum + payment.amount);
    }
    Ok(sum)
}

/// Payments to each district, in the order of [`place`]. Those to districts that do not exist are violations.
fn received<T: Transaction>(tx: &mut T, scale: &Scale, report: &mut Report) -> Result<Vec<Money>, Stop> {
    let mut received = vec![Money::ZERO; usize::from(scale.warehouses) * usize::from(DISTRICTS)];
    for (w_id, d_id) in districts(scale) {
        for c_id in 1..=scale.customers {
            let sum = payments(tx, (w_id, d_id, c_id), |payment| {
                let exists = scale.warehouse_ids().contains(&payment.w_id) && (1..=DISTRICTS).contains(&payment.d_id);
                let to = (payment.w_id, payment.d_id);
                report.check(exists, || format!("customer {w_id}.{d_id}.{c_id} paid to {to:?}, which does not exist"));
                if exists {
                    received[place(to.0, to.1)] += payment.amount;
                }
            })?;
            report.check(sum.is_some(), || format!("customer {w_id}.{d_id}.{c_id}, or a payment, is missing"));
        }
    }
    Ok(received)
}

/// W_YTD is the sum of all payments to the warehouse.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_8<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(8);
    let received = received(tx, scale, &mut report)?;
    for (w_id, districts) in scale.warehouse_ids().zip(received.chunks(usize::from(DISTRICTS))) {
        let ytd = tx.get::<Warehouse>(&w_id)?.map(|warehouse| warehouse.ytd);
        let sum = districts.iter().copied().sum();
        report.equal(ytd, Some(sum), || format!("warehouse {w_id}: its ytd and the payments to it"));
    }
    Ok(report)
}

/// D_YTD is the sum of all payments to the district.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_9<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(9);
    let received = received(tx, scale, &mut report)?;
    for ((w_id, d_id), sum) in districts(scale).zip(received) {
        let ytd = tx.get::<District>(&(w_id, d_id))?.map(|district| district.ytd);
        report.equal(ytd, Some(sum), || format!("district {w_id}.{d_id}: its ytd and the payments to it"));
    }
    Ok(report)
}
