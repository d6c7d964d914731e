//! New-Order where the order takes items from another partition's warehouses: what that partition does.

use glassbox::procedure::{Stop, Transaction};
use glassbox::record::Text;

use super::new_order::{Line, NewOrder, NewOrderReceipt, ReceiptLine};
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
        self.read_lines(tx, &mut receipt.lines, &mut UpTo::new())?;
        self.take_own(tx, &mut receipt.lines)?;
        Ok(receipt)
    }

    /// Takes each line's items from their stock, where that is this run's; what is left stays 0 where it is not.
    #[cold]
    pub(super) fn take_own<T: Transaction>(&self, tx: &mut T, receipt: &mut [ReceiptLine]) -> Result<(), Stop> {
        let own = |tx: &mut T, line: &Line| u32::from(tx.owns::<Stock>(&(line.supply_w_id, line.i_id)));
        let own = self.lines.iter().enumerate().fold(0, |lines, (at, line)| lines | own(tx, line) << at);
        let lines = self.lines.iter().zip(receipt).enumerate().filter(|(at, _)| own >> at & 1 == 1);
        self.take(tx, lines.map(|(_, line)| line))
    }

    /// Takes the items of these lines from their stock.
    #[inline(always)]
    pub(super) fn take<'a, T: Transaction>(
        &self,
        tx: &mut T,
        lines: impl Iterator<Item = (&'a Line, &'a mut ReceiptLine)>,
    ) -> Result<(), Stop> {
        // The rows are there, since their information is.
        let keys = lines.map(|(line, receipt)| ((line.supply_w_id, line.i_id), (line, receipt)));
        tx.update_each::<Stock, _>(keys, |(line, receipt), stock| {
            receipt.stock = stock.take(line.quantity, line.supply_w_id != self.w_id);
        })
    }
}
