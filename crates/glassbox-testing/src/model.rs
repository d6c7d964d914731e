//! A database so simple that it is obviously right: what engines are compared with.
//!
//! Every table is a sorted map from the bytes of its encoded key to a row; every secondary index one from its key to
//! the primary key. Transactions run one after another. An abort puts back what was overwritten, latest first.
//!
//! It is stricter than an engine needs to be: a table of point access cannot be scanned, a procedure that breaks its
//! promise on aborts panics, and rows are kept in their stored form beside the value, so that storing and loading is
//! part of every history.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use glassbox::procedure::{AbortReason, Aborts, Procedure, Stop, Transaction};
use glassbox::record::{Bounds, Direction, EncodedKey, Index, IndexVisitor, Key, OrderedRecord, Record, Timestamp};

/// The bytes of an encoded key; they order as keys do.
type KeyBytes = Vec<u8>;

/// The reference model.
#[derive(Debug, Default)]
pub struct ModelDatabase {
    tables: BTreeMap<&'static str, Table>,
}

#[derive(Debug, Default)]
struct Table {
    rows: BTreeMap<KeyBytes, Row>,
    /// By [`Index::POSITION`].
    indexes: Vec<BTreeMap<KeyBytes, KeyBytes>>,
}

#[derive(Debug)]
struct Row {
    value: Box<dyn Any + Send>,
    stored: Vec<u8>,
}

impl ModelDatabase {
    /// An empty database. Tables come into being when they are first named.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a procedure to its end. `seed` decides its random numbers.
    ///
    /// # Errors
    /// When the procedure aborted; nothing is changed then.
    ///
    /// # Panics
    /// When the procedure aborts although it promised not to, or after a write although it promised to do so before.
    pub fn run<P: Procedure>(&mut self, procedure: &P, now: Timestamp, seed: u64) -> Result<P::Output, AbortReason> {
        let mut transaction = ModelTransaction { database: self, undo: Vec::new(), now, seed };
        let result = procedure.run(&mut transaction);
        if result.is_err() {
            let wrote = !transaction.undo.is_empty();
            match P::ABORTS {
                Aborts::Never => panic!("{} stopped although it promised not to", P::NAME),
                Aborts::BeforeFirstWrite => assert!(!wrote, "{} stopped after a write", P::NAME),
                Aborts::Anytime => {}
            }
        }
        transaction.end(result)
    }

    /// Runs code as one transaction, at time zero.
    ///
    /// # Errors
    /// When it aborted; nothing is changed then.
    pub fn transaction<O>(
        &mut self,
        body: impl FnOnce(&mut ModelTransaction<'_>) -> Result<O, Stop>,
    ) -> Result<O, AbortReason> {
        let mut transaction =
            ModelTransaction { database: self, undo: Vec::new(), now: Timestamp::from_micros(0), seed: 0 };
        let result = body(&mut transaction);
        transaction.end(result)
    }

    /// The bytes of all rows with those of their keys, by table and key: equal for databases that hold the same.
    pub fn contents(&self) -> impl Iterator<Item = (&'static str, &[u8], &[u8])> {
        self.tables
            .iter()
            .flat_map(|(&name, table)| table.rows.iter().map(move |(key, row)| (name, &key[..], &row.stored[..])))
    }

    /// Copies of all rows of a table, in the order of their keys.
    pub fn rows<R: Record>(&self) -> Vec<R> {
        self.tables.get(R::TABLE).into_iter().flat_map(|table| table.rows.values()).map(|row| *row.get::<R>()).collect()
    }

    fn table<R: Record>(&mut self) -> &mut Table {
        let table = self.tables.entry(R::TABLE).or_default();
        table.indexes.resize_with(R::INDEXES, BTreeMap::new);
        table
    }

    /// Puts `row` in the place of whatever has its key, or removes that; gives what was there. The caller has seen to
    /// it that unique keys stay unique.
    fn replace<R: Record>(&mut self, key: &KeyBytes, row: Option<&R>) -> Option<R> {
        let table = self.table::<R>();
        let before = table.rows.remove(key).map(|row| *row.get::<R>());
        if let Some(before) = &before {
            each_index(before, |position, index_key, _| {
                table.indexes[position].remove(&index_key);
            });
        }
        if let Some(row) = row {
            each_index(row, |position, index_key, _| {
                table.indexes[position].insert(index_key, key.clone());
            });
            table.rows.insert(key.clone(), Row::new(row));
        }
        before
    }
}

impl Row {
    fn new<R: Record>(row: &R) -> Self {
        let mut stored = vec![0; R::ROW_WIDTH];
        row.store(&mut stored);
        let value = R::load(&stored).expect("what a row stored, it can load");
        Self { value: Box::new(value), stored }
    }

    fn get<R: Record>(&self) -> &R {
        self.value.downcast_ref().expect("two records share the name of a table")
    }
}

/// A running transaction of the model.
pub struct ModelTransaction<'a> {
    database: &'a mut ModelDatabase,
    undo: Vec<Undo>,
    now: Timestamp,
    seed: u64,
}

/// Puts one row back.
type Undo = Box<dyn FnOnce(&mut ModelDatabase)>;

impl ModelTransaction<'_> {
    fn end<O>(self, result: Result<O, Stop>) -> Result<O, AbortReason> {
        result.map_err(|stop| {
            self.undo.into_iter().rev().for_each(|undo| undo(self.database));
            let retry = |retry| panic!("the model asks for no retry, yet there is one: {retry:?}");
            AbortReason::of(stop).unwrap_or_else(retry)
        })
    }

    fn write<R: Record>(&mut self, key: KeyBytes, row: Option<&R>) {
        let before = self.database.replace(&key, row);
        self.undo.push(Box::new(move |database| {
            database.replace(&key, before.as_ref());
        }));
    }

    /// Refuses a row whose unique keys another row has.
    fn check_unique<R: Record>(&mut self, key: &KeyBytes, row: &R) -> Result<(), Stop> {
        let table = self.database.table::<R>();
        let mut taken = None;
        each_index(row, |position, index_key, unique| {
            let is_taken = unique && table.indexes[position].get(&index_key).is_some_and(|other| other != key);
            taken = taken.or(is_taken.then_some(position));
        });
        if taken.is_some() { Err(Stop::duplicate_key(row, taken)) } else { Ok(()) }
    }
}

impl Transaction for ModelTransaction<'_> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        Ok(self.database.table::<R>().rows.get(&primary::<R>(key)).map(Row::get))
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        let Some(mut row) = self.get::<R>(key)?.copied() else { return Ok(None) };
        let output = change(&mut row);
        assert!(row.key().is_key(key), "an update of `{}` changed the primary key", R::TABLE);
        let key = primary::<R>(key);
        self.check_unique(&key, &row)?;
        self.write(key, Some(&row));
        Ok(Some(output))
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let key = primary::<R>(&row.key());
        if self.database.table::<R>().rows.contains_key(&key) {
            return Err(Stop::duplicate_key(row, None));
        }
        self.check_unique(&key, row)?;
        self.write(key, Some(row));
        Ok(())
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        let key = primary::<R>(key);
        let exists = self.database.table::<R>().rows.contains_key(&key);
        if exists {
            self.write::<R>(key, None);
        }
        Ok(exists)
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if let Some(range) = range::<R::Key, R::Encoded>(&bounds) {
            in_direction(self.database.table::<R>().rows.range(range).map(|(_, row)| row.get()), direction, visit);
        }
        Ok(())
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if let Some(range) = range::<I::Key, I::Encoded>(&bounds) {
            let table = self.database.table::<I::Record>();
            let keys = table.indexes[I::POSITION].range(range);
            in_direction(keys.map(|(_, key)| table.rows[key].get()), direction, visit);
        }
        Ok(())
    }

    fn now(&mut self) -> Timestamp {
        self.now
    }

    fn random(&mut self) -> u64 {
        // SplitMix64.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.seed;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

fn encoded<K: Key, E: EncodedKey>(key: E) -> KeyBytes {
    key.for_bytes(K::WIDTH, <[u8]>::to_vec)
}

fn primary<R: Record>(key: &R::Key) -> KeyBytes {
    encoded::<R::Key, R::Encoded>(key.encode())
}

fn range<K: Key, E: EncodedKey>(bounds: &impl Bounds<K>) -> Option<std::ops::RangeInclusive<KeyBytes>> {
    let bounds = bounds.encode::<E>()?;
    Some(encoded::<K, E>(bounds.low)..=encoded::<K, E>(bounds.high))
}

fn in_direction<'a, R: 'a>(
    rows: impl DoubleEndedIterator<Item = &'a R>,
    direction: Direction,
    mut visit: impl FnMut(&R) -> ControlFlow<()>,
) {
    // Whether the visitor broke does not matter: there is nothing to do after either.
    let _ = match direction {
        Direction::Forward => rows.into_iter().try_for_each(&mut visit),
        Direction::Backward => rows.rev().try_for_each(&mut visit),
    };
}

/// Calls `use_key` with position, key and uniqueness of each index.
fn each_index<R: Record>(row: &R, use_key: impl FnMut(usize, KeyBytes, bool)) {
    struct Visitor<'a, R, F>(&'a R, F);
    impl<R: Record, F: FnMut(usize, KeyBytes, bool)> IndexVisitor<R> for Visitor<'_, R, F> {
        fn visit<I: Index<Record = R>>(&mut self) {
            let key = encoded::<I::Key, I::Encoded>(I::key(self.0).encode());
            (self.1)(I::POSITION, key, I::UNIQUE);
        }
    }
    R::each_index(&mut Visitor(row, use_key));
}
