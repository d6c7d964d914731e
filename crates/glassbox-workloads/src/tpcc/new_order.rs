//! The New-Order transaction (clause 2.4): enters an order of 5 to 15 items.
//!
//! Everything that can make it abort is read before anything is written (as in the 2010 paper, section 5.5), so that no
//! engine needs to keep an undo buffer for it: the customer, which proves warehouse and district; the items; and the
//! stock's information, which proves the stock. The district, which every order of it must change, is taken last of
//! these.
//!
//! Where partitions are processes of their own, an order that takes items from several is run by each of them, in one
//! round: the one that has the district enters the order, the others only take what is in their stock
//! ([`Transaction::owns`]). Whether the order aborts is decided by the replicated tables and by the home's, so a
//! participant that has less to look at never decides otherwise than it must.
//!
//! Money: the total is computed exactly and rounded once, half away from zero, to the cent.

use glassbox::procedure::{Aborts, Declared, KeySet, Mode, Place, Procedure, Stop, Transaction, run_in_place};
use glassbox::record::{Decimal, Prefix, Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::random::is_original;
use super::schema::{
    Customer, District, Item, Money, Order, OrderByCustomer, OrderLine, Rate, Stock, StockInfo, Undelivered, Warehouse,
};
use crate::UpTo;

/// The abort of an order for an item that does not exist: one in a hundred, by the specification.
pub const ABORT_UNUSED_ITEM: u32 = 1;
/// The abort of an order that no terminal would send: no such warehouse, district or customer, no lines, or a bad
/// quantity.
pub const ABORT_WRONG_ARGUMENTS: u32 = 2;

/// Enters an order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewOrder {
    /// Home warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// The customer who orders.
    pub c_id: u16,
    /// The items ordered.
    pub lines: UpTo<15, Line>,
}

/// One line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Line {
    /// The item.
    pub i_id: u32,
    /// The warehouse to take it from.
    pub supply_w_id: u16,
    /// How many, 1 to 10.
    pub quantity: u8,
}

/// What the terminal shows for an order (clause 2.4.3.3), besides what was entered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewOrderReceipt {
    /// The order's number.
    pub o_id: u32,
    /// When it was entered.
    pub entry_d: Timestamp,
    /// Last name of the customer.
    pub c_last: Text<16>,
    /// Credit of the customer.
    pub c_credit: Text<2>,
    /// Discount of the customer.
    pub c_discount: Rate,
    /// Tax of the warehouse.
    pub w_tax: Rate,
    /// Tax of the district.
    pub d_tax: Rate,
    /// The sum of all lines, less discount, plus taxes.
    pub total: Money,
    /// In the order of the arguments.
    pub lines: UpTo<15, ReceiptLine>,
}

/// What the terminal shows for a line.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ReceiptLine {
    /// Name of the item.
    pub name: Text<24>,
    /// Price of one.
    pub price: Money,
    /// Price of all.
    pub amount: Money,
    /// The quantity left in stock.
    pub stock: i16,
    /// `B`, brand: both item and stock are `ORIGINAL`; else `G`, generic.
    pub brand: bool,
}

const WRONG_LINES: &str = "an order has 1 to 15 lines, each of 1 to 10 items";

/// The stock's information on each line, read before anything is written.
type Info = UpTo<15, Text<24>>;

impl Procedure for NewOrder {
    const NAME: &'static str = "new_order";
    const ABORTS: Aborts = Aborts::BeforeFirstWrite;
    type Output = NewOrderReceipt;

    #[inline(always)]
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.index::<OrderByCustomer>(Prefix((self.w_id, self.d_id, self.c_id)), Mode::Insert);
        set.part::<Customer>(&(self.w_id, self.d_id, self.c_id), Mode::Read, Customer::FRONT);
        set.read::<Warehouse>(&self.w_id);
        // Keys of one table together: they go through its index together, too.
        set.read_each::<Item>(self.lines.iter().map(|line| line.i_id));
        set.parts::<StockInfo>(self.stock(), Mode::Read, StockInfo::place_of_dist(self.d_id));
        set.write::<District>(&(self.w_id, self.d_id));
        set.write_each::<Stock>(self.stock());
        // The order's number is found by the run.
        set.cover::<Order>(Prefix((self.w_id, self.d_id)), Mode::Insert);
        set.cover::<Undelivered>(Prefix((self.w_id, self.d_id)), Mode::Insert);
        set.cover::<OrderLine>(Prefix((self.w_id, self.d_id)), Mode::Insert);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<NewOrderReceipt, Stop> {
        run_in_place(self, tx)
    }

    fn answer<T: Transaction>(&self, tx: &mut T, place: &mut impl Place<NewOrderReceipt>) -> Result<(), Stop> {
        let wrong = |message| Stop::abort(ABORT_WRONG_ARGUMENTS, message);
        if self.lines.is_empty() {
            return Err(wrong(WRONG_LINES));
        }
        if !tx.owns::<District>(&(self.w_id, self.d_id)) {
            place.put(self.supply(tx)?);
            return Ok(());
        }
        let customer = tx.get::<Customer>(&(self.w_id, self.d_id, self.c_id))?;
        let &Customer { last, credit, discount, .. } = customer.ok_or_else(|| wrong("there is no such customer"))?;
        let warehouse = tx.get::<Warehouse>(&self.w_id)?.ok_or_else(|| wrong("there is no such warehouse"))?;
        let w_tax = warehouse.tax;
        let receipt = place.put(NewOrderReceipt {
            o_id: 0,
            entry_d: Timestamp::default(),
            c_last: last,
            c_credit: credit,
            c_discount: discount,
            w_tax,
            d_tax: Rate::ZERO,
            total: Money::ZERO,
            lines: UpTo::new(),
        });
        let mut info = UpTo::new();
        let (sum, local) = self.read_lines(tx, &mut receipt.lines, &mut info)?;

        let district = tx.update::<District, _>(&(self.w_id, self.d_id), |district| {
            district.next_o_id += 1;
            (district.next_o_id - 1, district.tax)
        })?;
        (receipt.o_id, receipt.d_tax) = district.ok_or_else(|| wrong("there is no such district"))?;
        receipt.entry_d = tx.now();
        self.insert_order(tx, receipt.o_id, local, receipt.entry_d)?;
        self.write_lines(tx, receipt.o_id, local, &mut receipt.lines, &info)?;
        receipt.total = total(sum, discount, w_tax + receipt.d_tax);
        Ok(())
    }

    fn merge(receipt: &mut NewOrderReceipt, part: NewOrderReceipt) {
        for (line, other) in receipt.lines.iter_mut().zip(part.lines.iter()) {
            // A partition leaves out the stock of the others.
            line.stock = line.stock.saturating_add(other.stock);
        }
    }
}

impl NewOrder {
    /// The keys of the stock of each line.
    #[inline(always)]
    fn stock(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.lines.iter().map(|line| (line.supply_w_id, line.i_id))
    }

    /// Items and the information about their stock, or an abort when one does not exist or so many cannot be ordered.
    /// Gives the sum of all lines, and whether the home warehouse supplies them all.
    #[inline]
    pub(super) fn read_lines<T: Transaction>(
        &self,
        tx: &mut T,
        receipt: &mut UpTo<15, ReceiptLine>,
        info: &mut Info,
    ) -> Result<(Money, bool), Stop> {
        let lines = self.lines.iter().map(|line| (line.i_id, line.quantity));
        let (mut sum, mut elsewhere) = (Money::ZERO, 0);
        receipt.add_each(|receipt| {
            tx.get_each::<Item, _>(lines, |quantity, item| {
                let item = item.ok_or_else(|| Stop::abort(ABORT_UNUSED_ITEM, "Item number is not valid"))?;
                if !(1..=10).contains(&quantity) {
                    return Err(Stop::abort(ABORT_WRONG_ARGUMENTS, WRONG_LINES));
                }
                let &Item { name, price, .. } = item;
                let amount = price.times(i64::from(quantity));
                sum += amount;
                receipt.push(ReceiptLine { name, price, amount, stock: 0, brand: is_original(&item.data) });
                Ok(())
            })
        })?;
        info.add_each(|info| {
            let keys = self.stock().inspect(|(supply_w_id, _)| elsewhere |= supply_w_id ^ self.w_id);
            tx.get_each::<StockInfo, _>(keys.zip(receipt.iter_mut()), |receipt, stock| {
                let stock =
                    stock.ok_or_else(|| Stop::abort(ABORT_WRONG_ARGUMENTS, "there is no such supplying warehouse"))?;
                info.push(*stock.dist(self.d_id));
                receipt.brand = receipt.brand && is_original(&stock.data);
                Ok(())
            })
        })?;
        Ok((sum, elsewhere == 0))
    }

    #[inline]
    fn insert_order<T: Transaction>(
        &self,
        tx: &mut T,
        o_id: u32,
        all_local: bool,
        entry_d: Timestamp,
    ) -> Result<(), Stop> {
        let &Self { w_id, d_id, c_id, .. } = self;
        tx.insert(&Order {
            w_id,
            d_id,
            id: o_id,
            c_id,
            carrier_id: None,
            ol_cnt: self.lines.len() as u8,
            all_local,
            entry_d,
        })?;
        tx.insert(&Undelivered { w_id, d_id, o_id })
    }

    /// Takes each item from its stock and enters the line.
    #[inline]
    fn write_lines<T: Transaction>(
        &self,
        tx: &mut T,
        o_id: u32,
        local: bool,
        receipt: &mut [ReceiptLine],
        info: &Info,
    ) -> Result<(), Stop> {
        let &Self { w_id, d_id, .. } = self;
        if local {
            self.take(tx, self.lines.iter().zip(&mut *receipt))?;
        } else {
            self.take_own(tx, receipt)?;
        }
        let lines = self.lines.iter().zip(receipt).zip(info.iter()).zip(1..);
        tx.insert_each(lines.map(|(((line, receipt), &dist_info), number)| {
            let &Line { i_id, supply_w_id, quantity } = line;
            let amount = receipt.amount;
            OrderLine { w_id, d_id, o_id, number, quantity, supply_w_id, i_id, amount, delivery_d: None, dist_info }
        }))
    }
}

impl Stock {
    /// Takes so many away, restocking by 91 when fewer than 10 would be left; what is left.
    #[inline(always)]
    pub fn take(&mut self, quantity: u8, remote: bool) -> i16 {
        let taken = i16::from(quantity);
        let restocked = if self.quantity >= taken + 10 { 0 } else { 91 };
        self.quantity += restocked - taken;
        self.ytd += u64::from(quantity);
        self.order_cnt += 1;
        self.remote_cnt += u32::from(remote);
        self.quantity
    }
}

/// `sum × (1 − discount) × (1 + taxes)`, rounded once.
#[inline]
fn total(sum: Money, discount: Rate, taxes: Rate) -> Money {
    // Two factors of four digits multiply to one of eight, exactly.
    let factor = (Rate::ONE - discount).units() * (Rate::ONE + taxes).units();
    sum.multiply(Decimal::<8>::from_units(factor))
}

// Where the order takes items from another partition's warehouses: what that partition does.

impl NewOrder {
    /// The part of a partition that has some of the stock, but not the district.
    #[cold]
    fn supply<T: Transaction>(&self, tx: &mut T) -> Result<NewOrderReceipt, Stop> {
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
    fn take_own<T: Transaction>(&self, tx: &mut T, receipt: &mut [ReceiptLine]) -> Result<(), Stop> {
        let own = |tx: &mut T, line: &Line| u32::from(tx.owns::<Stock>(&(line.supply_w_id, line.i_id)));
        let own = self.lines.iter().enumerate().fold(0, |lines, (at, line)| lines | own(tx, line) << at);
        let lines = self.lines.iter().zip(receipt).enumerate().filter(|(at, _)| own >> at & 1 == 1);
        self.take(tx, lines.map(|(_, line)| line))
    }

    /// Takes the items of these lines from their stock.
    #[inline(always)]
    fn take<'a, T: Transaction>(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_rounded_once_half_away_from_zero() {
        let (sum, discount, taxes) = (Decimal::from_units(10_001), "0.5".parse().unwrap(), Rate::ZERO);
        assert_eq!(total(sum, discount, taxes).to_string(), "50.01");
        let (discount, taxes) = ("0.1234".parse().unwrap(), "0.3999".parse().unwrap());
        // 100.01 × 0.8766 × 1.3999 = 122.728…
        assert_eq!(total(sum, discount, taxes).to_string(), "122.73");
    }

    #[test]
    fn stock_is_filled_up_below_ten() {
        let mut stock = Stock { ytd: 0, i_id: 1, order_cnt: 0, remote_cnt: 0, w_id: 1, quantity: 15 };
        assert_eq!(stock.take(5, false), 10);
        assert_eq!(stock.take(1, true), 100);
        assert_eq!((stock.ytd, stock.order_cnt, stock.remote_cnt), (6, 2, 1));
    }
}
