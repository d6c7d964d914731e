//! The catalog: the tables and procedures that a program declares for a database.

use std::any::TypeId;
use std::fmt;

use crate::error::Error;
use crate::partitioned::{ProcedureKind, TableKind};
use crate::procedure::Procedure;
use crate::record::{Record, TableSchema, parse};
use crate::store::{Manifest, ProcedureEntry, ProgramSchema};

/// The tables and procedures of a database, named once where it is opened.
///
/// ```
/// use glassbox::{Catalog, Record, record::*};
/// #[derive(Record, Clone, Copy)]
/// #[record(key = id)]
/// struct Account { id: u64, balance: Decimal<2> }
/// let catalog = Catalog::new().table::<Account>();
/// ```
#[derive(Clone)]
pub struct Catalog {
    pub(crate) version: u32,
    pub(crate) tables: Vec<TableKind>,
    pub(crate) procedures: Vec<ProcedureKind>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self { version: 1, tables: Vec::new(), procedures: Vec::new() }
    }
}

impl Catalog {
    /// An empty catalog, of version 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version of the schema: 1 at first, and raised with each change of a table that has rows. The records
    /// say in attributes what each version changed; a database of an older version is converted when it is opened.
    ///
    /// ```
    /// use glassbox::{Catalog, Config, Database, Record, Transaction, record::*};
    ///
    /// mod before {
    ///     #[derive(glassbox::Record, Clone, Copy)]
    ///     #[record(table = "account", key = id)]
    ///     pub struct Account { pub id: u64, pub owner: u32 }
    /// }
    ///
    /// #[derive(Record, Clone, Copy)]
    /// #[record(table = "account", key = id)]
    /// struct Account {
    ///     id: u64,
    ///     #[record(was("owner", 2))]
    ///     holder: u64,
    ///     #[record(added = 2, default = 0)]
    ///     balance: Decimal<2>,
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let first = Database::open(dir.path(), Config::default(), Catalog::new().table::<before::Account>())?;
    /// first.transaction(|tx| tx.insert(&before::Account { id: 1, owner: 7 }))?;
    /// first.close()?;
    /// let second = Database::open(dir.path(), Config::default(), Catalog::new().version(2).table::<Account>())?;
    /// let holder = second.transaction(|tx| Ok(tx.get::<Account>(&1)?.map(|account| account.holder)))?;
    /// assert_eq!(holder, Some(7));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
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
        self.check_version()?;
        self.tables.iter().try_for_each(check_defaults)?;
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

    /// Refuses a version that is older than what a record says.
    fn check_version(&self) -> Result<(), Error> {
        let newest = self.tables.iter().max_by_key(|table| table.history.newest());
        match newest.map(|table| (table.history.newest(), &table.schema.name)) {
            _ if self.version == 0 => Err(Error::Catalog("the first version of a schema is 1".to_owned())),
            Some((newest, name)) if newest > self.version => Err(Error::Catalog(format!(
                "table `{name}` has a change of version {newest}, and the catalog is of version {}: add \
                 `.version({newest})`",
                self.version
            ))),
            _ => Ok(()),
        }
    }

    /// The tables and procedures as a manifest names them.
    pub(crate) fn entries(&self) -> (Vec<TableSchema>, Vec<ProcedureEntry>) {
        let ProgramSchema { tables, procedures, .. } = self.schema();
        (tables.into_iter().map(|(table, _)| table).collect(), procedures)
    }

    /// The schema that a manifest is merged with.
    pub(crate) fn schema(&self) -> ProgramSchema {
        let entry = |kind: &ProcedureKind| ProcedureEntry { name: kind.name.to_owned(), version: kind.version };
        let tables = self.tables.iter().map(|kind| (kind.schema.clone(), kind.history));
        let procedures = self.procedures.iter().map(entry).collect();
        ProgramSchema { version: self.version, tables: tables.collect(), procedures }
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

/// Refuses defaults that are no values of their columns.
fn check_defaults(table: &TableKind) -> Result<(), Error> {
    let TableKind { schema, history, .. } = table;
    let with_default = schema.columns.iter().zip(history.columns).filter(|(_, history)| history.added > 1);
    for (column, history) in with_default {
        parse(column, history.default)
            .map_err(|bad| Error::Catalog(format!("the default of a column of table `{}`: {bad}", schema.name)))?;
    }
    Ok(())
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
            .field("version", &self.version)
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

    #[derive(Record, Clone, Copy)]
    #[record(table = "item", key = id)]
    struct Item {
        id: u32,
        #[record(added = 3, default = 300)]
        size: u8,
    }

    #[test]
    fn a_version_and_defaults_fit_the_records() {
        let refused = |version| Catalog::new().version(version).table::<Item>().check().unwrap_err().to_string();
        let older =
            "catalog: table `item` has a change of version 3, and the catalog is of version 2: add `.version(3)`";
        assert_eq!(refused(2), older);
        assert!(refused(0).contains("the first version of a schema is 1"));
        let no_value =
            "catalog: the default of a column of table `item`: `300` is no value of column `size`, which is u8";
        assert_eq!(refused(3), no_value);
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
