//! One table of one partition: rows, primary index, secondary indexes, and the snapshot a checkpoint takes of it.
//!
//! All indexes map encoded keys to the row's place in the arena, which does not move while the row lives; so an update
//! that leaves the indexed columns alone touches the row only. Which primary index a table has is known when the record
//! is compiled, so the choice costs nothing; the other one stays empty. Where keys are looked up whole and fit a word,
//! the dense among them are in the dense index instead of the hash index.
//!
//! The table belongs to the holder of the partition's token and knows nothing of transactions: undo and logging are
//! above.

use std::any::Any;
use std::borrow::Cow;

use crate::partitioned::storage::memory::{
    AddressSpace, BTree, CannotReserve, DenseIndex, Full, HashIndex, NotInserted, RowId, Rows, StagedKeys,
};
use crate::partitioned::storage::snapshot::Snapshot;
use crate::record::{Access, EncodedKey, Index, IndexVisitor, Key, Record, TableSchema};

/// Why a row could not be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The primary key or a unique index has the key already.
    Duplicate,
    /// No memory for another row or index node.
    Full,
}

/// Rows that were added side by side: the first, how many, and why the next one was not, with its key.
pub(crate) type InsertedRun<K> = (RowId, u32, Result<(), (Refused, K)>);

/// A secondary index's tree, its key type known only to the index's own type.
type AnyTree = Box<dyn Any + Send>;

/// In the place of a secondary index that is not built yet: its tree, empty. Looked for where the tree would be, it is
/// found to be of another type; so the path of a transaction does not pay for what is rare.
pub(crate) struct Deferred<K>(pub(crate) BTree<K>);

/// The panic of a procedure that is replayed and reads an index that is not built yet.
#[derive(Debug)]
pub(crate) struct ReadOfNewIndex {
    pub(crate) table: &'static str,
    pub(crate) index: &'static str,
}

#[cold]
#[inline(never)]
fn not_built<I: Index>() -> ! {
    // Without the hook: it is no mistake of the code that is running.
    std::panic::resume_unwind(Box::new(ReadOfNewIndex { table: I::Record::TABLE, index: I::NAME }))
}

pub(crate) struct Table<R: Record> {
    /// The table's number in the database's files.
    pub(crate) number: u16,
    pub(crate) rows: Rows<R>,
    pub(crate) dense: DenseIndex,
    pub(crate) hash: HashIndex,
    pub(crate) tree: BTree<R::Encoded>,
    pub(crate) secondary: Vec<AnyTree>,
    pub(crate) snapshot: Snapshot,
}

/// Whether a secondary index is unique.
const fn has_unique(schema: &TableSchema) -> bool {
    let Cow::Borrowed(indexes) = schema.indexes else { return true };
    let mut at = 0;
    while at < indexes.len() {
        if indexes[at].unique {
            return true;
        }
        at += 1;
    }
    false
}

/// Hash of an encoded key, as the primary hash index wants it.
#[inline(always)]
fn hash_of_row<R: Record>(rows: &Rows<R>, id: RowId) -> u64 {
    rows.get(id).key().encode::<R::Encoded>().hash64()
}

#[inline(always)]
pub(crate) fn insert_into<K: EncodedKey>(tree: &mut BTree<K>, key: K, id: RowId) -> Result<(), Refused> {
    tree.insert(key, id).map_err(Refused::from)
}

impl From<NotInserted> for Refused {
    fn from(reason: NotInserted) -> Self {
        match reason {
            NotInserted::Taken(_) => Self::Duplicate,
            NotInserted::Full => Self::Full,
        }
    }
}

impl<R: Record> Table<R> {
    pub(crate) const POINT: bool = matches!(R::ACCESS, Access::Point);
    /// Whether a change may be refused because an index has the key that it would make.
    pub(crate) const UNIQUE: bool = has_unique(Self::SCHEMA);

    /// An empty table whose rows and indexes may take `bytes` each.
    pub(crate) fn new(number: u16, bytes: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        struct NewTrees<'a>(usize, &'a mut AddressSpace, Result<Vec<AnyTree>, CannotReserve>);
        impl<R: Record> IndexVisitor<R> for NewTrees<'_> {
            fn visit<I: Index<Record = R>>(&mut self) {
                if let Ok(trees) = &mut self.2 {
                    match BTree::<I::Encoded>::new(self.0, self.1) {
                        Ok(tree) => trees.push(Box::new(tree)),
                        Err(error) => self.2 = Err(error),
                    }
                }
            }
        }
        let mut secondary = NewTrees(bytes, space, Ok(Vec::new()));
        R::each_index(&mut secondary);
        let secondary = secondary.2?;
        Ok(Self {
            number,
            rows: Rows::new(bytes, space)?,
            dense: DenseIndex::new(),
            hash: HashIndex::new(if Self::POINT { bytes } else { 0 }, space)?,
            tree: BTree::new(if Self::POINT { 0 } else { bytes }, space)?,
            secondary,
            snapshot: Snapshot::none(),
        })
    }

    /// Where the row with this key is.
    #[inline(always)]
    pub(crate) fn find(&self, key: R::Encoded) -> Option<RowId> {
        if !Self::POINT {
            return self.tree.get(&key);
        }
        let dense = key.as_u64().and_then(|key| self.dense.find(key));
        dense.or_else(|| self.hash.find(key.hash64(), |id| self.rows.get(id).key().encode::<R::Encoded>() == key))
    }

    /// Puts a row where it is to stay: in the place of its key, if that is dense.
    #[inline(always)]
    fn place(&mut self, key: R::Encoded, row: &R) -> Result<RowId, Full> {
        if Self::POINT
            && let Some(key) = key.as_u64()
            && let Some(id) = self.dense.place_or_begin(key, || self.rows.reserve())
            && self.rows.insert_at(id, row)
        {
            return Ok(id);
        }
        match self.rows.insert(row) {
            Err(_) if Self::POINT => self.insert_into_given_up(row),
            inserted => inserted,
        }
    }

    /// Inserts a row where there is no place but those of dense keys that are not there: the block of some is given up.
    #[cold]
    #[inline(never)]
    fn insert_into_given_up(&mut self, row: &R) -> Result<RowId, Full> {
        while self.give_up_block(DenseIndex::BLOCK / 2) || self.give_up_block(1) {
            if let Ok(id) = self.rows.insert(row) {
                return Ok(id);
            }
        }
        Err(Full { rows: self.rows.len() })
    }

    /// Moves the keys of a block with so many vacant places to the hash index, and lets any row have those.
    fn give_up_block(&mut self, vacant: usize) -> bool {
        if !self.hash.has_room(DenseIndex::BLOCK) {
            return false;
        }
        let rows = &self.rows;
        let Some(block) = self.dense.next_block(|first| rows.vacant(first) >= vacant) else { return false };
        for key in DenseIndex::keys_of(block) {
            if let Some(id) = self.dense.find(key) {
                let inserted = self.hash.insert(hash_of_row(rows, id), id, |id| hash_of_row(rows, id));
                assert!(inserted && self.dense.unlink(key, id), "the hash index had room for a block");
            }
        }
        let first = self.dense.remove_block(block);
        self.rows.release(first);
        true
    }

    /// The primary tree of a table of ordered access.
    #[inline(always)]
    pub(crate) fn primary_tree(&self) -> &BTree<R::Encoded> {
        const { assert!(!Self::POINT, "a table with `access = point` cannot be scanned; use `access = ordered`") };
        &self.tree
    }

    /// The tree of a secondary index.
    #[inline(always)]
    pub(crate) fn index_tree<I: Index<Record = R>>(&self) -> &BTree<I::Encoded> {
        match self.built_tree::<I>() {
            Some(tree) => tree,
            None => not_built::<I>(),
        }
    }

    /// The same; `None`: it is [not built yet](Deferred).
    #[inline(always)]
    pub(crate) fn built_tree<I: Index<Record = R>>(&self) -> Option<&BTree<I::Encoded>> {
        self.secondary[I::POSITION].downcast_ref()
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(crate) fn built_tree_mut<I: Index<Record = R>>(&mut self) -> Option<&mut BTree<I::Encoded>> {
        self.secondary[I::POSITION].downcast_mut()
    }

    /// Adds a row to the arena and every index, or changes nothing.
    #[inline]
    pub(crate) fn insert(&mut self, row: &R) -> Result<RowId, Refused> {
        let id = self.place(row.key().encode(), row).map_err(|_| Refused::Full)?;
        if let Err(refused) = self.insert_primary(row.key().encode(), id) {
            self.rows.remove(id);
            return Err(refused);
        }
        if R::INDEXES > 0
            && let Err(refused) = self.insert_secondary(row, id)
        {
            self.remove_primary(row.key().encode(), id);
            self.rows.remove(id);
            return Err(refused);
        }
        self.snapshot.inserted(id);
        Ok(id)
    }

    /// Adds a row of a table without secondary indexes, and those that `next` gives after it, as long as they fit
    /// behind each other: the number of the first, how many were added, and why one was not, with its key.
    #[inline(always)]
    pub(crate) fn insert_run(&mut self, first: &R, next: impl FnMut() -> Option<R>) -> InsertedRun<R::Encoded> {
        debug_assert!(R::INDEXES == 0);
        let mut keys = StagedKeys::new();
        let count = self.rows.stage(first, next, |row| row.key().encode::<R::Encoded>(), &mut keys);
        if count == 0 {
            return match self.insert(first) {
                Ok(id) => (id, 1, Ok(())),
                Err(refused) => (RowId::NONE, 0, Err((refused, first.key().encode()))),
            };
        }
        let id = self.rows.admit(count);
        let (added, result) = self.index_run(id, count, &keys);
        // Last in, first out: what is not added leaves no trace but its places.
        (added..count).rev().for_each(|at| self.rows.remove(RowId::new(id.get() + at)));
        if self.snapshot.is_under_way() {
            (0..added).for_each(|at| self.snapshot.inserted(RowId::new(id.get() + at)));
        }
        (id, added, result.map_err(|refused| (refused, keys.get(added))))
    }

    /// Adds rows that follow each other to the primary index, up to the first that it refuses.
    #[inline(always)]
    fn index_run(&mut self, first: RowId, count: u32, keys: &StagedKeys<R::Encoded>) -> (u32, Result<(), Refused>) {
        if !Self::POINT {
            return match self.tree.insert_run(first, count, |at| keys.get(at)) {
                Ok(()) => (count, Ok(())),
                Err((added, reason)) => (added, Err(reason.into())),
            };
        }
        for added in 0..count {
            let id = RowId::new(first.get() + added);
            if let Err(refused) = self.insert_primary(keys.get(added), id) {
                return (added, Err(refused));
            }
        }
        (count, Ok(()))
    }

    /// Removes a row from the arena and every index.
    #[inline]
    pub(crate) fn remove(&mut self, id: RowId) {
        self.preserve(id);
        let row = *self.rows.get(id);
        self.remove_primary(row.key().encode(), id);
        if R::INDEXES > 0 {
            self.remove_secondary(&row, R::INDEXES);
        }
        self.rows.remove(id);
    }

    /// To be called before a row is changed: a checkpoint under way may still need it as it is.
    #[inline(always)]
    pub(crate) fn preserve(&mut self, id: RowId) {
        if self.snapshot.needs(id) {
            self.snapshot.preserve(id, self.rows.get(id));
        }
    }

    #[inline(always)]
    pub(crate) fn insert_primary(&mut self, key: R::Encoded, id: RowId) -> Result<(), Refused> {
        if Self::POINT {
            if self.find(key).is_some() {
                return Err(Refused::Duplicate);
            }
            if key.as_u64().is_some_and(|key| self.dense.link(key, id)) {
                return Ok(());
            }
            let rows = &self.rows;
            let inserted = self.hash.insert(key.hash64(), id, |id| hash_of_row(rows, id));
            if inserted { Ok(()) } else { Err(Refused::Full) }
        } else {
            insert_into(&mut self.tree, key, id)
        }
    }

    /// As [`Table::insert_primary`] of a key that was there before what is undone.
    pub(crate) fn restore_primary(&mut self, key: R::Encoded, id: RowId) {
        let restored = if Self::POINT {
            let rows = &self.rows;
            key.as_u64().is_some_and(|key| self.dense.link(key, id))
                || self.hash.with_spare(|hash| hash.insert(key.hash64(), id, |id| hash_of_row(rows, id)))
        } else {
            self.tree.with_spare(|tree| tree.insert(key, id)).is_ok()
        };
        assert!(restored, "a key of table {} cannot be restored, though changes are undone in reverse", R::TABLE);
    }

    #[inline(always)]
    pub(crate) fn remove_primary(&mut self, key: R::Encoded, id: RowId) {
        let removed = if Self::POINT {
            key.as_u64().is_some_and(|key| self.dense.unlink(key, id)) || self.hash.remove(key.hash64(), id)
        } else {
            self.tree.remove(&key).is_some()
        };
        assert!(removed, "a row of table {} is missing from its primary index", R::TABLE);
    }

    /// Takes a row out of every index, and leaves it where it is.
    pub(crate) fn unlink(&mut self, id: RowId) {
        self.preserve(id);
        let row = *self.rows.get(id);
        self.remove_primary(row.key().encode(), id);
        self.remove_secondary(&row, R::INDEXES);
    }

    /// Puts a removed row back where it was, and into every index.
    pub(crate) fn put_back(&mut self, row: &R, id: RowId) {
        self.rows.put_back(id, row);
        self.relink(id);
        self.snapshot.inserted(id);
    }

    /// Puts a row back into every index.
    pub(crate) fn relink(&mut self, id: RowId) {
        let row = *self.rows.get(id);
        self.restore_primary(row.key().encode(), id);
        self.restore_secondary(&row, id);
    }
}
