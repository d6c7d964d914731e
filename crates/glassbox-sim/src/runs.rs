//! Long random histories: every answer of an engine is the model's, and so are the contents after every way to come
//! back.

use std::ops::AddAssign;

use glassbox::io::{Crash, MemoryFiles};
use glassbox::{Database, LogKind};

use crate::ModelDatabase;
use crate::check::{difference, of_engine, of_model, stamps};
use crate::dice::Dice;
use crate::history::{End, Op, open, tiny};

const ENDS: [End; 5] =
    [End::Closed, End::Killed, End::Crashed(Crash::Lost), End::Crashed(Crash::Kept), End::Crashed(Crash::Torn)];
/// Operations that are told with a failure.
const TOLD: usize = 5;

/// A history: these four decide everything in it.
#[derive(Debug, Clone, Copy)]
pub struct History {
    pub seed: u64,
    pub operations: usize,
    /// The usual number; some reopenings choose another.
    pub partitions: usize,
    /// The usual kind; some reopenings choose the other.
    pub log: LogKind,
}

/// What histories did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    pub operations: u64,
    pub transactions: u64,
    pub aborted: u64,
    pub checkpoints: u64,
    pub reopened: u64,
    /// Of those, after a crash or a kill.
    pub crashed: u64,
    /// Of those, with another number of partitions than before.
    pub repartitioned: u64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.transactions += other.transactions;
        self.aborted += other.aborted;
        self.checkpoints += other.checkpoints;
        self.reopened += other.reopened;
        self.crashed += other.crashed;
        self.repartitioned += other.repartitioned;
    }
}

/// A history that is going on.
struct Running {
    history: History,
    files: MemoryFiles,
    model: ModelDatabase,
    database: Database,
    sum: Sum,
}

impl History {
    /// Runs it.
    ///
    /// # Errors
    /// The first difference, and all that is needed to see it again.
    pub fn run(self) -> Result<Sum, String> {
        self.run_forgetting(None)
    }

    /// Runs it with an engine that is not given the operation of this number: for canaries.
    ///
    /// # Errors
    /// As for [`History::run`].
    pub fn run_forgetting(self, forgotten: Option<usize>) -> Result<Sum, String> {
        let files = MemoryFiles::new();
        let database = open(&files, tiny(self.partitions, self.log), true).map_err(|error| error.to_string())?;
        let model = ModelDatabase::new();
        let mut running = Running { history: self, files, model, database, sum: Sum::default() };
        let (mut dice, mut last) = (Dice(self.seed), Vec::new());
        for number in 0..self.operations {
            let op = self.next(&mut dice);
            let other_log = dice.one_in(4);
            let done = match op {
                Op::Reopen { end, partitions } => running.reopen(end, partitions, other_log, number),
                _ => running.operation(&op, forgotten == Some(number)),
            };
            done.map_err(|what| format!("{self:?}, operation {number}, {op:?}: {what}; before: {last:#?}"))?;
            if last.len() == TOLD {
                last.remove(0);
            }
            last.push(op);
            running.sum.operations += 1;
        }
        running.check().map_err(|what| format!("{self:?}, at its end: {what}"))?;
        Ok(running.sum)
    }

    fn next(&self, dice: &mut Dice) -> Op {
        match dice.below(150) {
            0 => Op::Checkpoint,
            1 if dice.one_in(6) => Op::load(dice),
            2 if dice.one_in(2) => Op::Reopen {
                end: ENDS[dice.below(5) as usize],
                partitions: if dice.one_in(2) { self.partitions } else { 1 + dice.below(5) as usize },
            },
            _ => Op::transaction(dice),
        }
    }
}

impl Running {
    fn operation(&mut self, op: &Op, forget: bool) -> Result<(), String> {
        let wanted = op.on_model(&mut self.model, |_| ());
        let (found, done) = if forget { (wanted.clone(), Ok(())) } else { op.on_engine(&self.database) };
        done.map_err(|error| error.to_string())?;
        self.sum.transactions += wanted.len() as u64;
        self.sum.aborted += wanted.iter().filter(|answer| answer.is_err()).count() as u64;
        self.sum.checkpoints += u64::from(matches!(op, Op::Checkpoint));
        if found == wanted { Ok(()) } else { Err(format!("the answer is {found:?}, and should be {wanted:?}")) }
    }

    fn reopen(&mut self, end: End, partitions: usize, other_log: bool, number: usize) -> Result<(), String> {
        let text = |error: glassbox::Error| error.to_string();
        let before = self.database.transaction(|tx| stamps(tx)).map_err(text)?;
        let had = self.database.partitions();
        self.files = match end {
            End::Closed => {
                let none =
                    Database::in_memory(tiny(1, self.history.log), crate::tables::catalog(true)).map_err(text)?;
                std::mem::replace(&mut self.database, none).close().map_err(text)?;
                self.files.after_kill()
            }
            End::Killed => self.files.after_kill(),
            End::Crashed(mode) => self.files.after_crash(mode, number as u64),
        };
        let log = match (self.history.log, other_log) {
            (log, false) => log,
            (LogKind::Values, true) => LogKind::Commands,
            (LogKind::Commands, true) => LogKind::Values,
        };
        self.sum.reopened += 1;
        self.sum.crashed += u64::from(end != End::Closed);
        self.sum.repartitioned += u64::from(partitions != had);
        self.database = open(&self.files, tiny(partitions, log), true).map_err(text)?;
        self.check()?;
        let after = self.database.transaction(|tx| stamps(tx)).map_err(text)?;
        difference(&after, &before).map_or(Ok(()), Err)
    }

    /// Indexes agree with tables, and the contents are the model's.
    fn check(&mut self) -> Result<(), String> {
        let found = of_engine(&self.database).map_err(|error| error.to_string())?;
        let wrong = difference(&found, &of_model(&mut self.model));
        wrong.into_iter().chain(self.database.verify()).next().map_or(Ok(()), Err)
    }
}
