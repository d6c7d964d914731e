//! Each type of columns, in primary keys, in indexes, unique and not, and missing: on both engines, with both logs,
//! after a crash, a checkpoint and a clean close.

use std::fmt::Debug;
use std::ops::ControlFlow;

use glassbox::io::{Crash, Files, MemoryFiles};
use glassbox::record::{Bytes, Column, Date, Decimal, Direction, KeyColumn, Text, TimeOfDay, Timestamp, Uuid};
use glassbox::{
    Architecture, Catalog, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::small;

#[derive(Column, Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Standing {
    Paid = 2,
    Open = 1,
    Cancelled = 7,
}

#[derive(Column, Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[repr(u16)]
pub enum Wide {
    Low = 255,
    High = 256,
    Highest = 65_535,
}

/// A type, and some of its values in ascending order.
trait Kind: KeyColumn + Serialize + DeserializeOwned {
    fn ascending() -> Vec<Self>;
}

macro_rules! kinds {
    ($($module:ident: $type:ty = $values:expr;)*) => {
        $(impl Kind for $type {
            fn ascending() -> Vec<Self> {
                Vec::from($values)
            }
        }

        mod $module {
            use super::*;

            #[derive(Record, Clone, Copy)]
            #[record(table = "by_key", key = value, index(name = by_maybe, columns = maybe))]
            pub struct ByKey {
                pub value: $type,
                pub maybe: Option<$type>,
                pub count: u32,
            }

            #[derive(Record, Clone, Copy)]
            #[record(table = "unique", key = id, replicated, index(name = by_value, columns = value, unique))]
            pub struct Unique {
                pub id: u32,
                pub value: $type,
            }

            /// Inserts a row of each table; `maybe` is the value, or missing.
            #[derive(Serialize, Deserialize)]
            pub struct Insert {
                pub id: u32,
                pub value: $type,
                pub maybe: Option<$type>,
            }

            impl Procedure for Insert {
                const NAME: &'static str = "insert";
                type Output = ();

                fn declare(&self, set: &mut impl KeySet) -> Declared {
                    set.write::<ByKey>(&self.value);
                    set.write::<Unique>(&self.id);
                    Declared::Complete
                }

                fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
                    let &Self { id, value, maybe } = self;
                    tx.insert(&ByKey { value, maybe, count: 0 })?;
                    tx.insert(&Unique { id, value })
                }
            }

            /// Counts, and puts the value into `maybe`.
            #[derive(Serialize, Deserialize)]
            pub struct Change(pub $type);

            impl Procedure for Change {
                const NAME: &'static str = "change";
                type Output = u32;

                fn declare(&self, set: &mut impl KeySet) -> Declared {
                    set.write::<ByKey>(&self.0);
                    Declared::Complete
                }

                fn run<T: Transaction>(&self, tx: &mut T) -> Result<u32, Stop> {
                    let changed = tx.update::<ByKey, _>(&self.0, |row| {
                        row.maybe = Some(row.value);
                        row.count += 1;
                        row.count
                    })?;
                    changed.ok_or_else(|| Stop::abort(1, "no such row"))
                }
            }

            #[test]
            fn in_keys_and_indexes() {
                cases().for_each(run);
            }

            fn open(files: &MemoryFiles, case: Case) -> Database {
                let catalog = Catalog::new().table::<ByKey>().table::<Unique>();
                super::open(files, case, catalog.procedure::<Insert>().procedure::<Change>()).unwrap()
            }

            fn run(case: Case) {
                let files = MemoryFiles::default();
                let db = open(&files, case);
                let all = <$type as Kind>::ascending();
                // From both ends, so that none of the orders is that of the insertions.
                let mut order: Vec<usize> = (0..all.len()).collect();
                order.sort_by_key(|at| (at % 2, if at % 2 == 0 { *at } else { all.len() - at }));
                for &at in &order {
                    let maybe = (at % 3 != 0).then(|| all[all.len() - 1 - at]);
                    db.call(&Insert { id: at as u32, value: all[at], maybe }).unwrap();
                }
                let twice = Insert { id: 1_000, value: all[0], maybe: None };
                assert!(db.call(&twice).is_err(), "{case:?}: {:?} is there twice", all[0]);
                let twice = db.transaction(|tx| tx.insert(&Unique { id: 1_001, value: all[1] }));
                assert!(twice.is_err(), "{case:?}: {:?} is unique", all[1]);
                are_right(&db, 0);
                assert_eq!(db.call(&Change(all[0])).unwrap(), 1, "{case:?}");
                drop(db);
                let killed = files.after_crash(Crash::Lost, 1);
                let db = open(&killed, case);
                are_right(&db, 1);
                db.checkpoint().unwrap();
                assert_eq!(db.call(&Change(all[0])).unwrap(), 2, "{case:?}");
                db.close().unwrap();
                let db = open(&killed, case);
                assert_eq!(db.call(&Change(all[0])).unwrap(), 3, "{case:?}");
                are_right(&db, 3);
                let deleted = db.transaction(|tx| tx.delete::<ByKey>(&all[1]));
                assert!(deleted.unwrap(), "{case:?}");
                assert_eq!(db.verify(), [""; 0], "{case:?}");
                db.close().unwrap();
            }

            /// `changes`: of the first value.
            fn are_right(db: &Database, changes: u32) {
                let all = <$type as Kind>::ascending();
                assert_eq!(db.verify(), [""; 0]);
                let found = db.transaction(|tx| {
                    let mut values = Vec::new();
                    tx.scan::<ByKey>(.., Direction::Forward, |row| {
                        values.push((row.value, row.maybe, row.count));
                        ControlFlow::Continue(())
                    })?;
                    let mut by_maybe = Vec::new();
                    tx.scan_index::<ByKeyByMaybe>(.., Direction::Forward, |row| {
                        by_maybe.push(row.maybe);
                        ControlFlow::Continue(())
                    })?;
                    let mut unique = Vec::new();
                    tx.scan_index::<UniqueByValue>(.., Direction::Backward, |row| {
                        unique.push((row.id, row.value));
                        ControlFlow::Continue(())
                    })?;
                    let mut counts = Vec::new();
                    for value in &all {
                        counts.push(tx.get::<ByKey>(value)?.map(|row| row.count));
                    }
                    Ok((values, by_maybe, unique, counts))
                });
                let (values, by_maybe, unique, counts) = found.unwrap();
                let maybe = |at: usize| match at {
                    0 if changes > 0 => Some(all[0]),
                    at => (at % 3 != 0).then(|| all[all.len() - 1 - at]),
                };
                let count = |at: usize| if at == 0 { changes } else { 0 };
                let wanted = (0..all.len()).map(|at| (all[at], maybe(at), count(at)));
                assert_eq!(in_words(values), in_words(wanted));
                let mut wanted: Vec<_> = (0..all.len()).map(maybe).collect();
                let place = |value: &Option<$type>| value.map(|it| all.iter().position(|other| it.is_key(other)));
                wanted.sort_by_key(place);
                assert_eq!(in_words(by_maybe), in_words(wanted));
                let wanted = (0..all.len()).rev().map(|at| (at as u32, all[at]));
                assert_eq!(in_words(unique), in_words(wanted));
                assert_eq!(counts, (0..all.len()).map(|at| Some(count(at))).collect::<Vec<_>>());
            }
        })*
    };
}

kinds! {
    of_u8: u8 = [0, 1, 127, 128, 255];
    of_u16: u16 = [0, 255, 256, u16::MAX];
    of_u32: u32 = [0, 1 << 16, u32::MAX];
    of_u64: u64 = [0, 1 << 32, u64::MAX];
    of_u128: u128 = [0, 1, u64::MAX.into(), 1 << 64, u128::MAX];
    of_i8: i8 = [i8::MIN, -1, 0, i8::MAX];
    of_i16: i16 = [i16::MIN, -1, 0, i16::MAX];
    of_i32: i32 = [i32::MIN, -1, 0, i32::MAX];
    of_i64: i64 = [i64::MIN, -1, 0, i64::MAX];
    of_i128: i128 = [i128::MIN, i64::MIN.into(), -1, 0, 1 << 64, i128::MAX];
    of_f32: f32 = [f32::NEG_INFINITY, -1.5, -1e-40, 0.0, 1e-40, 1.5, f32::INFINITY, f32::NAN];
    of_f64: f64 = [f64::NEG_INFINITY, f64::MIN, -0.5, 0.0, 5e-324, 0.1, f64::INFINITY, f64::NAN];
    of_bool: bool = [false, true];
    of_decimal: Decimal<4> = [Decimal::MIN, Decimal::ZERO, Decimal::ONE, Decimal::MAX];
    of_text: Text<20> = ["", "a", "ab", "b", "é"].map(|text| Text::new(text).unwrap());
    of_address: Text<254> = (0..60).map(|at| Text::new(&format!("{at:03}@example.org")).unwrap()).collect::<Vec<_>>();
    of_bytes: Bytes<20> = [Bytes([0; 20]), Bytes([7; 20]), Bytes([255; 20])];
    of_many_bytes: Bytes<250> = [Bytes([0; 250]), Bytes([7; 250]), Bytes([255; 250])];
    of_timestamp: Timestamp = [i64::MIN, -1, 0, i64::MAX].map(Timestamp::from_micros);
    of_date: Date = [i32::MIN, -1, 0, i32::MAX].map(Date::from_days);
    of_time_of_day: TimeOfDay = [0, 1, 86_399_999_999].map(|micros| TimeOfDay::from_micros(micros).unwrap());
    of_uuid: Uuid = [Uuid::nil(), Uuid::from_u128(1 << 70), Uuid::max()];
    of_enum: Standing = [Standing::Open, Standing::Paid, Standing::Cancelled];
    of_wide_enum: Wide = [Wide::Low, Wide::High, Wide::Highest];
}

/// NaN is not equal to itself, but its text is.
fn in_words<T: Debug>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values.into_iter().map(|value| format!("{value:?}")).collect()
}

#[derive(Clone, Copy, Debug)]
struct Case {
    architecture: Architecture,
    log: LogKind,
    partitions: usize,
}

fn cases() -> impl Iterator<Item = Case> {
    let of = |architecture, log, partitions| Case { architecture, log, partitions };
    [
        of(Architecture::Partitioned, LogKind::Commands, 2),
        of(Architecture::Partitioned, LogKind::Values, 1),
        of(Architecture::Classic, LogKind::Values, 1),
    ]
    .into_iter()
}

fn open(files: &MemoryFiles, case: Case, catalog: Catalog) -> Result<Database, Error> {
    super::open(files, small(case.architecture, case.partitions, case.log), catalog)
}

/// Zero with a sign is another value of a row, and the same key.
#[test]
fn a_sign_of_zero_is_kept_in_rows_and_nothing_to_keys() {
    for case in cases() {
        let catalog = || Catalog::new().table::<of_f64::ByKey>();
        let files = MemoryFiles::default();
        let db = open(&files, case, catalog()).unwrap();
        let insert = |value| db.transaction(|tx| tx.insert(&of_f64::ByKey { value, maybe: Some(0.0), count: 1 }));
        insert(-0.0).unwrap();
        assert!(insert(0.0).is_err(), "{case:?}");
        let changed = db.transaction(|tx| {
            let changed = tx.update::<of_f64::ByKey, _>(&0.0, |row| (row.value, row.maybe) = (0.0, Some(-0.0)))?;
            Ok(changed.is_some())
        });
        assert!(changed.unwrap(), "{case:?}");
        db.close().unwrap();
        let db = open(&files, case, catalog()).unwrap();
        let row = db.transaction(|tx| Ok(tx.get::<of_f64::ByKey>(&0.0)?.copied())).unwrap().unwrap();
        let signs = [row.value, row.maybe.unwrap()].map(f64::is_sign_negative);
        assert_eq!(signs, [false, true], "{case:?}");
        assert_eq!(db.verify(), [""; 0]);
    }
}

mod fewer {
    #[derive(glassbox::record::Column, Debug, Clone, Copy, PartialEq)]
    pub enum Standing {
        Open = 1,
        Paid = 2,
    }

    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "invoice", key = id)]
    pub struct Invoice {
        pub id: u64,
        pub standing: Option<Standing>,
    }
}

mod more {
    #[derive(glassbox::record::Column, Debug, Clone, Copy, PartialEq)]
    pub enum Standing {
        Open = 1,
        Paid = 2,
        Cancelled = 7,
    }

    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "invoice", key = id)]
    pub struct Invoice {
        pub id: u64,
        pub standing: Option<Standing>,
    }
}

#[test]
fn an_enum_gains_values_and_loses_none() {
    for case in cases() {
        let files = MemoryFiles::default();
        let db = open(&files, case, Catalog::new().table::<fewer::Invoice>()).unwrap();
        let paid = fewer::Invoice { id: 1, standing: Some(fewer::Standing::Paid) };
        db.transaction(|tx| tx.insert(&paid)).unwrap();
        db.close().unwrap();
        let db = open(&files, case, Catalog::new().table::<more::Invoice>()).unwrap();
        let standing = db.transaction(|tx| Ok(tx.get::<more::Invoice>(&1)?.and_then(|row| row.standing)));
        assert_eq!(standing.unwrap(), Some(more::Standing::Paid), "{case:?}");
        let cancelled = more::Invoice { id: 2, standing: Some(more::Standing::Cancelled) };
        db.transaction(|tx| tx.insert(&cancelled)).unwrap();
        db.close().unwrap();
        let refused = open(&files, case, Catalog::new().table::<fewer::Invoice>()).unwrap_err().to_string();
        for words in
            ["`standing` enum(Open = 1, Paid = 2, Cancelled = 7)", "now is `standing` enum(Open = 1, Paid = 2)"]
        {
            assert!(refused.contains(words), "{case:?}: {refused}");
        }
    }
}

mod with_index {
    use glassbox::Record;
    use glassbox::record::Text;

    #[derive(Record, Clone, Copy)]
    #[record(table = "note", key = id, index(name = by_text, columns = text))]
    pub struct Note {
        pub id: u32,
        pub text: Text<200>,
    }
}

mod without_index {
    use glassbox::Record;
    use glassbox::record::Text;

    #[derive(Record, Clone, Copy)]
    #[record(table = "note", key = id)]
    pub struct Note {
        pub id: u32,
        pub text: Text<200>,
    }
}

/// Once there may be wide keys in files, they stay.
#[test]
fn the_format_of_the_manifest_tells_older_programs() {
    for case in cases() {
        let opened = |files: &MemoryFiles, catalog: Catalog| {
            open(files, case, catalog).unwrap().close().unwrap();
            let mut format = [0; 4];
            files.open("manifest").unwrap().read_exact_at(&mut format, 8).unwrap();
            u32::from_le_bytes(format)
        };
        let files = MemoryFiles::default();
        assert_eq!(opened(&files, Catalog::new().table::<without_index::Note>()), 1, "{case:?}");
        assert_eq!(opened(&files, Catalog::new().table::<with_index::Note>()), 2, "{case:?}");
        assert_eq!(opened(&files, Catalog::new().table::<without_index::Note>()), 2, "{case:?}");
        assert_eq!(opened(&MemoryFiles::default(), Catalog::new().table::<of_u64::ByKey>()), 1);
        assert_eq!(opened(&MemoryFiles::default(), Catalog::new().table::<of_f64::ByKey>()), 2);
    }
}
