//! Where a call has to go, by what its procedure declares.

use std::ops::Range;

use super::remote::bytes_of;
use super::remote_read::{Lookup, RemoteRead};
use crate::procedure::{Declared, KeySet, Mode, PartitionSet, Partitions, Procedure, partition_of};
use crate::record::{Bounds, Index, Key, Record};

/// Where a call has to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The participants; at least one.
    pub partitions: PartitionSet,
    /// The partition whose output counts, with what the others have for it.
    pub home: u8,
    /// Rows that runs elsewhere are going to read, and which partition has them: to be brought before any run.
    pub shared: Vec<RemoteRead>,
    /// Whether the procedure declares every key.
    pub is_complete: bool,
}

/// Gives a record's table number, if the catalog has it.
pub(super) type TableNumbers<'a> = &'a dyn Fn(usize) -> Option<u16>;

/// Collects a [`Route`]; `number` gives a record's table number.
pub(crate) struct Routing<'a> {
    count: u64,
    partitions: Partitions,
    home: Option<u8>,
    shared: Vec<RemoteRead>,
    numbers: &'a dyn Fn(usize) -> Option<u16>,
}

impl<'a> Routing<'a> {
    /// Where this goes, with so many partitions.
    #[inline]
    pub(crate) fn of(procedure: &impl Procedure, count: usize, numbers: &'a dyn Fn(usize) -> Option<u16>) -> Route {
        if count == 1 {
            let is_complete = false;
            return Route { partitions: PartitionSet::of(0), home: 0, shared: Vec::new(), is_complete };
        }
        let partitions = Partitions::none(count);
        let mut routing = Self { count: count as u64, partitions, home: None, shared: Vec::new(), numbers };
        let declared = procedure.declare(&mut routing);
        routing.route(declared)
    }

    fn route(self, declared: Declared) -> Route {
        let partitions =
            if declared.names_partitions() { self.partitions.set } else { PartitionSet::all(self.count as usize) };
        let home = self.home.unwrap_or(partitions.or_if_empty(0).lowest() as u8);
        // The rows of a single partition need not be sent.
        let shared = if partitions.is_single() { Vec::new() } else { self.shared };
        let is_complete = declared == Declared::Complete;
        Route { partitions: partitions.or_if_empty(home.into()), home, shared, is_complete }
    }

    fn add<R: Record>(&mut self, placement: Option<u64>, mode: Mode) {
        self.partitions.add::<R>(placement, mode);
        if let (None, Some(placement)) = (self.home, placement) {
            self.home = Some(partition_of(placement, self.count) as u8);
        }
    }
}

impl KeySet for Routing<'_> {
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        self.add::<R>(R::PLACEMENT.map(|position| key.placement_at(position)), mode);
    }

    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        self.add::<R>(R::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
    }

    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        self.add::<I::Record>(I::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
    }

    fn share<R: Record>(&mut self, key: &R::Key, mode: Mode) {
        self.key::<R>(key, mode);
        if let (Some(position), Some(table)) = (R::PLACEMENT, (self.numbers)(R::table_id().get())) {
            let partitions = PartitionSet::of(partition_of(key.placement_at(position), self.count) as usize);
            let key = bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH);
            let writes = mode == Mode::Write;
            self.shared.push(RemoteRead { partitions, table, lookup: Lookup::Key(key), writes });
        }
    }
}
