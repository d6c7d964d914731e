//! What concerns all tables of all partitions at once: making them, loading a checkpoint, statistics, checks.

use std::sync::PoisonError;
use std::time::Duration;

use crate::config::Config;
use crate::error::Error;
use crate::executed::{Counters, TableUsage};
use crate::health::{Until, await_transactions};
use crate::io::Files;
use crate::partitioned::checkpoint::{self, Source};
use crate::partitioned::engine::Engine;
use crate::partitioned::held::{Cell, hold_if_free};
use crate::partitioned::log_records::values::BadLogRecord;
use crate::partitioned::pace::Growth;
use crate::partitioned::partition::Partition;
use crate::partitioned::storage::any_table::TableKind;
use crate::partitioned::storage::indexes::NotBuilt;
use crate::partitioned::storage::memory::{AddressSpace, CannotReserve};
use crate::procedure::{PartitionSet, partition_of};
use crate::record::{Key, Record, RowConversion, TableSchema, mix};
use crate::store::{CheckpointBlock, CheckpointFile, Manifest, REPLICATED, WrittenCheckpoint, damaged};

const COPIES_DIFFER: &str = "not all partitions had memory for a row of the replicated table `{}`, so its copies \
     differ; open the database again, with larger `table_bytes`, to get the state before the bulk load";

/// How often statistics look whether a partition is free, and how long they rest between.
const LOOKS: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// Partitions with empty tables; `numbers` are the tables' numbers in the files.
pub(crate) fn new_cells(kinds: &[TableKind], numbers: &[u16], config: &Config) -> Result<Box<[Cell]>, Error> {
    let created = create_cells(kinds, numbers, config.partitions, config.table_bytes);
    // The error is described when the cells that were created have returned their address space.
    created.map_err(|(error, kind)| no_address_space(&error, &kinds[kind], kinds, numbers, config))
}

/// An error says which of `kinds` has no address space.
fn create_cells(
    kinds: &[TableKind],
    numbers: &[u16],
    partitions: usize,
    table_bytes: usize,
) -> Result<Box<[Cell]>, (CannotReserve, usize)> {
    let places = kinds.iter().map(|kind| kind.id + 1).max().unwrap_or(0);
    let mut space = AddressSpace::default();
    let create = |partition: usize| {
        let mut tables: Vec<_> = (0..places).map(|_| None).collect();
        for (at, (kind, &number)) in kinds.iter().zip(numbers).enumerate() {
            tables[kind.id] = Some((kind.create)(number, table_bytes, &mut space).map_err(|error| (error, at))?);
        }
        Ok(Cell::new(Partition::new(tables, mix(partition as u64))))
    };
    (0..partitions).map(create).collect()
}

/// Address space that a process has for its tables, as far as the processor goes: half of 47 bits.
const ADDRESS_SPACE_BYTES: usize = 1 << 46;
/// No table has less.
const MIN_TABLE_BYTES: usize = 2 << 20;

/// The rows of each table, and each of its indexes, have address space of their own in each partition.
#[cold]
fn no_address_space(
    error: &CannotReserve,
    kind: &TableKind,
    kinds: &[TableKind],
    numbers: &[u16],
    config: &Config,
) -> Error {
    let of_table = |kind: &TableKind| 2 + kind.schema.indexes.len();
    let regions = kinds.iter().map(of_table).sum::<usize>() * config.partitions;
    // At most half of the setting that was refused.
    let largest = 1_usize << (ADDRESS_SPACE_BYTES / regions).min((config.table_bytes / 2).max(1)).ilog2();
    let sizes = std::iter::successors(Some(largest), |bytes| Some(bytes / 2)).take_while(|&it| it >= MIN_TABLE_BYTES);
    let mut works = sizes.filter(|&bytes| create_cells(kinds, numbers, config.partitions, bytes).is_ok());
    let remedy = match works.next() {
        Some(fits) => format!(
            "set `table_bytes` to {fits} or less, or open fewer partitions; where memory is limited (`ulimit -v`, \
             `vm.overcommit_memory=2`), a higher limit allows more"
        ),
        None => format!(
            "raise the limit of the process's memory (`ulimit -v`, `vm.overcommit_memory=2`) and set `table_bytes` to \
             {} or less, or open fewer partitions",
            largest.max(MIN_TABLE_BYTES)
        ),
    };
    Error::OutOfMemory(format!(
        "the address space of the process is used up: table \"{}\" {error}; {} tables with their indexes, in {} \
         partitions, reserve `table_bytes` {regions} times: {remedy}",
        kind.schema.name,
        kinds.len(),
        config.partitions,
    ))
}

/// Has the unique indexes that the manifest does not know built only when all rows are there, by [`build_indexes`];
/// whether there are any.
pub(crate) fn defer_new_indexes(cells: &mut [Cell], kinds: &[TableKind], manifest: &Manifest) -> bool {
    let mut deferred = false;
    for kind in kinds {
        let Some(stored) = manifest.tables.iter().find(|table| table.name == kind.schema.name) else { continue };
        for cell in &mut *cells {
            let table = cell.get_mut().tables[kind.id].as_mut().expect("made before");
            deferred |= table.defer_unique(&|index| !stored.keeps_unique(index));
        }
    }
    deferred
}

/// Builds the indexes that [`defer_new_indexes`] put off, all partitions at once.
pub(crate) fn build_indexes(cells: &mut [Cell], kinds: &[TableKind]) -> Result<(), Error> {
    let build = |cell: &mut Cell| {
        for kind in kinds {
            let table = cell.get_mut().tables[kind.id].as_mut().expect("made before");
            table.build_deferred().map_err(|why| not_built(&kind.schema, why))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = cells.iter_mut().map(|cell| scope.spawn(move || build(cell))).collect();
        let built: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("building does not panic")).collect();
        built.into_iter().collect()
    })
}

fn not_built(schema: &TableSchema, why: NotBuilt) -> Error {
    match why {
        NotBuilt::NotUnique(at, [one, other]) => Error::not_unique(schema, &schema.indexes[at], [&one, &other]),
        NotBuilt::Full(at) => {
            let index = &schema.indexes[at].name;
            Error::OutOfMemory(format!("index {}.{index} has no memory for all rows; raise `table_bytes`", schema.name))
        }
    }
}

/// Rows of a checkpoint that are worth a thread for each partition.
const ROWS_FOR_THREADS: u64 = 10_000;

/// Fills empty partitions from a checkpoint, all at once if it is large; `ids` are the tables' places for each number
/// in the file, with the conversions of their rows. Gives the number of rows.
pub(crate) fn load_checkpoint(
    file: &CheckpointFile,
    tables: (&[usize], &[Option<RowConversion>]),
    cells: &mut [Cell],
) -> Result<u64, Error> {
    let count = cells.len();
    let rows = file.blocks.iter().map(|block| u64::from(block.rows)).sum();
    let load = |(partition, cell): (usize, &mut Cell)| load_partition(file, tables, cell.get_mut(), partition, count);
    let loaded: u64 = if rows < ROWS_FOR_THREADS {
        cells.iter_mut().enumerate().map(load).sum::<Result<u64, Error>>()?
    } else {
        std::thread::scope(|scope| {
            let each = cells.iter_mut().enumerate();
            let threads: Vec<_> = each.map(|partition| scope.spawn(|| load(partition))).collect();
            let loaded: Vec<_> = threads.into_iter().map(|it| it.join().expect("loading does not panic")).collect();
            loaded.into_iter().sum::<Result<u64, Error>>()
        })?
    };
    let first = &cells[0].get_mut().tables;
    let is_partitioned = |block: &&CheckpointBlock| {
        let table = tables.0.get(usize::from(block.table)).and_then(|&id| first[id].as_ref());
        table.is_some_and(|table| !table.is_replicated())
    };
    let stored: u64 = file.blocks.iter().filter(is_partitioned).map(|block| u64::from(block.rows)).sum();
    if loaded != stored {
        let problem = format!("it has {stored} rows of partitioned tables, and the partitions took {loaded} of them");
        return Err(damaged(&*file.file, 0, problem));
    }
    Ok(rows)
}

/// Fills one of `count` partitions. Gives the number of its rows of partitioned tables.
fn load_partition(
    file: &CheckpointFile,
    (ids, conversions): (&[usize], &[Option<RowConversion>]),
    data: &mut Partition,
    partition: usize,
    count: usize,
) -> Result<u64, Error> {
    let mine = |placement: Option<u64>| placement.is_none_or(|it| partition_of(it, count as u64) == partition as u64);
    // With as many partitions as then, each block is one partition's or everyone's.
    let same = file.partitions == count as u64;
    let mut rows = Vec::new();
    let mut converted = Vec::new();
    let mut loaded = 0;
    for block in &file.blocks {
        let conversion = conversions.get(usize::from(block.table)).and_then(Option::as_ref);
        // A converted row may belong to another partition: a longer text has another placement number.
        if same && conversion.is_none() && block.partition != REPLICATED && usize::from(block.partition) != partition {
            continue;
        }
        file.rows(block, &mut rows)?;
        if let Some(conversion) = conversion {
            if rows.len() % conversion.former().row_width != 0 {
                return Err(damaged(&*file.file, block.at, "it ends in the middle of a row"));
            }
            converted.clear();
            rows.chunks_exact(conversion.former().row_width).for_each(|row| conversion.row(row, &mut converted));
        }
        let rows = if conversion.is_some() { &converted } else { &rows };
        let table = ids.get(usize::from(block.table)).and_then(|&id| data.tables[id].as_mut());
        let table =
            table.ok_or_else(|| damaged(&*file.file, block.at, "it holds a table that the manifest does not name"))?;
        let of_block = table.load(rows, &mine).map_err(|bad| match bad {
            BadLogRecord::Full(full) => Error::OutOfMemory(full.to_string()),
            bad => damaged(&*file.file, block.at, bad.to_string()),
        })?;
        loaded += if table.is_replicated() { 0 } else { of_block };
    }
    Ok(loaded)
}

fn no_usage(kind: &TableKind) -> TableUsage {
    TableUsage { table: kind.schema.name.to_string(), rows: 0, row_bytes: 0, index_bytes: Vec::new() }
}

impl Engine {
    /// Writes a checkpoint file; the tables' numbers are those of the manifest.
    pub(crate) fn checkpoint(
        &self,
        files: &dyn Files,
        kinds: &[TableKind],
        manifest: &Manifest,
        alone: bool,
        log: &Growth<'_>,
    ) -> Result<WrittenCheckpoint, Error> {
        let number = |kind: &TableKind| {
            manifest.tables.iter().position(|table| table.name == kind.schema.name).expect("merged at opening") as u16
        };
        let sources: Vec<_> = kinds
            .iter()
            .map(|kind| Source {
                id: kind.id,
                number: number(kind),
                row_width: kind.schema.row_width,
                replicated: kind.schema.partition_by.is_none(),
            })
            .collect();
        checkpoint::write(self, files, manifest.database_id, &sources, alone, log)
    }

    /// Adds a row that is not logged, to its partition or, replicated, to all.
    pub(crate) fn load_row<R: Record>(&self, row: &R) -> Result<(), Error> {
        let count = self.cells.len() as u64;
        let needed = match R::PLACEMENT {
            Some(position) => PartitionSet::of(partition_of(row.key().placement_at(position), count) as usize),
            None => self.all(),
        };
        self.holding(needed, |mut hold| {
            for (at, partition) in hold.held.partitions() {
                let inserted = partition.table::<R>().insert(row);
                if inserted.is_err() && R::PLACEMENT.is_none() && at > 0 {
                    self.stop(COPIES_DIFFER.replace("{}", R::TABLE));
                }
                inserted.map_err(|refused| partition.table::<R>().refusal(refused, row, None))?;
            }
            Ok(())
        })
    }

    /// Counts of transactions. Waits for none.
    pub(crate) fn counters(&self) -> Counters {
        Counters::sum(self.cells.iter().map(|cell| &cell.counters))
    }

    /// Memory by table. Waits for no transaction: of a partition that is not free for a moment within some
    /// milliseconds, it is what was known last.
    pub(crate) fn usage(&self, kinds: &[TableKind]) -> Vec<TableUsage> {
        let mut known = self.known_usage.lock().unwrap_or_else(PoisonError::into_inner);
        known.resize(self.cells.len(), Vec::new());
        let mut missing: Vec<usize> = (0..self.cells.len()).collect();
        for look in 0..LOOKS {
            if look > 0 {
                std::thread::sleep(LOOK_EVERY);
            }
            missing.retain(|&at| match self.usage_if_free(kinds, at) {
                Some(usage) => {
                    known[at] = usage;
                    false
                }
                None => true,
            });
            if missing.is_empty() {
                break;
            }
        }
        let mut sums: Vec<_> = kinds.iter().map(no_usage).collect();
        for partition in &*known {
            sums.iter_mut().zip(partition).for_each(|(sum, usage)| sum.add(usage));
        }
        sums
    }

    fn usage_if_free(&self, kinds: &[TableKind], at: usize) -> Option<Vec<TableUsage>> {
        hold_if_free(&self.cells, at, |mut token| {
            let mut hold = token.hold();
            let partition = hold.held.home();
            let usage = |kind: &TableKind| {
                let mut usage = no_usage(kind);
                partition.tables[kind.id].as_ref().expect("made at opening").add_usage(&mut usage, at == 0);
                usage
            };
            kinds.iter().map(usage).collect()
        })
    }

    /// Waits for the transactions of all partitions.
    ///
    /// # Errors
    /// As for [`await_transactions`].
    pub(crate) fn await_transactions(&self, until: Until) -> Result<(), Error> {
        let is_free = |at| hold_if_free(&self.cells, at, |_| ()).is_some();
        let places = self.cells.iter().enumerate().map(|(at, cell)| (&cell.counters, move || is_free(at)));
        await_transactions("partition", places, until).map_err(|error| self.name_running(error))
    }

    /// The same error with the procedure that runs: in the place that is busy, or in another one for which its holder
    /// waits.
    #[cold]
    fn name_running(&self, error: Error) -> Error {
        let Error::Busy { place, seconds, .. } = error else { return error };
        let runs = |(_, cell): &(usize, &Cell)| cell.counters.running.is_set();
        let is_named = |(at, _): &(usize, &Cell)| place == format!("partition {at}");
        let mut running = self.cells.iter().enumerate().filter(runs);
        let Some((at, cell)) = running.clone().find(is_named).or_else(|| running.next()) else {
            return Error::Busy { place, running: "a transaction".to_owned(), seconds };
        };
        let number = cell.counters.running.number();
        let name = self.procedure_names.iter().find(|(known, _)| Some(*known) == number);
        let running = name.map_or("a closure".to_owned(), |(_, name)| format!("procedure \"{name}\""));
        Error::Busy { place: format!("partition {at}"), running, seconds }
    }

    /// The defects of indexes, over all partitions, and of the copies of replicated tables.
    pub(crate) fn verify(&self, kinds: &[TableKind]) -> Vec<String> {
        self.holding(self.all(), |mut hold| {
            let mut wrong = Vec::new();
            for (at, partition) in hold.held.partitions() {
                let tables = kinds.iter().filter_map(|kind| partition.tables[kind.id].as_ref());
                wrong.extend(tables.filter_map(|table| table.verify().err()).map(|it| format!("partition {at}: {it}")));
            }
            for kind in kinds.iter().filter(|kind| kind.schema.partition_by.is_none()) {
                let digest = |partition: &mut Partition| partition.tables[kind.id].as_ref().map(|table| table.digest());
                let digests: Vec<_> = hold.held.partitions().map(|(_, partition)| digest(partition)).collect();
                let differs = |&at: &usize| digests[at] != digests[0];
                let name = &kind.schema.name;
                let text = |at| format!("partition {at}: table `{name}` differs from partition 0's copy");
                wrong.extend((1..digests.len()).filter(differs).map(text));
            }
            wrong
        })
    }
}
