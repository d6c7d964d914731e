//! Conditions 5, 6, 7 and 11: orders against their lines and the undelivered ones. Condition 13, our own: stock against
//! the order lines that took from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Direction, Prefix};

use super::super::scale::Scale;
use super::super::schema::{Customer, Order, OrderLine, Stock, Undelivered};
use super::{Report, districts};

/// A district's orders by number.
pub(super) fn orders<T: Transaction>(tx: &mut T, w_id: u16, d_id: u8) -> Result<BTreeMap<u32, Order>, Stop> {
    let mut orders = BTreeMap::new();
    tx.scan::<Order>(Prefix((w_id, d_id)), Direction::Forward, |order| {
        orders.insert(order.id, *order);
        ControlFlow::Continue(())
    })?;
    Ok(orders)
}

fn undelivered<T: Transaction>(tx: &mut T, w_id: u16, d_id: u8) -> Result<BTreeSet<u32>, Stop> {
    let mut numbers = BTreeSet::new();
    tx.scan::<Undelivered>(Prefix((w_id, d_id)), Direction::Forward, |undelivered| {
        numbers.insert(undelivered.o_id);
        ControlFlow::Continue(())
    })?;
    Ok(numbers)
}

/// O_CARRIER_ID is missing exactly for the undelivered orders, and every undelivered order is an order.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_5<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(5);
    for (w_id, d_id) in districts(scale) {
        let (orders, undelivered) = (orders(tx, w_id, d_id)?, undelivered(tx, w_id, d_id)?);
        for (id, order) in &orders {
            let what = || format!("order {w_id}.{d_id}.{id}: has no carrier and is undelivered");
            report.equal(order.carrier_id.is_none(), undelivered.contains(id), what);
        }
        for id in &undelivered {
            report.check(orders.contains_key(id), || format!("undelivered order {w_id}.{d_id}.{id} is no order"));
        }
    }
    Ok(report)
}

/// O_OL_CNT is the number of the order's lines, and every line belongs to an order.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_6<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(6);
    for (w_id, d_id) in districts(scale) {
        let mut counts: BTreeMap<u32, (u8, u8)> =
            orders(tx, w_id, d_id)?.into_iter().map(|(id, order)| (id, (order.ol_cnt, 0))).collect();
        tx.scan::<OrderLine>(Prefix((w_id, d_id)), Direction::Forward, |line| {
            counts.entry(line.o_id).or_default().1 += 1;
            ControlFlow::Continue(())
        })?;
        for (id, (named, found)) in counts {
            report.equal(named, found, || format!("order {w_id}.{d_id}.{id}: lines it names and lines there are"));
        }
    }
    Ok(report)
}

/// OL_DELIVERY_D is missing exactly where the order's O_CARRIER_ID is.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_7<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(7);
    for (w_id, d_id) in districts(scale) {
        let orders = orders(tx, w_id, d_id)?;
        tx.scan::<OrderLine>(Prefix((w_id, d_id)), Direction::Forward, |line| {
            let delivered = orders.get(&line.o_id).map(|order| order.carrier_id.is_some());
            let what = || format!("order line {w_id}.{d_id}.{}.{}: it and its order delivered", line.o_id, line.number);
            report.equal(Some(line.delivery_d.is_some()), delivered, what);
            ControlFlow::Continue(())
        })?;
    }
    Ok(report)
}

/// A district's orders less the undelivered ones are those the population delivered and those its customers counted.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_11<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(11);
    for (w_id, d_id) in districts(scale) {
        let orders = orders(tx, w_id, d_id)?.len() as u64;
        let undelivered = undelivered(tx, w_id, d_id)?.len() as u64;
        let mut delivered = u64::from(scale.delivered());
        for c_id in 1..=scale.customers {
            let customer = tx.get::<Customer>(&(w_id, d_id, c_id))?;
            delivered += customer.map_or(0, |customer| u64::from(customer.delivery_cnt));
        }
        report.equal(orders, undelivered + delivered, || {
            format!("district {w_id}.{d_id}: orders, and undelivered ({undelivered}) plus delivered ({delivered})")
        });
    }
    Ok(report)
}

/// What order lines took from a row of stock.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Taken {
    ytd: u64,
    order_cnt: u32,
    remote_cnt: u32,
}

/// S_YTD, S_ORDER_CNT and S_REMOTE_CNT are the sum and numbers of the order lines since the population, in all
/// warehouses, that the stock supplied; and S_QUANTITY is what New-Order can leave.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_13<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(13);
    let items = scale.items as usize;
    let mut taken = vec![Taken::default(); usize::from(scale.warehouses) * items];
    for (w_id, d_id) in districts(scale) {
        // The population's own orders took nothing from stock.
        let since = (w_id, d_id, scale.orders + 1, 0)..=(w_id, d_id, u32::MAX, u8::MAX);
        tx.scan::<OrderLine>(since, Direction::Forward, |line| {
            let (supplier, item) =
                (usize::from(line.supply_w_id).wrapping_sub(1), (line.i_id as usize).wrapping_sub(1));
            let place = (item < items).then(|| supplier.saturating_mul(items).saturating_add(item));
            match place.and_then(|place| taken.get_mut(place)) {
                Some(taken) => {
                    taken.ytd += u64::from(line.quantity);
                    taken.order_cnt += 1;
                    taken.remote_cnt += u32::from(line.supply_w_id != w_id);
                }
                None => report.check(false, || format!("{line:?} takes from a stock that does not exist")),
            }
            ControlFlow::Continue(())
        })?;
    }
    for (w_id, taken) in scale.warehouse_ids().zip(taken.chunks(items)) {
        for (i_id, &taken) in (1..).zip(taken) {
            let stock = tx.get::<Stock>(&(w_id, i_id))?;
            let counted = stock.map(|&Stock { ytd, order_cnt, remote_cnt, .. }| Taken { ytd, order_cnt, remote_cnt });
            let quantity = stock.map_or(0, |stock| stock.quantity);
            report
                .equal(counted, Some(taken), || format!("stock {w_id}.{i_id}: its counters and the lines it supplied"));
            report.check((10..=100).contains(&quantity), || format!("stock {w_id}.{i_id}: quantity {quantity}"));
        }
    }
    Ok(report)
}
