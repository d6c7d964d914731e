//! The private writes of a run that keeps nothing: a dry run, or a fetch stage.
//!
//! A procedure relies on its own writes: it reads the row that it has inserted, and deletes rows until a scan finds
//! none. A run that changes nothing must show them nevertheless, or a procedure that is right panics, or never ends.
//! So the rows that it changes stay in a map of its own, which covers the stored rows: a key in the map has the row
//! of the map, or none.
//!
//! Rejected: changes in place that are undone at the end. Undo needs locks, on the engine that has any, and other
//! transactions would wait for a run that has no effect.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::iter;

use crate::record::{Direction, Encoded, EncodedKey, Key, Record};

/// Rows that a run has changed, by table.
#[derive(Debug, Default)]
pub(crate) struct PrivateWrites {
    tables: Vec<(TypeId, Box<dyn Any + Send>)>,
}

/// The changed rows of one table; `None`: deleted.
struct ChangedRows<R: Record>(BTreeMap<R::Encoded, Option<R>>);

impl PrivateWrites {
    fn changed<R: Record>(&self) -> Option<&ChangedRows<R>> {
        let (_, changed) = self.tables.iter().find(|(id, _)| *id == TypeId::of::<R>())?;
        changed.downcast_ref()
    }

    /// The row with this key as the run has changed it, `Some(None)` if deleted; `None` if the stored row stands.
    pub(super) fn get<R: Record>(&self, key: &R::Key) -> Option<Option<&R>> {
        self.changed::<R>()?.0.get(&key.encode()).map(Option::as_ref)
    }

    /// Whether the run has changed rows of this table.
    pub(super) fn has_changed<R: Record>(&self) -> bool {
        self.changed::<R>().is_some()
    }

    /// Sets the row with this key; `None`: it is deleted.
    pub(super) fn put<R: Record>(&mut self, key: &R::Key, row: Option<R>) {
        let id = TypeId::of::<R>();
        let at = self.tables.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.tables.push((id, Box::new(ChangedRows::<R>(BTreeMap::new()))));
            self.tables.len() - 1
        });
        let changed = self.tables[at].1.downcast_mut::<ChangedRows<R>>();
        changed.expect("the map of a table has its rows").0.insert(key.encode(), row);
    }

    /// The changed rows with a primary key within `range`, deleted ones as `None`, in this direction.
    pub(super) fn range<R: Record>(
        &self,
        range: Encoded<R::Encoded>,
        direction: Direction,
    ) -> impl Iterator<Item = (R::Encoded, Option<&R>)> {
        let mut rows = self.changed::<R>().map(|changed| changed.0.range(range.low..=range.high));
        iter::from_fn(move || {
            let rows = rows.as_mut()?;
            let next = if direction == Direction::Forward { rows.next() } else { rows.next_back() };
            next.map(|(key, row)| (*key, row.as_ref()))
        })
    }

    /// The changed rows whose `key_of` is within `range`, in its order and this direction; and how many rows it took
    /// to find them.
    pub(super) fn sorted<R: Record, E: EncodedKey>(
        &self,
        range: Encoded<E>,
        direction: Direction,
        key_of: impl Fn(&R) -> E,
    ) -> (Vec<(E, Option<&R>)>, usize) {
        let Some(ChangedRows(rows)) = self.changed::<R>() else { return (Vec::new(), 0) };
        let keyed = rows.values().flatten().map(|row| (key_of(row), Some(row)));
        let mut found: Vec<_> = keyed.filter(|(key, _)| (range.low..=range.high).contains(key)).collect();
        found.sort_unstable_by_key(|(key, _)| *key);
        if direction == Direction::Backward {
            found.reverse();
        }
        (found, rows.len())
    }
}
