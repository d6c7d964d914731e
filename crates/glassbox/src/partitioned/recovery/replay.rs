//! Replaying the log: every partition does its own part, at the same time as the others.
//!
//! One thread reads and checks the log and hands it on in batches; each partition has a thread that goes through every
//! batch in order. Row changes need no agreement: a thread does those of its own rows and skips the rest. A call of a
//! procedure on one partition is run by that partition's thread. One on several partitions is run by the lowest of them
//! while the others wait at this record; as all threads meet records in the same order, they cannot wait for each other
//! in a circle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::io::Clock;
use crate::log::Lsn;
use crate::partitioned::held::{Cell, Hold};
use crate::partitioned::log_records::command::CommandHead;
use crate::partitioned::log_records::row_change::convert_operation;
use crate::partitioned::log_records::values::{
    Ahead, Asked, BadLogRecord, COMMAND, COMMAND_WITHOUT_DIGEST, Mine, OPERATION_WIDTH, VALUES,
};
use crate::partitioned::partition::Partition;
use crate::partitioned::procedure_kind::ProcedureKind;
use crate::partitioned::recovery::replay_error::ReplayError;
use crate::partitioned::storage::memory::RowId;
use crate::procedure::{PartitionSet, partition_of};
use crate::record::RowConversion;

/// How often a thread that waits for another partition looks before it sleeps.
const SPINS: usize = 200;
/// Records handed on together, bytes.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that may wait for a partition.
const BATCHES_AHEAD: usize = 16;

/// Log records, one after the other.
#[derive(Default)]
struct Batch {
    /// Ordinal of the first record in this replay.
    first: u64,
    bytes: Vec<u8>,
    /// Position in the log and end in `bytes` of each record.
    ends: Vec<(Lsn, usize)>,
}

impl Batch {
    /// The records from this one on.
    fn records_from(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        let mut start = index.checked_sub(1).map_or(0, |before| self.ends[before].1);
        self.ends[index..].iter().map(move |&(_, end)| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}

/// The record that cannot be replayed, by where it ends, and why not.
#[derive(Debug, Clone)]
pub(crate) struct ReplayFailed {
    pub(crate) lsn: Lsn,
    pub(crate) error: ReplayError,
}

/// What replaying needs to know.
pub(crate) struct ReplayContext<'a> {
    pub(crate) cells: &'a [Cell],
    /// Place in the array of tables for each table number of the files.
    pub(crate) tables: &'a [usize],
    /// For each of these numbers, how its rows become those of the present version, if they are not; empty if all are.
    pub(crate) conversions: &'a [Option<RowConversion>],
    /// For each procedure number of the log, the code, if the catalog has just that version.
    pub(crate) procedures: &'a [Option<ProcedureKind>],
    pub(crate) clock: &'a dyn Clock,
    /// Run each call with all partitions, whatever it declared.
    pub(crate) all_partitions: bool,
}

/// State that the partitions' threads share.
struct SharedReplay<'a> {
    context: &'a ReplayContext<'a>,
    at: Box<[Progress]>,
    failed: AtomicBool,
}

impl SharedReplay<'_> {
    /// The witness of partitions at one record: in the thread of the lowest of them, between the waits for the others.
    fn hold(&self, set: PartitionSet) -> Hold<'_> {
        // SAFETY: no transaction runs during recovery. Each partition is touched by its own thread, or by
        // another's while its own waits at the same record; and no caller keeps a witness beyond a record.
        unsafe { Hold::new(self.context.cells, set) }
    }
}

/// How far a partition is.
#[derive(Default)]
struct Progress {
    /// The ordinal of the record it is at: all before are done.
    at: AtomicU64,
    /// Threads that sleep until it gets further.
    waiting: AtomicUsize,
    gate: Mutex<()>,
    moved: Condvar,
}

impl Progress {
    fn advance(&self, to: u64) {
        self.at.store(to, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // Under the mutex: one who is about to sleep has looked, or looks after this.
            let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
            self.moved.notify_all();
        }
    }
}

/// Reads records with `read`, which calls what it is given for each one, and does them again on all partitions. Gives
/// what `read` gave and the number of records.
pub(crate) fn replay<O>(
    context: &ReplayContext<'_>,
    read: impl FnOnce(&mut dyn FnMut(Lsn, &[u8]) -> bool) -> O,
) -> Result<(O, u64), ReplayFailed> {
    let at = context.cells.iter().map(|_| Progress::default()).collect();
    let shared = SharedReplay { context, at, failed: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let (senders, threads): (Vec<_>, Vec<_>) = (0..context.cells.len())
            .map(|partition| {
                let (sender, receiver) = sync_channel(BATCHES_AHEAD);
                let shared = &shared;
                (sender, scope.spawn(move || replay_partition(shared, partition, &receiver)))
            })
            .unzip();
        let mut reader = Reader { senders, batch: Batch::default(), count: 0 };
        let read = read(&mut |lsn, record| {
            reader.push(lsn, record);
            !shared.failed.load(Ordering::Relaxed)
        });
        reader.flush();
        let count = reader.count;
        drop(reader);
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("replay catches panics")).collect();
        // Others may have failed only because the first one did.
        let failed = results.into_iter().filter_map(Result::err);
        let first = failed.min_by_key(|failed| (failed.error == ReplayError::OtherPartition, failed.lsn));
        first.map_or(Ok((read, count)), Err)
    })
}

struct Reader {
    senders: Vec<SyncSender<Arc<Batch>>>,
    batch: Batch,
    count: u64,
}

impl Reader {
    fn push(&mut self, lsn: Lsn, record: &[u8]) {
        self.batch.bytes.extend_from_slice(record);
        self.batch.ends.push((lsn, self.batch.bytes.len()));
        self.count += 1;
        if self.batch.bytes.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Batch { first: self.count, ..Batch::default() });
        let batch = Arc::new(batch);
        for sender in &self.senders {
            // A partition that failed has hung up.
            let _ = sender.send(Arc::clone(&batch));
        }
    }
}

fn replay_partition(
    shared: &SharedReplay<'_>,
    partition: usize,
    batches: &Receiver<Arc<Batch>>,
) -> Result<(), ReplayFailed> {
    let count = shared.context.cells.len() as u64;
    let mine = |placement: Option<u64>| placement.is_none_or(|it| partition_of(it, count) == partition as u64);
    for batch in batches {
        let (mut start, mut asked, mut lookahead) = (0, 0, Lookahead::default());
        for (index, &(lsn, end)) in batch.ends.iter().enumerate() {
            let ordinal = batch.first + index as u64;
            let record = &batch.bytes[start..end];
            let replay = || {
                // Only at changes of rows: at a call another thread may have this partition already.
                if index >= asked && record.first() == Some(&VALUES) {
                    let mut own = shared.hold(PartitionSet::of(partition));
                    let data = own.held.home();
                    let tables = (shared.context.tables, shared.context.conversions);
                    asked = index + lookahead.ask(data, tables, &mine, batch.records_from(index));
                }
                replay_record(shared, partition, ordinal, (lsn, record), &mut lookahead.found)
            };
            // Other partitions may be waiting for this one: a panic must end their wait, too.
            let replayed = catch_unwind(AssertUnwindSafe(replay));
            if let Err(error) = replayed.unwrap_or_else(|panic| Err(ReplayError::of_engine(&*panic))) {
                shared.failed.store(true, Ordering::Release);
                return Err(ReplayFailed { lsn, error });
            }
            shared.at[partition].advance(ordinal + 1);
            start = end;
        }
    }
    Ok(())
}

fn replay_record(
    shared: &SharedReplay<'_>,
    partition: usize,
    ordinal: u64,
    (lsn, record): (Lsn, &[u8]),
    ahead: &mut Ahead,
) -> Result<(), ReplayError> {
    let foreign = |what: &str| ReplayError::Foreign(what.to_owned());
    match record.split_first() {
        Some((&VALUES, operations)) => {
            let mut own = shared.hold(PartitionSet::of(partition));
            let data = own.held.home();
            apply_all(shared.context, data, partition, operations, ahead)?;
            data.last = lsn;
            Ok(())
        }
        Some((&(COMMAND | COMMAND_WITHOUT_DIGEST), _)) if !shared.context.conversions.is_empty() => {
            Err(ReplayError::OtherSchema)
        }
        Some((&kind @ (COMMAND | COMMAND_WITHOUT_DIGEST), command)) => {
            let (head, arguments) =
                CommandHead::split(kind, command).ok_or_else(|| foreign("a call ends before its arguments"))?;
            replay_command(shared, partition, ordinal, lsn, head, arguments)
        }
        Some((kind, _)) => Err(foreign(&format!("it begins with {kind}, which is no kind of record"))),
        None => Err(foreign("it is empty")),
    }
}

fn apply_all(
    context: &ReplayContext<'_>,
    data: &mut Partition,
    partition: usize,
    mut operations: &[u8],
    ahead: &mut Ahead,
) -> Result<(), BadLogRecord> {
    let count = context.cells.len() as u64;
    let mine = |placement: Option<u64>| placement.is_none_or(|it| partition_of(it, count) == partition as u64);
    let mut converted = Vec::new();
    while !operations.is_empty() {
        let (&[operation, low, high], rest) = operations.split_first_chunk().ok_or(BadLogRecord::Short)?;
        let number = u16::from_le_bytes([low, high]);
        let id = *context.tables.get(usize::from(number)).ok_or(BadLogRecord::Table(number))?;
        let table = data.tables[id].as_mut().ok_or(BadLogRecord::Table(number))?;
        operations = match context.conversions.get(usize::from(number)) {
            Some(Some(conversion)) => {
                let rest = convert_operation(conversion, operation, rest, &mut converted)?;
                table.apply(operation, &converted, &mine, &mut Ahead::new())?;
                rest
            }
            _ => table.apply(operation, rest, &mine, ahead)?,
        };
    }
    Ok(())
}

fn replay_command(
    shared: &SharedReplay<'_>,
    partition: usize,
    ordinal: u64,
    lsn: Lsn,
    head: CommandHead,
    arguments: &[u8],
) -> Result<(), ReplayError> {
    let context = shared.context;
    let number = usize::from(head.procedure);
    let unnamed = || ReplayError::Foreign("it calls a procedure that the manifest does not name".to_owned());
    let kind = context.procedures.get(number).ok_or_else(unnamed)?;
    let kind = kind.as_ref().ok_or(ReplayError::OtherVersion(number))?;
    let all = PartitionSet::all(context.cells.len());
    let held = if all.is_single() || context.all_partitions {
        all
    } else {
        (kind.route)(arguments, context.cells.len())?.unwrap_or(all)
    };
    if !held.contains(partition) {
        return Ok(());
    }
    let home = held.lowest();
    let others = held.iter().filter(|&other| other != partition);
    if partition != home {
        return wait(shared, home, ordinal + 1);
    }
    for other in others {
        // It waits at this record once all before are done.
        wait(shared, other, ordinal)?;
    }
    (kind.run)(shared.hold(held), arguments, head, context.clock)?;
    shared.hold(held).held.partitions().for_each(|(_, partition)| partition.last = lsn);
    Ok(())
}

/// Waits until a partition has done all records before `ordinal`.
fn wait(shared: &SharedReplay<'_>, partition: usize, ordinal: u64) -> Result<(), ReplayError> {
    let progress = &shared.at[partition];
    let there = || progress.at.load(Ordering::SeqCst) >= ordinal;
    for _ in 0..SPINS {
        if there() {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    progress.waiting.fetch_add(1, Ordering::SeqCst);
    let mut gate = progress.gate.lock().unwrap_or_else(PoisonError::into_inner);
    while !there() && !shared.failed.load(Ordering::Acquire) {
        // One that failed does not get further: look now and then.
        gate = match progress.moved.wait_timeout(gate, Duration::from_millis(10)) {
            Ok((gate, _)) => gate,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
    drop(gate);
    progress.waiting.fetch_sub(1, Ordering::SeqCst);
    if there() { Ok(()) } else { Err(ReplayError::OtherPartition) }
}

/// Bytes of records whose rows are asked for together: some hundred rows, which stay in the first caches until their
/// turn.
const TOGETHER_BYTES: usize = 16 << 10;

/// Asks for the rows that the next records of a value log change, before their turn comes.
///
/// Replayed one after the other, changes wait for memory one after the other. But a log says long before which rows it
/// will change. So the keys of some records take their first step together, to the bucket or the leaf, and then the
/// second, to the row, as `prefetch` has it for keys that a procedure declares; the rows of dense keys are known at
/// once. The change looks first at the row that was found here; a row that was inserted or deleted meanwhile is found,
/// or missed, by the index.
///
/// Here are the lookups that are under way, each with its table's place.
#[derive(Default)]
pub(crate) struct Lookahead<'a> {
    asked: Vec<(usize, Asked<'a>)>,
    pub(crate) found: Ahead,
}

impl<'a> Lookahead<'a> {
    /// Asks for what the first records, of about [`TOGETHER_BYTES`], change in these tables; how many they are.
    pub(crate) fn ask(
        &mut self,
        data: &Partition,
        tables: (&[usize], &[Option<RowConversion>]),
        mine: Mine<'_>,
        records: impl Iterator<Item = &'a [u8]>,
    ) -> usize {
        let (mut count, mut bytes) = (0, 0);
        self.asked.clear();
        for record in records {
            if let Some((&VALUES, operations)) = record.split_first() {
                self.begin(data, tables, mine, operations);
            }
            (count, bytes) = (count + 1, bytes + record.len());
            if bytes >= TOGETHER_BYTES {
                break;
            }
        }
        let row = |&(table, asked): &(usize, Asked<'_>)| data.tables[table].as_ref()?.ask_for_row(asked);
        self.found.clear();
        self.found.extend(self.asked.iter().map(|asked| row(asked).unwrap_or(RowId::NONE)));
        count
    }

    /// The first step for each row of a record. One that makes no sense is told of when it is done.
    fn begin(
        &mut self,
        data: &Partition,
        (tables, conversions): (&[usize], &[Option<RowConversion>]),
        mine: Mine<'_>,
        mut operations: &'a [u8],
    ) {
        while let Some((&[operation, low, high], rest)) = operations.split_first_chunk::<OPERATION_WIDTH>() {
            let number = usize::from(u16::from_le_bytes([low, high]));
            let Some(&id) = tables.get(number) else { return };
            // Rows of another version are looked up when their turn comes.
            if matches!(conversions.get(number), Some(Some(_))) {
                return;
            }
            let Some(table) = &data.tables[id] else { return };
            let Some((asked, rest)) = table.ask_for_place(operation, rest, mine) else { return };
            self.asked.extend(asked.map(|asked| (id, asked)));
            operations = rest;
        }
    }
}

#[cfg(test)]
mod tests;
