//! A shard: the rows of one partition, and what is done with them.

use std::any::TypeId;

use super::super::held::{Cell, Hold};
use super::super::procedure_kind::ProcedureKind;
use super::super::transaction::undo::UndoBuffer;
use super::super::transaction::watch::{Touch, Unwatched, Watch, WatchedKey, space};
use super::call::{Call, Ran, Stamp, Task};
use super::declared_keys::DeclaredKeys;
use crate::partitioned::recovery::whole::new_cells;
use crate::partitioned::storage::any_table::TableKind;

use super::kind::{ShardRun, Typed};
use super::remote::Participation;
use super::remote_read::{Lookup, RemoteRead, RemoteReadResult};
use super::route::Route;
use crate::config::Config;
use crate::error::Error;
use crate::failure::{Failure, note_places_of_panics};
use crate::procedure::{Aborts, PartitionSet, Procedure, partition_of};
use crate::record::{Key, Record};

/// What a declaration gives; it is a program's code, with arguments that may come from anywhere.
fn unless_panicked<T>(declare: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let declared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(declare));
    declared.unwrap_or_else(|_| Err("the procedure's declaration panicked".to_owned()))
}

/// The old rows of a run, so that it can be rolled back for as long as its end is not decided.
#[derive(Debug, Default)]
pub struct Kept(UndoBuffer);

/// One partition of a database, by itself.
pub struct Shard {
    cells: [Cell; 1],
    tables: Vec<TableKind>,
    procedures: Vec<ProcedureKind>,
    index: u8,
    count: u8,
    /// Undo buffers that are not in use.
    spare: Vec<UndoBuffer>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("index", &self.index).field("count", &self.count).finish_non_exhaustive()
    }
}

impl Shard {
    /// Partition `index` of `count`, empty; each table and index may take `table_bytes`.
    pub(crate) fn of_kinds(
        tables: Vec<TableKind>,
        procedures: Vec<ProcedureKind>,
        (index, count): (usize, usize),
        table_bytes: usize,
    ) -> Result<Self, Error> {
        if !(1..=64).contains(&count) || index >= count {
            return Err(Error::Config(format!("there is no partition {index} of {count}: there are 1 to 64")));
        }
        procedures.iter().try_for_each(|procedure| procedure.on_shards().map(drop)).map_err(Error::Catalog)?;
        note_places_of_panics();
        let numbers: Vec<_> = (0..tables.len() as u16).collect();
        let config = Config { partitions: 1, table_bytes, ..Config::default() };
        let cells = new_cells(&tables, &numbers, &config)?.into_vec().try_into();
        let cells: [Cell; 1] = cells.unwrap_or_else(|_| unreachable!("one partition was asked for"));
        Ok(Self { cells, tables, procedures, index: index as u8, count: count as u8, spare: Vec::new() })
    }

    /// Which partition this is.
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    fn procedure(&self, call: &Call) -> Result<&ProcedureKind, String> {
        let known = self.procedures.get(usize::from(call.procedure));
        known.ok_or_else(|| format!("there is no procedure with the number {}", call.procedure))
    }

    /// The keys of this partition that a call declares.
    ///
    /// # Errors
    /// When there is no such procedure, or its arguments cannot be read.
    pub fn declared(&self, call: &Call) -> Result<DeclaredKeys, String> {
        let numbers = |record| self.tables.iter().position(|kind| kind.id == record).map(|number| number as u16);
        let keys = self.procedure(call)?.on_shards()?.keys;
        unless_panicked(|| keys(&call.arguments, (self.index, self.count), &numbers))
    }

    /// All keys of this partition.
    pub fn all_keys(&self) -> DeclaredKeys {
        let spaces = |(number, kind): (u16, &TableKind)| {
            let indexes = (0..kind.schema.indexes.len()).map(Some);
            std::iter::once(None).chain(indexes).map(move |index| space(number, index))
        };
        DeclaredKeys::whole((0..).zip(&self.tables).flat_map(spaces))
    }

    /// Where a call goes.
    ///
    /// # Errors
    /// As for [`Shard::declared`].
    pub fn route(&self, call: &Call) -> Result<Route, String> {
        let numbers = |record| self.tables.iter().position(|kind| kind.id == record).map(|number| number as u16);
        let route = self.procedure(call)?.on_shards()?.route;
        unless_panicked(|| route(&call.arguments, self.count.into(), &numbers))
    }

    /// The name of a call's procedure.
    ///
    /// # Errors
    /// When there is no such procedure.
    pub fn procedure_name(&self, call: &Call) -> Result<&'static str, String> {
        Ok(self.procedure(call)?.name)
    }

    /// The version of a call's procedure here.
    ///
    /// # Errors
    /// When there is no such procedure.
    pub fn version(&self, call: &Call) -> Result<u32, String> {
        Ok(self.procedure(call)?.version)
    }

    /// When a call may abort.
    ///
    /// # Errors
    /// When there is no such procedure.
    pub fn aborts(&self, call: &Call) -> Result<Aborts, String> {
        Ok(self.procedure(call)?.on_shards()?.aborts)
    }

    /// Runs a call. With `kept`, what it overwrites goes there, and [`Shard::commit`] or [`Shard::undo`] has to follow
    /// when it is done; without, it is committed when it is done.
    pub fn run(&mut self, call: &Call, task: Task<'_>, kept: Option<&mut Kept>, watch: Option<&mut dyn Watch>) -> Ran {
        let place = Participation { index: self.index, count: self.count, participants: task.participants };
        let run = match self.procedure(call).and_then(ProcedureKind::on_shards) {
            Ok(procedure) => procedure.run,
            Err(unknown) => return Ran::Failed(Failure::protocol(unknown)),
        };
        let keep = kept.is_some();
        if keep {
            let spare = self.spare.pop().unwrap_or_default();
            self.undo_buffer().take(spare);
        }
        let hold = Hold::borrowed(&mut self.cells);
        let ran = run(ShardRun { hold, call, place, given: task.given, keep, watch });
        if let Some(kept) = kept {
            kept.0 = self.undo_buffer().take(UndoBuffer::default());
            if !matches!(ran, Ran::Done(_)) {
                self.spare.push(std::mem::take(&mut kept.0));
            }
        }
        ran
    }

    /// Runs a procedure that is here, on this partition alone, and commits it when it is done, its output in `output`.
    /// `None`: that is not what the number stands for.
    ///
    /// # Errors
    /// What it came to otherwise; no [`Ran::Done`].
    #[inline]
    pub fn run_here<P: Procedure>(
        &mut self,
        procedure: &P,
        stamp: Stamp,
        output: &mut Option<P::Output>,
    ) -> Option<Result<(), Box<Ran>>> {
        let known = self.procedures.get(usize::from(stamp.procedure))?;
        if known.id != TypeId::of::<P>() {
            return None;
        }
        let place =
            Participation { index: self.index, count: self.count, participants: PartitionSet::of(self.index.into()) };
        let hold = Hold::borrowed(&mut self.cells);
        let typed = Typed { procedure, stamp, hold, place, given: &[], keep: false };
        Some(typed.run(Unwatched, output).map_err(Box::new))
    }

    fn undo_buffer(&mut self) -> &mut UndoBuffer {
        &mut self.cells[0].scratch_mut().undo
    }

    /// One number for the changes of a run that is not ended: equal for runs that change the same rows alike.
    pub fn digest_of(&self, kept: &Kept) -> u64 {
        kept.0.digest()
    }

    /// Ends a run for good.
    pub fn commit(&mut self, mut kept: Kept) {
        kept.0.finish();
        self.spare.push(kept.0);
    }

    /// Rolls a run back. Runs that read or overwrote its changes must have been rolled back before.
    pub fn undo(&mut self, mut kept: Kept) {
        kept.0.undo();
        self.spare.push(kept.0);
    }

    /// Finds rows for a run elsewhere; `None`: the watch refused.
    ///
    /// # Errors
    /// When there is no such table or index, or the keys are none of it.
    pub fn find(
        &mut self,
        wanted: &RemoteRead,
        mut watch: Option<&mut dyn Watch>,
    ) -> Result<Option<RemoteReadResult>, String> {
        let number = usize::from(wanted.table);
        let kind = self.tables.get(number).ok_or_else(|| format!("there is no table with the number {number}"))?;
        let table = self.cells[0].get_mut().tables[kind.id].as_ref().expect("made with the shard");
        if let Some(watch) = &mut watch {
            let touch = if wanted.writes { Touch::Write } else { Touch::Read };
            let allowed = match &wanted.lookup {
                Lookup::Key(key) => watch.point(space(wanted.table, None), WatchedKey::of(key), touch),
                Lookup::Range { index, low, high } => {
                    let space = space(wanted.table, index.map(usize::from));
                    watch.range(space, WatchedKey::of(low), WatchedKey::of(high))
                }
            };
            if !allowed {
                return Ok(None);
            }
        }
        let mut rows = Vec::new();
        let known = table.find_stored(&wanted.lookup, &mut rows);
        if !known {
            return Err(format!("table `{}` has no such key or index", kind.schema.name));
        }
        if let (Lookup::Range { index: Some(_), .. }, Some(watch)) = (&wanted.lookup, &mut watch) {
            // A change of such a row may leave its keys of the index as they are.
            let primary = space(wanted.table, None);
            if !table.allows_keys(&rows, &mut |key| watch.point(primary, WatchedKey::of(key), Touch::Read)) {
                return Ok(None);
            }
        }
        Ok(Some(RemoteReadResult { partition: self.index, table: wanted.table, lookup: wanted.lookup.clone(), rows }))
    }

    /// Adds a row that is this partition's, or of a replicated table; others are passed over. For loading.
    ///
    /// # Errors
    /// When its key is there already, or there is no memory for it.
    pub fn load<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        let partition = |position| partition_of(row.key().placement_at(position), u64::from(self.count)) as u8;
        if R::PLACEMENT.is_some_and(|position| partition(position) != self.index) {
            return Ok(());
        }
        let table = self.cells[0].get_mut().table::<R>();
        table.insert(row).map(drop).map_err(|refused| table.refusal(refused, row, None).into())
    }

    /// Rows of the table with this number in the catalog, in their stored form, after passing over `from` of them, of
    /// about so many bytes at most: whether the table is replicated, the rows, and how many to pass over for the next.
    /// `None`: there is no such table.
    pub fn stored(&mut self, table: u16, from: u64, most_bytes: usize) -> Option<(bool, Vec<u8>, Option<u64>)> {
        let kind = self.tables.get(usize::from(table))?;
        let table = self.cells[0].get_mut().tables[kind.id].as_ref().expect("made with the shard");
        let most = (most_bytes / kind.schema.row_width.max(1)).max(1);
        let mut rows = Vec::new();
        let found = table.stored(usize::try_from(from).unwrap_or(usize::MAX), most, &mut rows);
        Some((table.is_replicated(), rows, (found == most).then(|| from + found as u64)))
    }

    /// Adds rows as [`Shard::stored`] gives them, those that are this partition's.
    ///
    /// # Errors
    /// When they are none of this table, or are there already.
    pub fn load_stored(&mut self, table: u16, rows: &[u8]) -> Result<(), String> {
        let kind = self.tables.get(usize::from(table)).ok_or_else(|| format!("there is no table {table}"))?;
        let table = self.cells[0].get_mut().tables[kind.id].as_mut().expect("made with the shard");
        let (index, count) = (u64::from(self.index), u64::from(self.count));
        let mine = |placement: Option<u64>| placement.is_none_or(|it| partition_of(it, count) == index);
        table.load(rows, &mine).map(drop).map_err(|bad| format!("table `{}`: {bad:?}", kind.schema.name))
    }

    /// The row with this key, if it is here.
    pub fn row<R: Record>(&mut self, key: &R::Key) -> Option<R> {
        let table = self.cells[0].get_mut().table::<R>();
        table.find(key.encode()).map(|id| *table.rows.get(id))
    }

    /// Visits all rows of a table that are here, in no order.
    pub fn rows<R: Record>(&mut self, mut visit: impl FnMut(&R)) {
        self.cells[0].get_mut().table::<R>().rows.iter().for_each(|(_, row)| visit(row));
    }

    /// Gives all rows in their stored form, with the number of their table, about so many bytes at a time. Nothing may
    /// be kept to be undone meanwhile.
    pub fn copy(&mut self, most_bytes: usize, mut each: impl FnMut(u16, Vec<u8>)) {
        let tables = &self.cells[0].get_mut().tables;
        for (number, kind) in (0..).zip(&self.tables) {
            let table = tables[kind.id].as_ref().expect("made with the shard");
            table.store_all(most_bytes, &mut |rows| each(number, rows));
        }
    }

    /// Fixes the rows as they are now, for [`Shard::fixed`] to give; what was fixed before is given up. Nothing may be
    /// kept to be undone. From here on rows that change are copied first, once, until all were given.
    pub fn fix(&mut self) {
        let tables = &mut self.cells[0].get_mut().tables;
        for kind in &self.tables {
            tables[kind.id].as_mut().expect("made with the shard").begin_snapshot();
        }
    }

    /// Adds rows that were fixed and not given yet to `out`, in their stored form and about so many bytes of them:
    /// their table's number, and the width of each. `None`: all were given.
    pub fn fixed(&mut self, most_bytes: usize, out: &mut Vec<u8>) -> Option<(u16, usize)> {
        let (tables, began) = (&mut self.cells[0].get_mut().tables, out.len());
        for (number, kind) in (0..).zip(&self.tables) {
            let table = tables[kind.id].as_mut().expect("made with the shard");
            while !table.snapshot_slice(most_bytes, out) && out.len() == began {}
            if out.len() > began {
                return Some((number, kind.schema.row_width));
            }
        }
        None
    }

    /// Gives up what was fixed.
    pub fn unfix(&mut self) {
        let tables = &mut self.cells[0].get_mut().tables;
        for kind in &self.tables {
            tables[kind.id].as_mut().expect("made with the shard").end_snapshot();
        }
    }

    /// One number for all rows: equal for copies, whatever way they came to be.
    pub fn digest(&mut self) -> u64 {
        let tables = &self.cells[0].get_mut().tables;
        let digests = self.tables.iter().map(|kind| tables[kind.id].as_ref().map_or(0, |table| table.digest()));
        digests.fold(0, |all, digest| crate::record::mix(all ^ digest))
    }

    /// Whether all indexes agree with the rows.
    ///
    /// # Errors
    /// What is wrong.
    pub fn verify(&mut self) -> Result<(), String> {
        let tables = &self.cells[0].get_mut().tables;
        self.tables.iter().try_for_each(|kind| tables[kind.id].as_ref().map_or(Ok(()), |table| table.verify()))
    }
}
