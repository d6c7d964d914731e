//! How a terminal names a customer: by number or by last name (clauses 2.5.2.2 and 2.6.2.2).

use std::ops::ControlFlow;

use glassbox::procedure::{KeySet, Mode, Stop, Transaction};
use glassbox::record::{Direction, Prefix, Text};
use serde::{Deserialize, Serialize};

use super::schema::{Customer, CustomerByName};

/// A customer of a district, or several of the same last name, of whom the middle one is meant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Customers {
    /// The one with this number.
    Id(u16),
    /// The middle one, rounded up, of those with this last name, ordered by first name.
    Last(Text<16>),
}

/// Numbers kept while rows of one name are counted; the middle of up to twice as many is then among them.
const KEPT: usize = 32;

impl Customers {
    /// Names the rows in question.
    #[inline(always)]
    pub(super) fn declare(&self, w_id: u16, d_id: u8, mode: Mode, set: &mut impl KeySet) {
        match (self, mode) {
            (Self::Id(id), Mode::Read) => set.read::<Customer>(&(w_id, d_id, *id)),
            (Self::Id(id), _) => set.write::<Customer>(&(w_id, d_id, *id)),
            // Which ones, only the index knows; this much says where to run.
            (Self::Last(last), mode) => set.index::<CustomerByName>(Prefix((w_id, d_id, *last)), mode),
        }
    }

    /// The number of the customer that is meant; `None` when no customer has the name. A number is not looked up.
    /// A customer who will be changed ([`Mode::Write`]) is read for update.
    #[inline]
    pub(super) fn find<T: Transaction>(
        &self,
        tx: &mut T,
        mode: Mode,
        (w_id, d_id): (u16, u8),
    ) -> Result<Option<u16>, Stop> {
        match *self {
            Self::Id(id) => Ok(Some(id)),
            Self::Last(last) => Self::find_named(tx, mode, Prefix((w_id, d_id, last))),
        }
    }

    fn find_named<T: Transaction>(
        tx: &mut T,
        mode: Mode,
        named: Prefix<(u16, u8, Text<16>)>,
    ) -> Result<Option<u16>, Stop> {
        let (mut ids, mut count) = ([0; KEPT], 0);
        let visit = |customer: &Customer| {
            if let Some(place) = ids.get_mut(count) {
                *place = customer.id;
            }
            count += 1;
            ControlFlow::Continue(())
        };
        match mode {
            Mode::Read => tx.scan_index::<CustomerByName>(named, Direction::Forward, visit)?,
            _ => tx.scan_index_for_update::<CustomerByName>(named, Direction::Forward, visit)?,
        }
        if count == 0 {
            return Ok(None);
        }
        let middle = count.div_ceil(2) - 1;
        if middle < KEPT {
            return Ok(Some(ids[middle]));
        }
        let (mut id, mut position) = (None, 0);
        tx.scan_index::<CustomerByName>(named, Direction::Forward, |customer| {
            if position == middle {
                id = Some(customer.id);
                return ControlFlow::Break(());
            }
            position += 1;
            ControlFlow::Continue(())
        })?;
        Ok(id)
    }
}
