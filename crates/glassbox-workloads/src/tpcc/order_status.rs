//! The Order-Status transaction (clause 2.6): a customer's last order. It only reads.

use std::ops::ControlFlow;

use glassbox::procedure::{Aborts, Declared, KeySet, Mode, Procedure, Stop, Transaction};
use glassbox::record::{Direction, Prefix, Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::find_customer::Customers;
use super::schema::{Customer, Money, Order, OrderByCustomer, OrderLine};
use crate::UpTo;

/// Asks for a customer's last order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OrderStatus {
    /// Warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// Who asks.
    pub customer: Customers,
}

/// What the terminal shows (clause 2.6.3.3), besides what was entered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OrderStatusAnswer {
    /// Number of the customer.
    pub c_id: u16,
    /// The customer's name: first, middle, last.
    pub c_name: (Text<16>, Text<2>, Text<16>),
    /// Balance of the customer.
    pub c_balance: Money,
    /// Number of the last order; 0 when there is none, which the population and the mix never leave.
    pub o_id: u32,
    /// When it was entered.
    pub entry_d: Timestamp,
    /// Who delivered it, if it is delivered.
    pub carrier_id: Option<u8>,
    /// Its lines.
    pub lines: UpTo<15, OrderStatusLine>,
}

/// What the terminal shows for a line.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct OrderStatusLine {
    /// Warehouse the item comes from.
    pub supply_w_id: u16,
    /// The item.
    pub i_id: u32,
    /// How many.
    pub quantity: u8,
    /// Price of all.
    pub amount: Money,
    /// When it was delivered, if it is.
    pub delivery_d: Option<Timestamp>,
}

impl Procedure for OrderStatus {
    const NAME: &'static str = "order_status";
    const ABORTS: Aborts = Aborts::Never;
    /// `None` when there is no such customer.
    type Output = Option<OrderStatusAnswer>;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.customer.declare(self.w_id, self.d_id, Mode::Read, set);
        match self.customer {
            Customers::Id(c_id) => {
                set.cover_index::<OrderByCustomer>(Prefix((self.w_id, self.d_id, c_id)), Mode::Read);
                set.cover::<Order>(Prefix((self.w_id, self.d_id)), Mode::Read);
                set.cover::<OrderLine>(Prefix((self.w_id, self.d_id)), Mode::Read);
                Declared::Complete
            }
            Customers::Last(_) => Declared::Partitions,
        }
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Option<OrderStatusAnswer>, Stop> {
        let &Self { w_id, d_id, .. } = self;
        let Some(c_id) = self.customer.find(tx, Mode::Read, (w_id, d_id))? else { return Ok(None) };
        let Some(customer) = tx.get::<Customer>(&(w_id, d_id, c_id))? else { return Ok(None) };
        let mut answer = OrderStatusAnswer {
            c_id,
            c_name: (customer.first, customer.middle, customer.last),
            c_balance: customer.balance,
            o_id: 0,
            entry_d: Timestamp::default(),
            carrier_id: None,
            lines: UpTo::new(),
        };
        let last = tx.first_by::<OrderByCustomer>(Prefix((w_id, d_id, c_id)), Direction::Backward)?;
        let Some(order) = last else { return Ok(Some(answer)) };
        (answer.o_id, answer.entry_d, answer.carrier_id) = (order.id, order.entry_d, order.carrier_id);
        tx.scan::<OrderLine>(Prefix((w_id, d_id, order.id)), Direction::Forward, |line| {
            let &OrderLine { supply_w_id, i_id, quantity, amount, delivery_d, .. } = line;
            answer.lines.push(OrderStatusLine { supply_w_id, i_id, quantity, amount, delivery_d });
            ControlFlow::Continue(())
        })?;
        Ok(Some(answer))
    }
}
