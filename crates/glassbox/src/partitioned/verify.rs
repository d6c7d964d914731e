//! Checks of what should always hold: every index agrees with its table.

use super::memory::RowId;
use super::table::Table;
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record, digest};

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
            self.tree.check()?;
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
        tree.check()?;
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
    use super::*;
    use crate::Record;

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
        let mut table = Table::new(0, 1 << 20).unwrap();
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
