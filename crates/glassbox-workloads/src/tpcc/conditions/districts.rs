//! Conditions 1 to 4: warehouses and districts against their parts.

use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::{Direction, Prefix};

use super::super::scale::{DISTRICTS, Scale};
use super::super::schema::{District, Money, Order, OrderLine, Undelivered, Warehouse};
use super::{Report, districts};

/// W_YTD is the sum of D_YTD over the warehouse's districts.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_1<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(1);
    for w_id in scale.warehouse_ids() {
        let warehouse = tx.get::<Warehouse>(&w_id)?.map(|warehouse| warehouse.ytd);
        let mut sum = Some(Money::ZERO);
        for d_id in 1..=DISTRICTS {
            let district = tx.get::<District>(&(w_id, d_id))?;
            sum = sum.zip(district).map(|(sum, district)| sum + district.ytd);
        }
        report.equal(warehouse, sum, || format!("warehouse {w_id}: its ytd and the sum of its districts'"));
        report.check(warehouse.is_some(), || format!("warehouse {w_id} is missing"));
    }
    Ok(report)
}

/// D_NEXT_O_ID − 1 is the greatest O_ID and, where orders are undelivered, the greatest NO_O_ID.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_2<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(2);
    for (w_id, d_id) in districts(scale) {
        let last = tx.get::<District>(&(w_id, d_id))?.map(|district| district.next_o_id.wrapping_sub(1));
        let order = tx.first::<Order>(Prefix((w_id, d_id)), Direction::Backward)?.map(|order| order.id);
        report.equal(last, order, || format!("district {w_id}.{d_id}: last order by its counter and of its orders"));
        let newest = tx.first::<Undelivered>(Prefix((w_id, d_id)), Direction::Backward)?;
        if let Some(newest) = newest {
            let what = || format!("district {w_id}.{d_id}: last order by its counter and of the undelivered");
            report.equal(last, Some(newest.o_id), what);
        }
    }
    Ok(report)
}

/// The numbers of a district's undelivered orders have no gap.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_3<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(3);
    for (w_id, d_id) in districts(scale) {
        let (mut count, mut least, mut greatest) = (0, u32::MAX, 0);
        tx.scan::<Undelivered>(Prefix((w_id, d_id)), Direction::Forward, |undelivered| {
            count += 1;
            (least, greatest) = (least.min(undelivered.o_id), greatest.max(undelivered.o_id));
            ControlFlow::Continue(())
        })?;
        if count > 0 {
            let what = || format!("district {w_id}.{d_id}: undelivered orders {least} to {greatest} and their count");
            report.equal(greatest - least + 1, count, what);
        }
    }
    Ok(report)
}

/// The sum of O_OL_CNT over a district's orders is the number of its order lines.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn condition_4<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Report, Stop> {
    let mut report = Report::new(4);
    for (w_id, d_id) in districts(scale) {
        let (mut sum, mut count) = (0_u64, 0_u64);
        tx.scan::<Order>(Prefix((w_id, d_id)), Direction::Forward, |order| {
            sum += u64::from(order.ol_cnt);
            ControlFlow::Continue(())
        })?;
        tx.scan::<OrderLine>(Prefix((w_id, d_id)), Direction::Forward, |_| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        report.equal(sum, count, || format!("district {w_id}.{d_id}: lines its orders name and lines there are"));
    }
    Ok(report)
}
