//! Condition 13, our own: stock against the order lines that took from it.

use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::Direction;

use super::super::scale::Scale;
use super::super::schema::{OrderLine, Stock};
use super::{Report, districts};

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
