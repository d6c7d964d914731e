//! Checks that all systems did the same work: the kernel's sums, over the engine's tables.

use std::ops::ControlFlow;

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::Direction;
use glassbox_workloads::tpcc::schema::{Customer, District, History, Order, OrderLine, Stock, Undelivered, Warehouse};
use glassbox_workloads::tpcc::{DISTRICTS, Scale};

use glassbox_kernels::Checksum;

/// The sums over the engine's tables. A payment that its customer's counter does not cover is not found; a covered one
/// that is missing adds nothing.
pub(super) fn checksum<T: Transaction>(tx: &mut T, scale: &Scale) -> Result<Checksum, Stop> {
    let mut sums = Checksum::default();
    for w_id in scale.warehouse_ids() {
        sums.warehouse_ytd += tx.get::<Warehouse>(&w_id)?.map_or(0, |row| row.ytd.units());
        for d_id in 1..=DISTRICTS {
            if let Some(district) = tx.get::<District>(&(w_id, d_id))? {
                sums.district_ytd += district.ytd.units();
                sums.district_next_o_id += i64::from(district.next_o_id);
            }
            for c_id in 1..=scale.customers {
                customer(tx, (w_id, d_id, c_id), &mut sums)?;
            }
        }
        for i_id in 1..=scale.items {
            if let Some(stock) = tx.get::<Stock>(&(w_id, i_id))? {
                sums.stock_quantity += i64::from(stock.quantity);
                sums.stock_ytd += stock.ytd as i64;
                sums.stock_order_cnt += i64::from(stock.order_cnt);
            }
        }
    }
    orders(tx, &mut sums)?;
    Ok(sums)
}

fn customer<T: Transaction>(tx: &mut T, key: (u16, u8, u16), sums: &mut Checksum) -> Result<(), Stop> {
    let Some(customer) = tx.get::<Customer>(&key)? else { return Ok(()) };
    sums.customer_balance += customer.balance.units();
    sums.customer_ytd_payment += customer.ytd_payment.units();
    let payments = customer.payment_cnt;
    sums.customer_payment_cnt += i64::from(payments);
    for number in 1..=payments {
        if let Some(payment) = tx.get::<History>(&(key.0, key.1, key.2, number))? {
            sums.history_rows += 1;
            sums.history_amount += payment.amount.units();
        }
    }
    Ok(())
}

fn orders<T: Transaction>(tx: &mut T, sums: &mut Checksum) -> Result<(), Stop> {
    tx.scan::<Order>(.., Direction::Forward, |order| {
        sums.order_rows += 1;
        sums.order_ol_cnt += i64::from(order.ol_cnt);
        ControlFlow::Continue(())
    })?;
    tx.scan::<Undelivered>(.., Direction::Forward, |_| {
        sums.new_order_rows += 1;
        ControlFlow::Continue(())
    })?;
    tx.scan::<OrderLine>(.., Direction::Forward, |line| {
        sums.order_line_rows += 1;
        sums.order_line_amount += line.amount.units();
        ControlFlow::Continue(())
    })
}
