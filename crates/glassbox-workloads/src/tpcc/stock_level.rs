//! The Stock-Level transaction (clause 2.8): how many of the items sold last are low in stock. It only reads.

use std::ops::ControlFlow;

use glassbox::procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::record::Direction;
use serde::{Deserialize, Serialize};

use super::schema::{District, OrderLine, Stock};
use crate::UpTo;

/// Orders that are looked at.
const ORDERS: u32 = 20;
/// Items they can have.
const ITEMS: usize = ORDERS as usize * 15;

/// Asks for the number of items, among those of the district's last 20 orders, of which fewer than `threshold` are in
/// stock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StockLevel {
    /// Warehouse.
    pub w_id: u16,
    /// District.
    pub d_id: u8,
    /// 10 to 20.
    pub threshold: i16,
}

impl Procedure for StockLevel {
    const NAME: &'static str = "stock_level";
    const ABORTS: Aborts = Aborts::Never;
    /// `None` when there is no such district.
    type Output = Option<u32>;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.read::<District>(&(self.w_id, self.d_id));
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Option<u32>, Stop> {
        let &Self { w_id, d_id, threshold } = self;
        let Some(district) = tx.get::<District>(&(w_id, d_id))? else { return Ok(None) };
        let next = district.next_o_id;
        let mut items = Distinct::new();
        let last = (w_id, d_id, next.saturating_sub(ORDERS), 0)..(w_id, d_id, next, 0);
        tx.scan::<OrderLine>(last, Direction::Forward, |line| {
            items.add(line.i_id);
            ControlFlow::Continue(())
        })?;
        let mut low = 0;
        for &i_id in items.list.iter() {
            low += u32::from(tx.get::<Stock>(&(w_id, i_id))?.is_some_and(|stock| stock.quantity < threshold));
        }
        Ok(Some(low))
    }
}

/// Distinct items, in the order in which they came; a hash table of fixed size tells which did already.
struct Distinct {
    seen: [u32; Self::PLACES],
    list: UpTo<ITEMS, u32>,
}

impl Distinct {
    /// A power of two, well above the number of items, so that runs of taken places stay short.
    const PLACES: usize = 512;
    /// No item has this number.
    const FREE: u32 = 0;

    fn new() -> Self {
        Self { seen: [Self::FREE; Self::PLACES], list: UpTo::new() }
    }

    #[inline(always)]
    fn add(&mut self, item: u32) {
        // Multiplying by an odd constant spreads neighbours; the high bits are the mixed ones.
        let mut place = (item.wrapping_mul(0x9e37_79b9) >> (32 - Self::PLACES.ilog2())) as usize;
        while self.seen[place] != Self::FREE {
            if self.seen[place] == item {
                return;
            }
            place = (place + 1) % Self::PLACES;
        }
        self.seen[place] = item;
        self.list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_items_are_kept_once() {
        let mut items = Distinct::new();
        (1..=ITEMS as u32).chain(1..=ITEMS as u32).for_each(|item| items.add(item * 1000));
        assert!(items.list.iter().copied().eq((1..=ITEMS as u32).map(|item| item * 1000)));
    }
}
