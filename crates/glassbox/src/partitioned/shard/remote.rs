//! Rows of other partitions: the ones that a run needs, those that were sent, and what the run did to them.
//!
//! A run that writes a remote row and reads it again must see what it wrote, though the row's own partition does the
//! writing. So a row that was sent is copied when it is first used, and changed in the copy.

use std::any::Any;

use super::super::held::Held;
use super::super::transaction::RemoteRows;
use super::super::transaction::watch::RESTART;
use super::remote_read::{Lookup, RemoteRead, RemoteReadResult};
use crate::partitioned::storage::table::Table;
use crate::procedure::{PartitionSet, Stop, partition_of};
use crate::record::{Encoded, EncodedKey, Key, Record};

/// A run's copy of a remote row: as it was sent, or as the run left it.
struct CachedRow {
    /// The record's number, [`TableId`](crate::record::TableId).
    record: usize,
    key: Vec<u8>,
    /// A `R`; `None`: there is no such row.
    row: Option<Box<dyn Any>>,
}

/// The partition of a run, and the participants of its transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Participation {
    pub(super) index: u8,
    pub(super) count: u8,
    pub(super) participants: PartitionSet,
}

/// What a run lacked; the last of these that came up.
#[derive(Default)]
pub(super) struct Missing {
    pub(super) reads: Vec<RemoteRead>,
    /// Partitions that would have to be participants.
    pub(super) participants: PartitionSet,
    /// The defect of a row that was sent.
    pub(super) bad: Option<String>,
}

/// The rows that other partitions sent for one run, and the run's copies of them.
pub(super) struct SentRows<'a> {
    place: Participation,
    sent: &'a [RemoteReadResult],
    cached: Vec<CachedRow>,
    /// Nothing in most runs.
    missing: Option<Box<Missing>>,
}

/// The bytes of a key.
pub(super) fn bytes_of<E: EncodedKey>(key: &E, width: usize) -> Vec<u8> {
    key.for_bytes(width, <[u8]>::to_vec)
}

fn key_bytes<R: Record>(key: &R::Key) -> Vec<u8> {
    bytes_of(&key.encode::<R::Encoded>(), R::Key::WIDTH)
}

/// Rows that came by message and are none.
const BAD_ROWS: &str = "the rows that another partition sent for table `{}` cannot be read";

/// The record says which type the row has.
const OF_ITS_RECORD: &str = "a cached row is of its record's type";

impl<'a> SentRows<'a> {
    pub(super) fn new(place: Participation, sent: &'a [RemoteReadResult]) -> Self {
        Self { place, sent, cached: Vec::new(), missing: None }
    }

    /// What the run lacked, if it lacked something.
    pub(super) fn into_missing(self) -> Option<Box<Missing>> {
        self.missing
    }

    #[cold]
    fn missing(&mut self) -> &mut Missing {
        self.missing.get_or_insert_default()
    }

    /// Asks for rows of other partitions; those that do not participate would have to.
    #[cold]
    fn ask(&mut self, partitions: PartitionSet, table: u16, lookup: Lookup) -> Stop {
        let participants = self.place.participants;
        let missing = self.missing();
        missing.participants.extend(partitions.difference(participants));
        missing.reads.push(RemoteRead { partitions, table, lookup, writes: false });
        RESTART
    }

    #[cold]
    fn bad<R: Record>(&mut self) -> Stop {
        self.missing().bad = Some(BAD_ROWS.replace("{}", R::TABLE));
        RESTART
    }

    /// A write to a row of a partition that does not participate would be lost.
    fn check_participant(&mut self, at: PartitionSet) -> Result<(), Stop> {
        if self.place.participants.union(at) == self.place.participants {
            return Ok(());
        }
        self.missing().participants.extend(at);
        Err(RESTART)
    }

    /// The place of the run's copy of a row; `None` if the row was neither sent nor written by the run.
    fn find<R: Record>(&mut self, table: u16, at: PartitionSet, key: &[u8]) -> Result<Option<usize>, Stop> {
        let record = R::table_id().get();
        if let Some(known) = self.cached.iter().position(|row| row.record == record && row.key == key) {
            return Ok(Some(known));
        }
        let sent = self.sent_rows::<R>(table, at.lowest() as u8, &Lookup::Key(key.to_vec()))?;
        let Some(rows) = sent else { return Ok(None) };
        self.cache(key.to_vec(), rows.into_iter().next());
        Ok(Some(self.cached.len() - 1))
    }

    fn cache<R: Record>(&mut self, key: Vec<u8>, row: Option<R>) {
        let row = row.map(|row| Box::new(row) as Box<dyn Any>);
        self.cached.push(CachedRow { record: R::table_id().get(), key, row });
    }

    /// The run's copy of a row, which it stops for if there is none.
    fn cached<R: Record>(
        &mut self,
        table: u16,
        at: PartitionSet,
        key: &R::Key,
    ) -> Result<&mut Option<Box<dyn Any>>, Stop> {
        let bytes = key_bytes::<R>(key);
        match self.find::<R>(table, at, &bytes)? {
            Some(known) => Ok(&mut self.cached[known].row),
            None => Err(self.ask(at, table, Lookup::Key(bytes))),
        }
    }

    /// The rows that a partition sent for this lookup; `None` if it was not asked.
    fn sent_rows<R: Record>(&mut self, table: u16, partition: u8, lookup: &Lookup) -> Result<Option<Vec<R>>, Stop> {
        let is =
            |found: &&RemoteReadResult| found.partition == partition && found.table == table && found.lookup == *lookup;
        let Some(found) = self.sent.iter().find(is) else { return Ok(None) };
        if found.rows.len() % R::ROW_WIDTH != 0 {
            return Err(self.bad::<R>());
        }
        let rows = found.rows.chunks_exact(R::ROW_WIDTH).map(R::load).collect::<Result<_, _>>();
        rows.map(Some).map_err(|_| self.bad::<R>())
    }
}

impl RemoteRows for SentRows<'_> {
    type At = PartitionSet;
    const SEVERAL_HERE: bool = false;

    #[inline(always)]
    fn of<R: Record>(&self, key: &R::Key) -> Option<PartitionSet> {
        if self.place.count == 1 {
            return None;
        }
        let partition = partition_of(key.placement_at(R::PLACEMENT?), u64::from(self.place.count)) as u8;
        (partition != self.place.index).then(|| PartitionSet::of(partition.into()))
    }

    fn scanned(&self, placement: Option<Option<u64>>) -> (bool, Option<PartitionSet>) {
        let Participation { index, count, .. } = self.place;
        let here = PartitionSet::of(index.into());
        let scanned = match placement {
            None => here,
            Some(None) => PartitionSet::all(count.into()),
            Some(Some(placement)) => PartitionSet::of(partition_of(placement, count.into()) as usize),
        };
        let others = scanned.difference(here);
        (others != scanned, (!others.is_empty()).then_some(others))
    }

    /// The only partition that this process has.
    #[inline(always)]
    fn table<'h, R: Record>(held: &'h mut Held<'_>, _key: &R::Key) -> Result<&'h mut Table<R>, Stop> {
        Ok(held.home().table::<R>())
    }

    fn get<R: Record>(&mut self, table: u16, at: PartitionSet, key: &R::Key) -> Result<Option<&R>, Stop> {
        let row = self.cached::<R>(table, at, key)?.as_ref();
        Ok(row.map(|row| row.downcast_ref().expect(OF_ITS_RECORD)))
    }

    fn update<R: Record, O>(
        &mut self,
        table: u16,
        at: PartitionSet,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Stop> {
        self.check_participant(at)?;
        let row = self.cached::<R>(table, at, key)?.as_mut();
        Ok(row.map(|row| {
            let row: &mut R = row.downcast_mut().expect(OF_ITS_RECORD);
            // Whole or not at all: the procedure may catch a panic of the change.
            let mut after = *row;
            let out = change(&mut after);
            *row = after;
            out
        }))
    }

    fn insert<R: Record>(&mut self, table: u16, at: PartitionSet, row: &R) -> Result<(), Stop> {
        self.check_participant(at)?;
        let key = key_bytes::<R>(&row.key());
        // Whether the key is free is found where the row goes. Here it matters only to this run.
        match self.find::<R>(table, at, &key)?.map(|known| &mut self.cached[known].row) {
            Some(Some(_)) => return Err(Stop::duplicate_key(row, None)),
            Some(absent) => *absent = Some(Box::new(*row)),
            None => self.cache(key, Some(*row)),
        }
        Ok(())
    }

    fn delete<R: Record>(&mut self, table: u16, at: PartitionSet, key: &R::Key) -> Result<bool, Stop> {
        self.check_participant(at)?;
        Ok(self.cached::<R>(table, at, key)?.take().is_some())
    }

    fn range<R: Record, E: EncodedKey>(
        &mut self,
        table: u16,
        at: PartitionSet,
        index: Option<usize>,
        width: usize,
        range: &Encoded<E>,
        key: impl Fn(&R) -> E,
    ) -> Result<Vec<R>, Stop> {
        let (low, high) = (bytes_of(&range.low, width), bytes_of(&range.high, width));
        let lookup = Lookup::Range { index: index.map(|position| position as u16), low, high };
        let (mut rows, mut unasked) = (Vec::new(), PartitionSet::EMPTY);
        for partition in at.iter() {
            match self.sent_rows::<R>(table, partition as u8, &lookup)? {
                Some(sent) => rows.extend(sent),
                None => unasked.insert(partition),
            }
        }
        if !unasked.is_empty() {
            return Err(self.ask(unasked, table, lookup));
        }
        for cached in self.cached.iter().filter(|row| row.record == R::table_id().get()) {
            rows.retain(|row| key_bytes::<R>(&row.key()) != cached.key);
            let row = cached.row.as_ref().map(|row| *row.downcast_ref::<R>().expect(OF_ITS_RECORD));
            rows.extend(row.filter(|row| (range.low..=range.high).contains(&key(row))));
        }
        Ok(rows)
    }

    #[inline(always)]
    fn has_missing(&self) -> bool {
        self.missing.is_some()
    }
}
