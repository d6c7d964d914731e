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

use crate::record::{Direction, Encoded, Index, IndexVisitor, Key, Record};

/// Rows that a run has changed, by table.
#[derive(Debug, Default)]
pub(crate) struct PrivateWrites {
    tables: Vec<(TypeId, Box<dyn Any + Send>)>,
}

/// The changed rows of one table.
struct ChangedRows<R: Record> {
    /// By primary key; `None`: deleted.
    rows: BTreeMap<R::Encoded, Option<R>>,
    /// An [`IndexEntries`] for each secondary index: a scan of the index visits only the rows that it finds.
    indexes: Vec<Box<dyn Any + Send>>,
}

/// The primary keys of changed rows, by their key in a secondary index. No two rows have the same: a unique index
/// refuses the second, and the key of another index has the primary key in it.
type IndexEntries<I> = BTreeMap<<I as Index>::Encoded, <<I as Index>::Record as Record>::Encoded>;

impl<R: Record> ChangedRows<R> {
    fn new() -> Self {
        struct AddEach<'a>(&'a mut Vec<Box<dyn Any + Send>>);
        impl<R: Record> IndexVisitor<R> for AddEach<'_> {
            fn visit<I: Index<Record = R>>(&mut self) {
                self.0.push(Box::new(IndexEntries::<I>::new()));
            }
        }
        let mut indexes = Vec::new();
        R::each_index(&mut AddEach(&mut indexes));
        Self { rows: BTreeMap::new(), indexes }
    }

    fn entries<I: Index<Record = R>>(&self) -> &IndexEntries<I> {
        self.indexes[I::POSITION].downcast_ref().expect("the entries of an index are at its position")
    }

    fn put(&mut self, key: R::Encoded, row: Option<R>) {
        struct MoveEach<'a, R: Record> {
            changed: &'a mut ChangedRows<R>,
            key: R::Encoded,
            before: Option<R>,
            after: Option<R>,
        }
        impl<R: Record> IndexVisitor<R> for MoveEach<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let entries = self.changed.indexes[I::POSITION].downcast_mut::<IndexEntries<I>>();
                let entries = entries.expect("the entries of an index are at its position");
                if let Some(before) = &self.before {
                    entries.remove(&I::key(before).encode());
                }
                if let Some(after) = &self.after {
                    entries.insert(I::key(after).encode(), self.key);
                }
            }
        }
        let before = self.rows.insert(key, row).flatten();
        R::each_index(&mut MoveEach { changed: self, key, before, after: row });
    }
}

impl PrivateWrites {
    fn changed<R: Record>(&self) -> Option<&ChangedRows<R>> {
        let (_, changed) = self.tables.iter().find(|(id, _)| *id == TypeId::of::<R>())?;
        changed.downcast_ref()
    }

    /// The row with this key as the run has changed it, `Some(None)` if deleted; `None` if the stored row stands.
    pub(super) fn get<R: Record>(&self, key: &R::Key) -> Option<Option<&R>> {
        self.changed::<R>()?.rows.get(&key.encode()).map(Option::as_ref)
    }

    /// Whether the run has changed rows of this table.
    pub(super) fn has_changed<R: Record>(&self) -> bool {
        self.changed::<R>().is_some()
    }

    /// Sets the row with this key; `None`: it is deleted.
    pub(super) fn put<R: Record>(&mut self, key: &R::Key, row: Option<R>) {
        let id = TypeId::of::<R>();
        let at = self.tables.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.tables.push((id, Box::new(ChangedRows::<R>::new())));
            self.tables.len() - 1
        });
        let changed = self.tables[at].1.downcast_mut::<ChangedRows<R>>();
        changed.expect("the map of a table has its rows").put(key.encode(), row);
    }

    /// The changed rows with a primary key within `range`, deleted ones as `None`, in this direction.
    pub(super) fn range<R: Record>(
        &self,
        range: Encoded<R::Encoded>,
        direction: Direction,
    ) -> impl Iterator<Item = (R::Encoded, Option<&R>)> {
        let mut rows = self.changed::<R>().map(|changed| changed.rows.range(range.low..=range.high));
        iter::from_fn(move || {
            let rows = rows.as_mut()?;
            let next = if direction == Direction::Forward { rows.next() } else { rows.next_back() };
            next.map(|(key, row)| (*key, row.as_ref()))
        })
    }

    /// The changed rows whose key in an index is within `range`, in its order and this direction.
    pub(super) fn index_range<I: Index>(
        &self,
        range: Encoded<I::Encoded>,
        direction: Direction,
    ) -> impl Iterator<Item = (I::Encoded, Option<&I::Record>)> {
        let changed = self.changed::<I::Record>();
        let mut entries = changed.map(|changed| changed.entries::<I>().range(range.low..=range.high));
        iter::from_fn(move || {
            let entries = entries.as_mut()?;
            let next = if direction == Direction::Forward { entries.next() } else { entries.next_back() };
            let (found, key) = next?;
            Some((*found, changed?.rows.get(key)?.as_ref()))
        })
    }
}
