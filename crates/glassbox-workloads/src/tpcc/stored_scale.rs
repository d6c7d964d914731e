//! The scale that a database was loaded with, found out from its rows.
//!
//! A table that held it could say something else than the rows do. The keys are dense from 1, so a few dozen lookups
//! find their ends; the orders of the population are told from later ones by their date.

use glassbox::procedure::{Stop, Transaction};

use super::population::POPULATED_AT;
use super::scale::Scale;
use super::schema::{Customer, Item, Order, Warehouse};

/// The scale of the database; `None` when no population was loaded.
///
/// # Errors
/// [`Stop`], to be passed on.
pub fn stored_scale<T: Transaction>(tx: &mut T) -> Result<Option<Scale>, Stop> {
    let warehouses = last(u32::from(u16::MAX), |id| Ok(tx.get::<Warehouse>(&(id as u16))?.is_some()))? as u16;
    if warehouses == 0 {
        return Ok(None);
    }
    let items = last(1 << 20, |id| Ok(tx.get::<Item>(&id)?.is_some()))?;
    let customers = last(u32::from(u16::MAX), |id| Ok(tx.get::<Customer>(&(1, 1, id as u16))?.is_some()))? as u16;
    let orders = last(1 << 20, |id| {
        let order = tx.get::<Order>(&(1, 1, id))?;
        Ok(order.is_some_and(|order| order.entry_d == POPULATED_AT))
    })?;
    Ok(Some(Scale { warehouses, items, customers, orders }))
}

/// The last number, from 1 to `most`, that `there` affirms, given that it affirms all before that; 0: not even the
/// first.
fn last(most: u32, mut there: impl FnMut(u32) -> Result<bool, Stop>) -> Result<u32, Stop> {
    let (mut low, mut high) = (0, most + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if there(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_found_wherever_it_is() {
        for wanted in [0, 1, 2, 3, 99, 100] {
            assert_eq!(last(100, |id| Ok(id <= wanted)), Ok(wanted));
        }
    }
}
