//! Secondary indexes of a table: they follow what happens to its rows. And the check that every index agrees with its
//! table.

use crate::partitioned::storage::memory::{BTree, NotInserted, RowId, Rows, check_tree};
use crate::partitioned::storage::table::{Deferred, Refused, Table, insert_into};
use crate::procedure::{AbortReason, DuplicateKey, TableFull};
use crate::record::{EncodedKey, Index, IndexSchema, IndexVisitor, Key, Record, digest};

impl<R: Record> Table<R> {
    /// Adds the row to every secondary index, or to none.
    #[inline(always)]
    pub(crate) fn insert_secondary(&mut self, row: &R, id: RowId) -> Result<(), Refused> {
        struct Insert<'a, R: Record> {
            table: &'a mut Table<R>,
            row: &'a R,
            id: RowId,
            done: usize,
            refused: Option<Refused>,
        }
        impl<R: Record> IndexVisitor<R> for Insert<'_, R> {
            #[inline(always)]
            fn visit<I: Index<Record = R>>(&mut self) {
                if self.refused.is_none() {
                    let key = I::key(self.row).encode();
                    let tree = self.table.built_tree_mut::<I>();
                    match tree.map_or(Ok(()), |tree| insert_into(tree, key, self.id)) {
                        Ok(()) => self.done += 1,
                        Err(refused) => self.refused = Some(refused),
                    }
                }
            }
        }
        let mut insert = Insert { table: self, row, id, done: 0, refused: None };
        R::each_index(&mut insert);
        let (done, refused) = (insert.done, insert.refused);
        match refused {
            None => Ok(()),
            Some(refused) => {
                self.remove_secondary(row, done);
                Err(refused)
            }
        }
    }

    /// Adds the row to every secondary index, all of which had these keys before what is undone.
    #[cold]
    pub(crate) fn restore_secondary(&mut self, row: &R, id: RowId) {
        struct Restore<'a, R: Record>(&'a mut Table<R>, &'a R, RowId);
        impl<R: Record> IndexVisitor<R> for Restore<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let key = I::key(self.1).encode();
                if let Some(tree) = self.0.built_tree_mut::<I>() {
                    let restored = tree.with_spare(|tree| tree.insert(key, self.2));
                    restored.expect("its keys are free again, changes being undone in reverse");
                }
            }
        }
        R::each_index(&mut Restore(self, row, id));
    }

    /// Removes the row from the first `count` secondary indexes.
    pub(crate) fn remove_secondary(&mut self, row: &R, count: usize) {
        struct Remove<'a, R: Record> {
            table: &'a mut Table<R>,
            row: &'a R,
            count: usize,
        }
        impl<R: Record> IndexVisitor<R> for Remove<'_, R> {
            #[inline(always)]
            fn visit<I: Index<Record = R>>(&mut self) {
                if I::POSITION < self.count
                    && let Some(tree) = self.table.built_tree_mut::<I>()
                {
                    let removed = tree.remove(&I::key(self.row).encode());
                    assert!(removed.is_some(), "a row of table {} is missing from index {}", R::TABLE, I::NAME);
                }
            }
        }
        R::each_index(&mut Remove { table: self, row, count });
    }

    /// Makes the secondary indexes follow a row that was changed in place from `before`. When a unique index refuses,
    /// the indexes are as before and the caller puts the row back.
    #[inline(always)]
    pub(crate) fn reindex(&mut self, before: &R, id: RowId) -> Result<(), Refused> {
        struct Changed<'a, R> {
            before: &'a R,
            after: &'a R,
            changed: bool,
        }
        impl<R: Record> IndexVisitor<R> for Changed<'_, R> {
            #[inline(always)]
            fn visit<I: Index<Record = R>>(&mut self) {
                self.changed |= !I::key(self.before).is_key(&I::key(self.after));
            }
        }
        let mut changed = Changed { before, after: self.rows.get(id), changed: false };
        R::each_index(&mut changed);
        if changed.changed { self.move_in_indexes(before, id) } else { Ok(()) }
    }

    /// As [`Table::reindex`], where a change from what the row is now to `after` is undone.
    pub(crate) fn reindex_back(&mut self, after: &R, id: RowId) {
        let row = *self.rows.get(id);
        self.remove_secondary(after, R::INDEXES);
        self.restore_secondary(&row, id);
    }

    /// As [`Table::reindex`], of a table without unique indexes, where nothing but the columns in indexes was kept.
    #[inline(always)]
    pub(crate) fn reindex_columns(&mut self, before: R::Indexed, id: RowId) -> Result<(), Refused> {
        if self.rows.get(id).has_indexed(&before) { Ok(()) } else { self.move_columns(before, id) }
    }

    /// The refusal of `row`, which left no trace: which unique index has its key under another number than its `own`,
    /// the one that it has if it was to be changed.
    #[cold]
    pub(crate) fn refusal(&self, refused: Refused, row: &R, own: Option<RowId>) -> AbortReason {
        struct FindDuplicate<'a, R: Record> {
            table: &'a Table<R>,
            row: &'a R,
            own: Option<RowId>,
            found: Option<usize>,
        }
        impl<R: Record> IndexVisitor<R> for FindDuplicate<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let tree = self.table.built_tree::<I>();
                let other = tree.and_then(|tree| tree.get(&I::key(self.row).encode()));
                if self.found.is_none() && I::UNIQUE && other.is_some_and(|id| Some(id) != self.own) {
                    self.found = Some(I::POSITION);
                }
            }
        }
        if refused == Refused::Full {
            return AbortReason::TableFull(TableFull::of::<R>());
        }
        let other = self.find(row.key().encode());
        let mut find = FindDuplicate { table: self, row, own, found: None };
        if other.is_none_or(|id| Some(id) == own) {
            R::each_index(&mut find);
        }
        AbortReason::DuplicateKey(Box::new(DuplicateKey::of(row, find.found)))
    }

    #[cold]
    fn move_columns(&mut self, before: R::Indexed, id: RowId) -> Result<(), Refused> {
        let mut row = *self.rows.get(id);
        row.put_indexed(before);
        self.move_in_indexes(&row, id)
    }

    #[cold]
    fn move_in_indexes(&mut self, before: &R, id: RowId) -> Result<(), Refused> {
        let after = *self.rows.get(id);
        self.remove_secondary(before, R::INDEXES);
        self.insert_secondary(&after, id).inspect_err(|_| self.restore_secondary(before, id))
    }

    /// Does not maintain the unique indexes that `is_new` says were not there when the rows were written, until
    /// [`Table::build_deferred`]: the rows, as they were in between, need not have kept a promise that was given later.
    /// Whether there are any.
    pub(crate) fn defer_unique(&mut self, is_new: &dyn Fn(&IndexSchema) -> bool) -> bool {
        struct Defer<'a, R: Record>(&'a mut Table<R>, &'a dyn Fn(&IndexSchema) -> bool, bool);
        impl<R: Record> IndexVisitor<R> for Defer<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let index = &R::SCHEMA.indexes[I::POSITION];
                if index.unique && self.1(index) {
                    let place = &mut self.0.secondary[I::POSITION];
                    let tree = std::mem::replace(place, Box::new(())).downcast::<BTree<I::Encoded>>();
                    *place = Box::new(Deferred(*tree.expect("made by `new` in this order")));
                    self.2 = true;
                }
            }
        }
        let mut defer = Defer(self, is_new, false);
        R::each_index(&mut defer);
        defer.2
    }

    /// Builds the indexes that were deferred.
    pub(crate) fn build_deferred(&mut self) -> Result<(), NotBuilt> {
        struct Build<'a, R: Record>(&'a mut Table<R>, Result<(), NotBuilt>);
        impl<R: Record> IndexVisitor<R> for Build<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                let Self(table, built) = self;
                let Some(Deferred(tree)) = table.secondary[I::POSITION].downcast_mut::<Deferred<I::Encoded>>() else {
                    return;
                };
                if built.is_ok() {
                    *built = fill::<I>(tree, &table.rows);
                }
                let place = &mut table.secondary[I::POSITION];
                let filled = std::mem::replace(place, Box::new(())).downcast::<Deferred<I::Encoded>>();
                *place = Box::new(filled.expect("it was looked at just now").0);
            }
        }
        let mut build = Build(self, Ok(()));
        R::each_index(&mut build);
        build.1
    }
}

/// Why a deferred index cannot be built.
pub(crate) enum NotBuilt {
    /// Two rows, in their stored form, have the same key of the index at this position.
    NotUnique(usize, [Vec<u8>; 2]),
    /// The index at this position has no memory for all entries.
    Full(usize),
}

fn fill<I: Index>(tree: &mut BTree<I::Encoded>, rows: &Rows<I::Record>) -> Result<(), NotBuilt> {
    let stored = |row: &I::Record| {
        let mut bytes = vec![0; I::Record::ROW_WIDTH];
        row.store(&mut bytes);
        bytes
    };
    for (id, row) in rows.iter() {
        match tree.insert(I::key(row).encode(), id) {
            Ok(()) => {}
            Err(NotInserted::Taken(other)) => {
                return Err(NotBuilt::NotUnique(I::POSITION, [stored(rows.get(other)), stored(row)]));
            }
            Err(NotInserted::Full) => return Err(NotBuilt::Full(I::POSITION)),
        }
    }
    Ok(())
}

impl<R: Record> Table<R> {
    /// Checks the structures themselves, that every row is found by its keys, and that no index has more entries than
    /// there are rows.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let at = |what: String| format!("table `{}`: {what}", R::TABLE);
        self.rows.check().map_err(at)?;
        self.check_primary().map_err(at)?;
        for (id, row) in self.rows.iter() {
            if self.find(row.key().encode()) != Some(id) {
                return Err(at(format!("{id:?} is not found by its primary key")));
            }
        }
        let mut check = CheckIndexes { table: self, wrong: None };
        R::each_index(&mut check);
        check.wrong.map_or(Ok(()), |wrong| Err(at(wrong)))
    }

    fn check_primary(&self) -> Result<(), String> {
        let key_of = |id: RowId| {
            let live = id.get() < self.rows.slots() && self.rows.is_live(id);
            live.then(|| self.rows.get(id).key().encode::<R::Encoded>())
        };
        if Self::POINT {
            self.dense.check(|id| key_of(id)?.as_u64())?;
            self.hash.check(|id| Some(key_of(id)?.hash64()))?;
        } else {
            check_tree(&self.tree)?;
        }
        let entries = if Self::POINT { self.dense.len() + self.hash.len() } else { self.tree.len() };
        self.same_count("its primary index", entries)
    }

    fn same_count(&self, index: &str, entries: usize) -> Result<(), String> {
        let rows = self.rows.len();
        if entries == rows { Ok(()) } else { Err(format!("{index} has {entries} entries for {rows} rows")) }
    }

    /// A number of all rows together, in whatever places they are.
    pub(crate) fn digest(&self) -> u64 {
        let (table, mut bytes) = (digest(0, R::TABLE.as_bytes()), vec![0; R::ROW_WIDTH]);
        let of_row = |(_, row): (RowId, &R)| {
            row.store(&mut bytes);
            digest(table, &bytes)
        };
        self.rows.iter().map(of_row).fold(0, u64::wrapping_add)
    }

    /// Name and memory of each index: that of the primary key first, named as the table; then the others.
    pub(crate) fn index_usage(&self) -> Vec<(String, u64)> {
        struct Usage<'a, R: Record>(&'a Table<R>, Vec<(String, u64)>);
        impl<R: Record> IndexVisitor<R> for Usage<'_, R> {
            fn visit<I: Index<Record = R>>(&mut self) {
                self.1.push((format!("{}.{}", R::TABLE, I::NAME), self.0.index_tree::<I>().used_bytes() as u64));
            }
        }
        let point = self.dense.used_bytes() + self.hash.used_bytes();
        let primary = if Self::POINT { point } else { self.tree.used_bytes() };
        let mut usage = Usage(self, vec![(R::TABLE.to_owned(), primary as u64)]);
        R::each_index(&mut usage);
        usage.1
    }
}

struct CheckIndexes<'a, R: Record> {
    table: &'a Table<R>,
    wrong: Option<String>,
}

impl<R: Record> CheckIndexes<'_, R> {
    fn check<I: Index<Record = R>>(&self) -> Result<(), String> {
        let tree = self.table.index_tree::<I>();
        check_tree(tree)?;
        self.table.same_count("it", tree.len())?;
        match self.table.rows.iter().find(|(id, row)| tree.get(&I::key(row).encode()) != Some(*id)) {
            Some((id, _)) => Err(format!("{id:?} is not found")),
            None => Ok(()),
        }
    }
}

impl<R: Record> IndexVisitor<R> for CheckIndexes<'_, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        if self.wrong.is_none() {
            self.wrong = self.check::<I>().err().map(|wrong| format!("index `{}`: {wrong}", I::NAME));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Record;
    use crate::partitioned::storage::indexes::*;

    #[derive(Record, Clone, Copy)]
    #[record(table = "tree", key = id, index(name = by_group, columns = group))]
    struct Tree {
        id: u32,
        group: u8,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "hash", key = id, access = point)]
    struct Hash {
        id: u32,
    }

    fn filled<R: Record>(make: impl Fn(u32) -> R) -> (Table<R>, RowId) {
        let mut table = Table::new(0, 1 << 20, &mut Default::default()).unwrap();
        let ids: Vec<_> = (0..50).map(|number| table.insert(&make(number)).unwrap()).collect();
        table.verify().unwrap();
        (table, ids[7])
    }

    /// The canaries: whatever is changed behind the back of the indexes, or of the other copies, shows.
    #[test]
    fn what_does_not_agree_is_noticed() {
        let (mut table, id) = filled(|id| Tree { id, group: (id % 3) as u8 });
        let digest = table.digest();
        table.rows.get_mut(id).group = 9;
        assert!(table.verify().unwrap_err().contains("index `by_group`") && table.digest() != digest);
        let (mut table, id) = filled(|id| Tree { id, group: 0 });
        table.rows.get_mut(id).id = 99;
        assert!(table.verify().unwrap_err().contains("by its primary key"));
        let (mut table, id) = filled(|id| Tree { id, group: 0 });
        table.rows.remove(id);
        assert!(table.verify().unwrap_err().contains("50 entries for 49 rows"));
        let (mut table, id) = filled(|id| Hash { id });
        table.rows.get_mut(id).id = 99;
        assert!(table.verify().is_err());
        let (mut table, id) = filled(|id| Hash { id });
        let digest = table.digest();
        table.remove(id);
        assert!(table.verify().is_ok() && table.digest() != digest);
        table.insert(&Hash { id: 7 }).unwrap();
        assert_eq!(table.digest(), digest);
    }
}
