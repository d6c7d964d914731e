//! A catalog as data, so that two programs can compare theirs.

use serde::{Deserialize, Serialize};

use crate::record::{ColumnSchema, DifferenceWords, TableSchema};
use crate::store::ProcedureEntry;

/// Names, columns and versions of a [`Catalog`](crate::Catalog), in its order: calls and rows name tables and
/// procedures by their positions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogSummary {
    /// Tables.
    pub tables: Vec<TableSchema>,
    /// Procedures.
    pub procedures: Vec<ProcedureEntry>,
}

/// Named differences; further ones are counted.
const MAX_NAMED: usize = 4;

impl CatalogSummary {
    /// See [`Catalog::digest`](crate::Catalog::digest).
    pub fn digest(&self) -> u64 {
        let mut text = String::new();
        for table in &self.tables {
            text.push_str(&serde_json::to_string(table).expect("a schema is text and numbers"));
        }
        for procedure in &self.procedures {
            text.push_str(&format!("{} {};", procedure.name, procedure.version));
        }
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| crate::record::mix(hash ^ u64::from(byte)))
    }

    /// How the other side's catalog differs from this side's, in words; `None`: it does not.
    ///
    /// ```
    /// use glassbox::{Catalog, Record};
    ///
    /// #[derive(Record, Clone, Copy)]
    /// #[record(table = "account", key = id)]
    /// struct Account { id: u64, balance: i64 }
    ///
    /// let (mine, theirs) = (Catalog::new().table::<Account>(), Catalog::new());
    /// let difference = mine.summary().difference(&theirs.summary());
    /// assert_eq!(difference.as_deref(), Some("table `account` is here only"));
    /// ```
    pub fn difference(&self, other: &CatalogSummary) -> Option<String> {
        let mut all = self.table_differences(other);
        all.extend(self.procedure_differences(other));
        let more = all.len().saturating_sub(MAX_NAMED);
        all.truncate(MAX_NAMED);
        if more > 0 {
            all.push(format!("{more} more"));
        }
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn table_differences(&self, other: &CatalogSummary) -> Vec<String> {
        let names = |summary: &Self| summary.tables.iter().map(|table| table.name.to_string()).collect::<Vec<_>>();
        let (here, there) = (names(self), names(other));
        let mut all = missing("table", &here, &there);
        for table in &self.tables {
            let theirs = other.tables.iter().find(|theirs| theirs.name == table.name);
            if let Some(difference) = theirs.and_then(|theirs| of_tables(theirs, table)) {
                all.push(format!("table `{}`: {difference}", table.name));
            }
        }
        if all.is_empty() && here != there {
            all.push(format!(
                "tables are declared in another order: {} there, {} here",
                in_order(&there),
                in_order(&here)
            ));
        }
        all
    }

    fn procedure_differences(&self, other: &CatalogSummary) -> Vec<String> {
        let names = |summary: &Self| summary.procedures.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        let (here, there) = (names(self), names(other));
        let mut all = missing("procedure", &here, &there);
        for ProcedureEntry { name, version } in &self.procedures {
            let theirs = other.procedures.iter().find(|theirs| theirs.name == *name);
            if let Some(theirs) = theirs.filter(|theirs| theirs.version != *version) {
                all.push(format!("procedure `{name}` has version {} there and {version} here", theirs.version));
            }
        }
        if all.is_empty() && here != there {
            all.push(format!(
                "procedures are declared in another order: {} there, {} here",
                in_order(&there),
                in_order(&here)
            ));
        }
        all
    }
}

/// The names that only one side has.
fn missing(what: &str, here: &[String], there: &[String]) -> Vec<String> {
    let only = |these: &[String], others: &[String], place: &str| -> Vec<String> {
        let alone = these.iter().filter(|name| !others.contains(name));
        alone.map(|name| format!("{what} `{name}` is {place} only")).collect()
    };
    [only(there, here, "there"), only(here, there, "here")].concat()
}

fn in_order(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn of_tables(there: &TableSchema, here: &TableSchema) -> Option<String> {
    const WORDS: DifferenceWords = DifferenceWords {
        one: "is declared there",
        other: "here is",
        one_only: "is there only",
        other_only: "is here only",
    };
    if let Some(difference) = there.difference(here, &WORDS, ColumnSchema::eq) {
        return Some(difference);
    }
    if there.access != here.access {
        return Some(format!("its rows are found by {:?} access there and {:?} here", there.access, here.access));
    }
    let indexes = |table: &TableSchema| table.indexes.iter().map(|index| index.name.to_string()).collect::<Vec<_>>();
    let (names_there, names_here) = (indexes(there), indexes(here));
    if let Some(difference) = missing("index", &names_here, &names_there).into_iter().next() {
        return Some(difference);
    }
    if names_there != names_here {
        return Some("its indexes are declared in another order".to_owned());
    }
    let other = there.indexes.iter().zip(here.indexes.iter()).find(|(there, here)| there != here);
    if let Some((index, _)) = other {
        return Some(format!("index `{}` has other columns, or is unique on one side only", index.name));
    }
    (there != here).then(|| "its rows have another layout".to_owned())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::record::Access;
    use crate::{Catalog, Record};

    #[derive(Record, Clone, Copy)]
    #[record(table = "stock", key = (town, id), partition_by = town, index(name = by_size, columns = (town, size)))]
    struct Stock {
        town: u16,
        id: u32,
        size: u64,
    }

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id, partition_by = id)]
    struct Item {
        id: u32,
    }

    fn summary() -> CatalogSummary {
        let procedure = |name: &str| ProcedureEntry { name: name.to_owned(), version: 1 };
        let procedures = vec![procedure("pay"), procedure("order")];
        CatalogSummary { procedures, ..Catalog::new().table::<Stock>().table::<Item>().summary() }
    }

    fn told(change: impl FnOnce(&mut CatalogSummary)) -> String {
        let (here, mut there) = (summary(), summary());
        change(&mut there);
        assert_ne!(here.digest(), there.digest());
        here.difference(&there).expect("they differ")
    }

    #[test]
    fn every_difference_is_named() {
        assert_eq!(summary().difference(&summary()), None);
        let columns =
            |change: fn(&mut crate::record::ColumnSchema)| told(|it| change(&mut it.tables[0].columns.to_mut()[2]));
        for (told, words) in [
            (told(|it| drop(it.tables.pop())), "table `item` is here only"),
            (
                told(|it| it.tables[1].name = Cow::Borrowed("part")),
                "table `part` is there only; table `item` is here only",
            ),
            (
                told(|it| it.tables.reverse()),
                "tables are declared in another order: `item`, `stock` there, `stock`, `item` here",
            ),
            (
                columns(|it| it.name = Cow::Borrowed("weight")),
                "table `stock`: column 2 is declared there as `weight` U64 and here is `size` U64",
            ),
            (told(|it| drop(it.tables[0].columns.to_mut().pop())), "table `stock`: column `size` is here only"),
            (told(|it| it.tables[0].key.to_mut().reverse()), "table `stock`: its primary key has other columns"),
            (
                told(|it| it.tables[0].partition_by = None),
                "table `stock`: it is declared there replicated and here is partitioned by `town`",
            ),
            (
                told(|it| it.tables[0].access = Access::Point),
                "table `stock`: its rows are found by Point access there and Ordered here",
            ),
            (told(|it| it.tables[0].indexes = Cow::Borrowed(&[])), "table `stock`: index `by_size` is here only"),
            (
                told(|it| it.tables[0].indexes.to_mut()[0].unique = true),
                "table `stock`: index `by_size` has other columns, or is unique on one side only",
            ),
            (told(|it| it.tables[0].row_width = 99), "table `stock`: its rows have another layout"),
            (told(|it| it.procedures[0].version = 3), "procedure `pay` has version 3 there and 1 here"),
            (told(|it| drop(it.procedures.remove(0))), "procedure `pay` is here only"),
            (
                told(|it| it.procedures.reverse()),
                "procedures are declared in another order: `order`, `pay` there, `pay`, `order` here",
            ),
            (
                told(|it| {
                    it.tables.clear();
                    it.procedures.iter_mut().for_each(|procedure| procedure.name.push('2'));
                }),
                "table `stock` is here only; table `item` is here only; procedure `pay2` is there only; procedure \
                 `order2` is there only; 2 more",
            ),
        ] {
            assert_eq!(told, words);
        }
    }
}
