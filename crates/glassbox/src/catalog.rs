//! The catalog: which tables and procedures a program brings to a database.

use std::any::TypeId;
use std::fmt;

use crate::error::Error;
use crate::partitioned::{ProcedureKind, TableKind};
use crate::procedure::Procedure;
use crate::record::Record;

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

    /// Adds a procedure.
    #[must_use]
    pub fn procedure<P: Procedure>(mut self) -> Self {
        self.procedures.push(ProcedureKind::of::<P>());
        self
    }

    /// Refuses names that stand for two things.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let twice = |what, name: &str| Error::Catalog(format!("{what} `{name}` is named twice"));
        for (at, table) in self.tables.iter().enumerate() {
            if self.tables[..at].iter().any(|other| other.schema.name == table.schema.name) {
                return Err(twice("table", &table.schema.name));
            }
        }
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

    /// Numbers of the procedures' types, given the number of each procedure of this catalog in order.
    pub(crate) fn numbers(&self, numbers: &[u16]) -> Vec<(TypeId, u16)> {
        self.procedures.iter().zip(numbers).map(|(procedure, &number)| (procedure.id, number)).collect()
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("tables", &self.tables.iter().map(|table| &table.schema.name).collect::<Vec<_>>())
            .field("procedures", &self.procedures.iter().map(|procedure| procedure.name).collect::<Vec<_>>())
            .finish()
    }
}
