//! A unique index that a later program adds: the rows of before need have kept its promise only at the end, and a
//! database whose rows do not keep it is refused unchanged, by both engines.

use glassbox::config::ClassicConfig;
use glassbox::io::{Files, MemoryFiles};
use glassbox::{
    Architecture, Catalog, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction,
};
use serde::{Deserialize, Serialize};

use super::small;

mod former {
    use glassbox::Record;

    #[derive(Record, Clone, Copy)]
    #[record(table = "rep", key = id, replicated)]
    pub struct Rep {
        pub id: u64,
        pub v: u32,
    }
}

mod later {
    use glassbox::Record;

    #[derive(Record, Clone, Copy)]
    #[record(table = "rep", key = id, replicated, index(name = by_v, columns = v, unique))]
    pub struct Rep {
        pub id: u64,
        pub v: u32,
    }
}

/// Inserts a row, sets its `v`, or deletes it.
#[derive(Serialize, Deserialize)]
enum Change {
    Insert(u64, u32),
    Set(u64, u32),
    Delete(u64),
}

trait Rep: Record<Key = u64> {
    fn of(id: u64, v: u32) -> Self;
    fn v(&mut self) -> &mut u32;
}

macro_rules! procedure {
    ($module:ident, $name:ident) => {
        impl Rep for $module::Rep {
            fn of(id: u64, v: u32) -> Self {
                Self { id, v }
            }

            fn v(&mut self) -> &mut u32 {
                &mut self.v
            }
        }

        #[derive(Serialize, Deserialize)]
        struct $name(Change);

        impl Procedure for $name {
            const NAME: &'static str = "change";
            type Output = ();

            fn declare(&self, set: &mut impl KeySet) -> Declared {
                let (Change::Insert(id, _) | Change::Set(id, _) | Change::Delete(id)) = &self.0;
                set.write::<$module::Rep>(id);
                Declared::Complete
            }

            fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
                match self.0 {
                    Change::Insert(id, v) => tx.insert(&$module::Rep::of(id, v))?,
                    Change::Set(id, v) => drop(tx.update::<$module::Rep, _>(&id, |row| *row.v() = v)?),
                    Change::Delete(id) => drop(tx.delete::<$module::Rep>(&id)?),
                }
                Ok(())
            }
        }
    };
}

procedure!(former, Former);
procedure!(later, Later);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    architecture: Architecture,
    log: LogKind,
    partitions: usize,
    /// Whether a checkpoint is made before the index is added.
    checkpoint: bool,
}

fn cases() -> impl Iterator<Item = Case> {
    let partitioned = [LogKind::Values, LogKind::Commands].into_iter().flat_map(|log| {
        [(1, false), (1, true), (2, false)].map(|(partitions, checkpoint)| Case {
            architecture: Architecture::Partitioned,
            log,
            partitions,
            checkpoint,
        })
    });
    let classic = [false, true].map(|checkpoint| Case {
        architecture: Architecture::Classic,
        log: LogKind::Values,
        partitions: 1,
        checkpoint,
    });
    partitioned.chain(classic)
}

fn open(files: &MemoryFiles, case: Case, catalog: Catalog) -> Result<Database, Error> {
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 18).with_sessions(2);
    let config = small(case.architecture, case.partitions, case.log).with_classic(classic);
    super::open(files, config, catalog)
}

fn former() -> Catalog {
    Catalog::new().table::<former::Rep>().procedure::<Former>()
}

fn later() -> Catalog {
    Catalog::new().table::<later::Rep>().procedure::<Later>()
}

/// A database of the former program to which these changes were made.
fn changed(case: Case, changes: Vec<Change>) -> MemoryFiles {
    let files = MemoryFiles::default();
    let db = open(&files, case, former()).unwrap();
    for change in changes {
        db.call(&Former(change)).unwrap();
    }
    if case.checkpoint {
        db.checkpoint().unwrap();
    }
    db.close().unwrap();
    files
}

fn twice_one() -> Vec<Change> {
    vec![Change::Insert(1, 1), Change::Insert(2, 2), Change::Insert(3, 1)]
}

/// All files with their contents, but the lock.
fn contents(files: &MemoryFiles) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for directory in ["", "log", "checkpoint"] {
        for name in files.list(directory).unwrap() {
            let Ok(file) = files.open(&name) else { continue };
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            all.push((name, bytes));
        }
    }
    all
}

#[test]
fn rows_that_share_a_key_of_a_new_unique_index_are_named_and_nothing_is_changed() {
    for case in cases() {
        let files = changed(case, twice_one());
        let before = contents(&files);
        let error = open(&files, case, later()).expect_err("it is refused");
        let expected = "index rep.by_v cannot be unique: rows id = 1 and id = 3 both have v = 1";
        assert_eq!(error.to_string(), expected, "{case:?}");
        assert!(matches!(error, Error::NotUnique { .. }), "{error:?}");
        if case.architecture == Architecture::Partitioned {
            assert!(contents(&files) == before, "{case:?} changed a file");
        }
        let db = open(&files, case, former()).unwrap();
        db.call(&Former(Change::Delete(3))).unwrap();
        db.close().unwrap();
        open(&files, case, later()).unwrap_or_else(|error| panic!("{case:?}: {error}"));
    }
}

#[test]
fn rows_that_shared_a_key_only_before_an_index_was_added_are_accepted() {
    for case in cases() {
        for last in [Change::Delete(3), Change::Set(1, 7), Change::Set(3, 7)] {
            let files = changed(case, twice_one().into_iter().chain([last]).collect());
            // Opened repeatedly: the history with two equal keys must not come up later.
            for opened in 0..3 {
                let db = open(&files, case, later()).unwrap_or_else(|error| panic!("{case:?}, {opened}: {error}"));
                assert_eq!(db.verify(), [""; 0]);
                let refused = db.call(&Later(Change::Insert(10 + opened, 2)));
                assert!(refused.is_err(), "{case:?}: a second row has v = 2");
                db.call(&Later(Change::Insert(20 + opened, 100 + opened as u32))).unwrap();
            }
        }
    }
}
