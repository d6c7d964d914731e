//! One partition of a database by itself, for those who drive partitions with messages instead of opening a
//! [`Database`](crate::Database): no token, no log, no threads.

pub use crate::partitioned::ProcedureNumbers;
pub use crate::partitioned::shard::{
    Arguments, Call, DeclaredKeys, DeclaredWatch, Kept, KeyRequest, Lookup, Output, Ran, RemoteRead, RemoteReadResult,
    Route, Shard, Stamp, Task, Touch, TouchedKeys, Watch, WatchedKey,
};
pub use crate::procedure::PartitionSet;

mod summary;

use crate::catalog::Catalog;
use crate::error::Error;
pub use crate::failure::Failure;
use crate::partitioned::ProcedureKind;
use crate::partitioned::shard::Routing;
use crate::procedure::Procedure;
pub use crate::store::ProcedureEntry;
pub use summary::CatalogSummary;

impl Shard {
    /// Partition `index` of `count` of a database with this catalog, empty. Each table and each index may take
    /// `table_bytes` of memory.
    ///
    /// # Errors
    /// When the catalog contradicts itself or has a procedure that was not added for shards
    /// ([`Catalog::distributed_procedure`]), there is no such partition, or the system refuses address space.
    pub fn new(catalog: &Catalog, index: usize, count: usize, table_bytes: usize) -> Result<Self, Error> {
        catalog.check()?;
        Self::of_kinds(catalog.tables.clone(), catalog.procedures.clone(), (index, count), table_bytes)
    }
}

impl Catalog {
    /// Adds a procedure that can also run on shards, as in a cluster. Each kind of run takes time to compile, so
    /// [`Catalog::procedure`] leaves out those on shards.
    #[must_use]
    pub fn distributed_procedure<P: Procedure>(mut self) -> Self {
        self.procedures.push(ProcedureKind::distributed::<P>());
        self
    }

    /// The number by which calls of a procedure name it.
    ///
    /// # Errors
    /// When the catalog does not name it.
    pub fn number_of<P: Procedure>(&self) -> Result<u16, Error> {
        let id = std::any::TypeId::of::<P>();
        let at = self.procedures.iter().position(|kind| kind.id == id);
        at.map(|at| at as u16).ok_or(Error::UnknownProcedure { name: P::NAME })
    }

    /// The numbers of all procedures, for those who often ask.
    pub fn procedure_numbers(&self) -> ProcedureNumbers {
        ProcedureNumbers::new(&self.numbers(&(0..self.procedures.len() as u16).collect::<Vec<_>>()))
    }

    /// Where a call has to go, with so many partitions.
    ///
    /// # Errors
    /// When there is no such procedure, or its arguments cannot be read.
    pub fn route(&self, call: &Call, partitions: usize) -> Result<Route, String> {
        let numbers = |record| self.tables.iter().position(|kind| kind.id == record).map(|number| number as u16);
        let kind = self.procedures.get(usize::from(call.procedure));
        let kind = kind.ok_or_else(|| format!("there is no procedure with the number {}", call.procedure))?;
        (kind.on_shards()?.route)(&call.arguments, partitions, &numbers)
    }

    /// The version of a procedure, by its number.
    pub fn version_of(&self, procedure: u16) -> Option<u32> {
        self.procedures.get(usize::from(procedure)).map(|kind| kind.version)
    }

    /// The same, of a procedure that is here.
    #[inline]
    pub fn route_of(&self, procedure: &impl Procedure, partitions: usize) -> Route {
        let numbers = |record| self.tables.iter().position(|kind| kind.id == record).map(|number| number as u16);
        Routing::of(procedure, partitions, &numbers)
    }

    /// One number for names, columns and versions of everything in it: programs whose catalogs agree have the same.
    pub fn digest(&self) -> u64 {
        self.summary().digest()
    }

    /// Names, columns and versions of everything in it.
    pub fn summary(&self) -> CatalogSummary {
        let (tables, procedures) = self.entries();
        CatalogSummary { tables, procedures }
    }
}
