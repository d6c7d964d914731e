//! The Delivery transaction (clause 2.7): delivers the oldest undelivered order of each of a warehouse's ten districts.
//!
//! The specification lets each district be a transaction of its own; here all ten are one. Its queue and result file
//! are left to the caller, who has the answer.

use glassbox::procedure::{Aborts, Declared, KeySet, Mode, Procedure, Stop, Transaction};
use glassbox::record::{Direction, Prefix, Timestamp};
use serde::{Deserialize, Serialize};

use super::scale::DISTRICTS;
use super::schema::{Customer, Money, Order, OrderLine, Undelivered};

/// Delivers for a warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// The warehouse.
    pub w_id: u16,
    /// Who delivers, 1 to 10.
    pub carrier_id: u8,
}

/// The orders that were delivered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DeliveryReceipt {
    /// The order that was delivered in each district, district 1 first; 0 where none was waiting.
    pub orders: [u32; DISTRICTS as usize],
    /// Districts where none was waiting. More than 1 in 100 of them is to be reported (clause 2.7.4.2).
    pub skipped: u8,
}

impl Procedure for Delivery {
    const NAME: &'static str = "delivery";
    const ABORTS: Aborts = Aborts::Never;
    type Output = DeliveryReceipt;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        // Which orders, only the run finds out; this says where.
        set.range::<Undelivered>(Prefix(self.w_id), Mode::Write);
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<DeliveryReceipt, Stop> {
        let date = tx.now();
        let mut receipt = DeliveryReceipt::default();
        for (d_id, delivered) in (1..=DISTRICTS).zip(&mut receipt.orders) {
            match self.deliver(tx, d_id, date)? {
                Some(o_id) => *delivered = o_id,
                None => receipt.skipped += 1,
            }
        }
        Ok(receipt)
    }
}

/// The code of an abort that cannot be.
const ABORT_INCOMPLETE: u32 = 1;

impl Delivery {
    /// Delivers in one district; the order's number, unless none is waiting.
    #[inline]
    fn deliver<T: Transaction>(&self, tx: &mut T, d_id: u8, date: Timestamp) -> Result<Option<u32>, Stop> {
        let &Self { w_id, carrier_id } = self;
        // Read for update: two deliveries to a warehouse would read the same one, and then both delete it.
        let oldest = tx.first_for_update::<Undelivered>(Prefix((w_id, d_id)), Direction::Forward)?;
        let Some(Undelivered { o_id, .. }) = oldest else { return Ok(None) };
        tx.delete::<Undelivered>(&(w_id, d_id, o_id))?;
        let order = tx.update::<Order, _>(&(w_id, d_id, o_id), |order| {
            order.carrier_id = Some(carrier_id);
            (order.c_id, order.ol_cnt)
        })?;
        let (c_id, ol_cnt) = order.ok_or_else(incomplete)?;
        let mut sum = Money::ZERO;
        for number in 1..=ol_cnt {
            let amount = tx.update::<OrderLine, _>(&(w_id, d_id, o_id, number), |line| {
                line.delivery_d = Some(date);
                line.amount
            })?;
            sum += amount.ok_or_else(incomplete)?;
        }
        let paid = tx.update::<Customer, _>(&(w_id, d_id, c_id), |customer| {
            customer.balance += sum;
            customer.delivery_cnt += 1;
        })?;
        paid.ok_or_else(incomplete)?;
        Ok(Some(o_id))
    }
}

/// No transaction sees that; a fetch stage may, which reads without locks.
#[cold]
fn incomplete() -> Stop {
    Stop::abort(ABORT_INCOMPLETE, "an undelivered order lacks its order, a line or its customer")
}
