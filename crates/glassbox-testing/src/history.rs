//! Random histories: what a database is asked to do, run on an engine and on the model, answers compared one by one.

use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{Crash, Files, ManualClock, MemoryFiles};
use glassbox::procedure::{AbortReason, Procedure};
use glassbox::record::Timestamp;
use glassbox::research::ConfigHooks;
use glassbox::{Architecture, Config, Database, Error, LogKind};

use crate::ModelDatabase;
use crate::dice::Dice;
use crate::procedures::{Anytime, Before, MakeStamp, Misdeclared, Never, Undeclared, UndeclaredNever};
use crate::steps::{KEYS, Kind, RowOperation, run_all};
use crate::tables::{self, Person, TestRow, Thing};

/// How a transaction is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcedureForm {
    Anytime,
    Before,
    Never,
    Undeclared,
    UndeclaredNever,
    Misdeclared,
    AdHoc,
}

const WAYS: [ProcedureForm; 7] = [
    ProcedureForm::Anytime,
    ProcedureForm::Before,
    ProcedureForm::Never,
    ProcedureForm::Undeclared,
    ProcedureForm::UndeclaredNever,
    ProcedureForm::Misdeclared,
    ProcedureForm::AdHoc,
];

/// What a database is asked to do.
#[derive(Debug, Clone)]
pub enum Op {
    Call(ProcedureForm, Vec<RowOperation>),
    /// Submitted together, then waited for.
    Batch(Vec<Vec<RowOperation>>),
    Stamp(u32),
    /// Rows of a bulk load: key and value.
    Load(Vec<(u32, u32)>),
    Checkpoint,
    /// Closed, or only dropped by a crash or a kill, and opened with so many partitions.
    Reopen {
        end: End,
        partitions: usize,
    },
}

/// How the database ends before it is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    Killed,
    Crashed(Crash),
}

/// The outcome of one transaction.
pub type Answer = Result<Vec<u64>, AbortReason>;

const READS: [Kind; 2] = [Kind::Get, Kind::Scan];
const HARMLESS: [Kind; 6] = [Kind::Get, Kind::Plain, Kind::Plain, Kind::TryInsert, Kind::Delete, Kind::Scan];
const WRITES: [Kind; 4] = [Kind::Plain, Kind::Change, Kind::Insert, Kind::Delete];
const ALL: [Kind; 14] = [
    Kind::Get,
    Kind::Plain,
    Kind::Change,
    Kind::Change,
    Kind::Insert,
    Kind::TryInsert,
    Kind::TryInsert,
    Kind::TryInsert,
    Kind::TryInsert,
    Kind::Plain,
    Kind::Delete,
    Kind::Scan,
    Kind::Scan,
    Kind::Get,
];

fn steps(dice: &mut Dice, way: ProcedureForm) -> Vec<RowOperation> {
    let count = 1 + dice.below(6);
    let mut some = |kinds: &[Kind], count| (0..count).map(|_| RowOperation::random(dice, kinds)).collect::<Vec<_>>();
    match way {
        ProcedureForm::Never | ProcedureForm::UndeclaredNever => some(&HARMLESS, count),
        ProcedureForm::Before => {
            let mut steps = some(&READS, count / 2);
            steps.extend(some(&WRITES, 1));
            if count == 6 {
                steps.insert(1, RowOperation { kind: Kind::Abort, ..steps[0] });
            }
            steps
        }
        _ => {
            let mut steps = some(&ALL, count);
            if dice.one_in(8) {
                steps.push(RowOperation { kind: Kind::Abort, ..steps[0] });
            }
            steps
        }
    }
}

impl Op {
    /// A transaction of any kind.
    pub fn transaction(dice: &mut Dice) -> Self {
        match dice.below(20) {
            0 => Self::Batch((0..1 + dice.below(5)).map(|_| steps(dice, ProcedureForm::Anytime)).collect()),
            1 => Self::Stamp(dice.below(20) as u32),
            _ => {
                let way = WAYS[dice.below(WAYS.len() as u64) as usize];
                Self::Call(way, steps(dice, way))
            }
        }
    }

    /// A bulk load of some rows.
    pub fn load(dice: &mut Dice) -> Self {
        Self::Load((0..10 + dice.below(20)).map(|_| (dice.below(200) as u32, dice.below(1_000) as u32)).collect())
    }

    /// How many answers it gives: what is between two of them is wholly there or wholly absent.
    pub fn units(&self) -> usize {
        match self {
            Self::Call(..) | Self::Load(_) => 1,
            Self::Batch(calls) => calls.len(),
            Self::Stamp(_) | Self::Checkpoint | Self::Reopen { .. } => 0,
        }
    }

    /// What the model answers, with its state after each answer given to `after`.
    pub fn on_model(&self, model: &mut ModelDatabase, mut after: impl FnMut(&mut ModelDatabase)) -> Vec<Answer> {
        let mut answers = Vec::new();
        match self {
            Self::Call(ProcedureForm::AdHoc, steps) => answers.push(model.transaction(|tx| run_all(steps, tx))),
            Self::Call(way, steps) => answers.extend(give(*way, steps, &mut OnModel(model))),
            Self::Batch(calls) => {
                for steps in calls {
                    answers.extend(give(ProcedureForm::Anytime, steps, &mut OnModel(model)));
                    after(model);
                }
                return answers;
            }
            Self::Load(rows) => {
                let loaded = |&(k, v): &(u32, u32)| {
                    u64::from(match k % 2 {
                        0 => model.transaction(|tx| insert(tx, &Person::make(k, v))).is_ok(),
                        _ => model.transaction(|tx| insert(tx, &Thing::make(k, v))).is_ok(),
                    })
                };
                answers.push(Ok(rows.iter().map(loaded).collect()));
            }
            Self::Stamp(_) | Self::Checkpoint | Self::Reopen { .. } => return answers,
        }
        after(model);
        answers
    }

    /// What the engine answers, up to the first error that is no abort. Reopening is the caller's.
    pub fn on_engine(&self, database: &Database) -> (Vec<Answer>, Result<(), Error>) {
        let mut answers = Vec::new();
        let done = self.try_on_engine(database, &mut answers);
        (answers, done)
    }

    fn try_on_engine(&self, database: &Database, answers: &mut Vec<Answer>) -> Result<(), Error> {
        match self {
            Self::Call(ProcedureForm::AdHoc, steps) => {
                answers.push(answer(database.transaction(|tx| run_all(steps, tx)))?)
            }
            Self::Call(way, steps) => answers.push(give(*way, steps, &mut OnEngine(database))?),
            Self::Batch(calls) => {
                let calls: Vec<_> = calls.iter().map(|steps| Anytime { steps: steps.clone() }).collect();
                let tickets = calls.into_iter().map(|call| database.submit(call)).collect::<Result<Vec<_>, _>>()?;
                for ticket in tickets {
                    answers.push(answer(ticket.wait())?);
                }
            }
            Self::Stamp(id) => database.call(&MakeStamp { id: *id })?,
            Self::Load(rows) => {
                let load = database.bulk_load()?;
                let mut loaded = Vec::new();
                for &(k, v) in rows {
                    let result = match k % 2 {
                        0 => load.insert(&Person::make(k, v)),
                        _ => load.insert(&Thing::make(k, v)),
                    };
                    match result {
                        Ok(()) => loaded.push(1),
                        Err(Error::DuplicateKey(_)) => loaded.push(0),
                        Err(error) => return Err(error),
                    }
                }
                load.finish()?;
                answers.push(Ok(loaded));
            }
            Self::Checkpoint => database.checkpoint()?,
            Self::Reopen { .. } => {}
        }
        Ok(())
    }
}

fn insert<R: TestRow>(tx: &mut impl glassbox::Transaction, row: &R) -> Result<(), glassbox::Stop> {
    tx.insert(row)
}

/// An engine or the model, as it runs a procedure.
trait ProcedureRunner {
    fn call<P: Procedure<Output = Vec<u64>>>(&mut self, procedure: &P) -> Result<Answer, Error>;
}

struct OnModel<'a>(&'a mut ModelDatabase);
struct OnEngine<'a>(&'a Database);

impl ProcedureRunner for OnModel<'_> {
    fn call<P: Procedure<Output = Vec<u64>>>(&mut self, procedure: &P) -> Result<Answer, Error> {
        Ok(self.0.run(procedure, Timestamp::from_micros(0), 0))
    }
}

impl ProcedureRunner for OnEngine<'_> {
    fn call<P: Procedure<Output = Vec<u64>>>(&mut self, procedure: &P) -> Result<Answer, Error> {
        answer(self.0.call(procedure))
    }
}

fn answer(result: Result<Vec<u64>, Error>) -> Result<Answer, Error> {
    match result {
        Ok(output) => Ok(Ok(output)),
        Err(error) => error.abort_reason().map(Err),
    }
}

fn give(way: ProcedureForm, steps: &[RowOperation], caller: &mut impl ProcedureRunner) -> Result<Answer, Error> {
    let steps = steps.to_vec();
    match way {
        ProcedureForm::Anytime | ProcedureForm::AdHoc => caller.call(&Anytime { steps }),
        ProcedureForm::Before => caller.call(&Before { steps }),
        ProcedureForm::Never => caller.call(&Never { steps }),
        ProcedureForm::Undeclared => caller.call(&Undeclared { steps }),
        ProcedureForm::UndeclaredNever => caller.call(&UndeclaredNever { steps }),
        ProcedureForm::Misdeclared => caller.call(&Misdeclared { steps }),
    }
}

// Floods: transactions so large that trees get more leaves, and so many deletes that they lose them again.
//
// Histories meet the same few rows again and again, which fit on a page or two. On an engine of pages that leaves out
// what is hardest to get back: splits, pages given back, new roots. So now and then a flood of rows comes, far from
// the keys that the other steps use, and goes again; sometimes it is rolled back at its very end.

/// Keys of floods, behind those of all other steps: more than two leaves of 4 KiB take.
const FLOOD_KEYS: u64 = 300;
/// Steps of the largest flood.
const MAX_FLOOD_STEPS: u64 = 180;
/// The table of floods, the one with the widest keys; see [`RowOperation::run`].
const FLOOD_TABLE: u8 = 3;

impl Op {
    /// A flood, or its going: all steps insert, or all delete, keys that follow each other.
    pub fn flood(dice: &mut Dice) -> Self {
        let kind = if dice.one_in(2) { Kind::TryInsert } else { Kind::Delete };
        Self::flood_of(dice, kind)
    }

    /// A flood of this kind of step.
    pub fn flood_of(dice: &mut Dice, kind: Kind) -> Self {
        let (first, count) = (dice.below(FLOOD_KEYS), 20 + dice.below(MAX_FLOOD_STEPS - 20));
        let step = |dice: &mut Dice, at: u64| {
            let k = (KEYS + (first + at) % FLOOD_KEYS) as u32;
            RowOperation { kind, table: FLOOD_TABLE, k, v: dice.below(1_000) as u32 }
        };
        let mut steps: Vec<_> = (0..count).map(|at| step(dice, at)).collect();
        if dice.one_in(4) {
            steps.push(RowOperation { kind: Kind::Abort, ..steps[0] });
        }
        Self::Call(ProcedureForm::Anytime, steps)
    }
}

/// A configuration in which everything wraps soon and runs repeat.
pub fn tiny(partitions: usize, log: LogKind) -> Config {
    Config::default()
        .with_partitions(partitions)
        .with_log(log)
        .with_segment_bytes(8192)
        .with_log_buffer_bytes(32 << 10)
        .with_checkpoint_log_bytes(0)
        .with_log_threads(false)
}

/// The same for the classic engine: as few pages in memory as one session can do with, so that they come and go all the
/// time.
pub fn tiny_classic() -> Config {
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(0).with_sessions(1);
    tiny(1, LogKind::Values).with_architecture(Architecture::Classic).with_classic(classic)
}

/// What the engine is and what of it matters, for people.
pub fn in_short(config: &Config) -> String {
    let classic = &config.classic;
    match config.architecture {
        Architecture::Partitioned => format!("{} partitions, {:?}", config.partitions, config.log),
        Architecture::Classic => {
            format!("classic, {} bytes of {:?} locks in memory", classic.pool_bytes, classic.granularity)
        }
    }
}

/// Opens a database in memory files, with all tables or without the late one.
pub fn open(files: &MemoryFiles, config: Config, late: bool) -> Result<Database, Error> {
    open_on(files, Arc::new(files.clone()), config, late)
}

/// Opens a database in files that are, or lie about, these memory files.
pub fn open_on(memory: &MemoryFiles, files: Arc<dyn Files>, config: Config, late: bool) -> Result<Database, Error> {
    let clock = ManualClock::default();
    clock.advance_ns(memory.operations() * 1_000_000 + 5_000);
    Database::open_files(files, Box::new(clock), config, tables::catalog(late))
}
