//! New-Order where the order takes items from another partition's warehouses: what that partition does.

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::Text;

use super::new_order::{Line, NewOrder, NewOrderReceipt};
use super::schema::{Money, Rate, Stock};
use crate::UpTo;

impl NewOrder {
    /// The part of a partition that has some of the stock, but not the district.
    #[cold]
    pub(super) fn supply<T: Transaction>(&self, tx: &mut T) -> Result<NewOrderReceipt, Stop> {
        let mut receipt = NewOrderReceipt {
            o_id: 0,
            entry_d: tx.now(),
            c_last: Text::EMPTY,
            c_credit: Text::EMPTY,
            c_discount: Rate::ZERO,
            w_tax: Rate::ZERO,
            d_tax: Rate::ZERO,
            total: Money::ZERO,
            lines: UpTo::new(),
        };
        // All that can be wrong with the lines is seen here as it is at home, before anything is written.
        self.read_lines(tx, &mut receipt.lines, &mut [Text::EMPTY; 15])?;
        for (line, receipt) in self.lines.iter().zip(receipt.lines.iter_mut()) {
            receipt.stock = self.take(tx, line)?;
        }
        Ok(receipt)
    }

    /// Takes a line's items from their stock; what is left, or 0 where the stock is not this partition's.
    #[inline(always)]
    pub(super) fn take<T: Transaction>(&self, tx: &mut T, line: &Line) -> Result<i16, Stop> {
        let &Line { i_id, supply_w_id, quantity } = line;
        if !tx.owns::<Stock>(&(supply_w_id, i_id)) {
            return Ok(0);
        }
        let remote = supply_w_id != self.w_id;
        let left = tx.update::<Stock, _>(&(supply_w_id, i_id), |stock| stock.take(quantity, remote))?;
        // The row is there, since its information is.
        Ok(left.unwrap_or_default())
    }
}
