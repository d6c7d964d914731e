//! The catalog: the tables and procedures that a program declares for a database.

use std::any::TypeId;
use std::fmt;

use crate::error::Error;
use crate::partitioned::{ProcedureKind, TableKind};
use crate::procedure::Procedure;
use crate::record::{Record, TableSchema};
use crate::store::{Manifest, ProcedureEntry};

/// The tables and procedures of a database, named once where it is opened.
///
/// ```
/// use glassbox::{Catalog, Record, record::*};
/// #[derive(Record, Clone, Copy)]
/// #[record(key = id)]
/// struct Account { id: u64, balance: Decimal<2> }
/// let catalog = Catalog::new().table::<Account>();
/// ```
#[derive(Default, Clone)]
pub struct Catalog {
    pub(crate) tables: Vec<TableKind>,
    pub(crate) procedures: Vec<ProcedureKind>,
}

impl Catalog {
    /// An empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the table of a record.
    #[must_use]
    pub fn table<R: Record>(mut self) -> Self {
        self.tables.push(TableKind::of::<R>());
        self
    }

    /// Adds a procedure. In a cluster it has to be added with [`Catalog::distributed_procedure`].
    #[must_use]
    pub fn procedure<P: Procedure>(mut self) -> Self {
        self.procedures.push(ProcedureKind::of::<P>());
        self
    }

    /// Refuses duplicate names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let twice = |what, name: &str| Error::Catalog(format!("{what} `{name}` is named twice"));
        for (at, table) in self.tables.iter().enumerate() {
            if self.tables[..at].iter().any(|other| other.schema.name == table.schema.name) {
                return Err(twice("table", &table.schema.name));
            }
        }
        self.tables.iter().try_for_each(|table| check_unique(&table.schema))?;
        for (at, procedure) in self.procedures.iter().enumerate() {
            if self.procedures[..at].iter().any(|other| other.name == procedure.name) {
                return Err(twice("procedure", procedure.name));
            }
        }
        if self.tables.is_empty() {
            return Err(Error::Catalog("it names no table".to_owned()));
        }
        Ok(())
    }

    /// The tables and procedures as a manifest names them.
    pub(crate) fn entries(&self) -> (Vec<TableSchema>, Vec<ProcedureEntry>) {
        let entry = |kind: &ProcedureKind| ProcedureEntry { name: kind.name.to_owned(), version: kind.version };
        (self.tables.iter().map(|kind| kind.schema.clone()).collect(), self.procedures.iter().map(entry).collect())
    }

    /// Index in the array of tables for each table number of a manifest that was merged with this.
    pub(crate) fn table_ids(&self, manifest: &Manifest) -> Vec<usize> {
        let id = |name: &str| self.tables.iter().find(|table| table.schema.name == name).map(|table| table.id);
        manifest.tables.iter().map(|table| id(&table.name).expect("compared before")).collect()
    }

    /// Numbers of the procedures' types, given the number of each procedure of this catalog in order.
    pub(crate) fn numbers(&self, numbers: &[u16]) -> Vec<(TypeId, u16)> {
        self.procedures.iter().zip(numbers).map(|(procedure, &number)| (procedure.id, number)).collect()
    }
}

/// Refuses unique indexes that enforce nothing or cannot be checked. The derive macro refuses them earlier, with a
/// better message.
fn check_unique(table: &TableSchema) -> Result<(), Error> {
    for index in table.indexes.iter().filter(|index| index.unique) {
        let why = if table.key.iter().all(|column| index.columns.contains(column)) {
            "enforces nothing: its columns contain the primary key; remove `unique`"
        } else if table.partition_by.is_some_and(|column| !index.columns.contains(&column)) {
            "cannot be checked: it does not contain the column that decides the partition; make the table `replicated`"
        } else {
            continue;
        };
        return Err(Error::Catalog(format!(
            "unique index {}.{} {why}, or insert into a table whose primary key is what must be unique",
            table.name, index.name
        )));
    }
    Ok(())
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("tables", &self.tables.iter().map(|table| &table.schema.name).collect::<Vec<_>>())
            .field("procedures", &self.procedures.iter().map(|procedure| procedure.name).collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::Record;
    use crate::record::IndexSchema;

    #[derive(Record, Clone, Copy)]
    #[record(table = "customer", key = (town, id))]
    struct Customer {
        town: u16,
        id: u32,
        mail: u64,
    }

    fn check(columns: &'static [usize], replicated: bool) -> Result<(), String> {
        let index = IndexSchema { name: Cow::Borrowed("by_mail"), columns: Cow::Borrowed(columns), unique: true };
        let mut catalog = Catalog::new().table::<Customer>();
        let schema = &mut catalog.tables[0].schema;
        schema.indexes = Cow::Owned(vec![index]);
        if replicated {
            schema.partition_by = None;
        }
        catalog.check().map_err(|error| error.to_string())
    }

    #[test]
    fn a_unique_index_must_enforce_something() {
        assert_eq!((check(&[0, 2], false), check(&[2], true)), (Ok(()), Ok(())));
        let useless = "catalog: unique index customer.by_mail enforces nothing: its columns contain the primary key; \
            remove `unique`, or insert into a table whose primary key is what must be unique";
        for replicated in [false, true] {
            assert_eq!(check(&[1, 2, 0], replicated), Err(useless.to_owned()));
        }
        let unseen = "catalog: unique index customer.by_mail cannot be checked: it does not contain the column that \
            decides the partition; make the table `replicated`, or insert into a table whose primary key is what must \
            be unique";
        assert_eq!(check(&[2], false), Err(unseen.to_owned()));
    }
}
