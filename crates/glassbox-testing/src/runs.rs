//! Long random histories: every answer of an engine is the model's, and so are the contents after every way to come
//! back.

use std::ops::AddAssign;

use glassbox::config::Granularity;
use glassbox::io::{Crash, MemoryFiles};
use glassbox::{Architecture, Config, Database, Error, LogKind};

use crate::ModelDatabase;
use crate::check::{Contents, difference, of_engine, of_model, stamps};
use crate::dice::Dice;
use crate::history::{End, Op, open, tiny};

const ENDS: [End; 5] =
    [End::Closed, End::Killed, End::Crashed(Crash::Lost), End::Crashed(Crash::Kept), End::Crashed(Crash::Torn)];
/// Operations that are told with a failure.
const TOLD: usize = 5;

/// A history: these three decide everything in it.
#[derive(Debug, Clone)]
pub struct RandomHistory {
    pub seed: u64,
    pub operations: usize,
    /// The usual one; some reopenings choose otherwise what may be chosen again.
    pub config: Config,
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
    history: RandomHistory,
    files: MemoryFiles,
    model: ModelDatabase,
    database: Database,
    sum: Sum,
}

impl RandomHistory {
    /// Runs it.
    ///
    /// # Errors
    /// The first difference, and all that is needed to see it again.
    pub fn run(&self) -> Result<Sum, String> {
        self.run_forgetting(None)
    }

    /// Runs it with an engine that is not given the operation of this number: for canaries.
    ///
    /// # Errors
    /// As for [`RandomHistory::run`].
    pub fn run_forgetting(&self, forgotten: Option<usize>) -> Result<Sum, String> {
        let files = MemoryFiles::new();
        let database = open(&files, self.config.clone(), true).map_err(|error| error.to_string())?;
        let model = ModelDatabase::new();
        let mut running = Running { history: self.clone(), files, model, database, sum: Sum::default() };
        let (mut dice, mut last) = (Dice(self.seed), Vec::new());
        for number in 0..self.operations {
            let op = self.next(number, &mut dice);
            let otherwise = dice.one_in(4);
            let done = match op {
                Op::Reopen { end, partitions } => running.reopen(end, self.again(partitions, otherwise), number),
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

    fn is_classic(&self) -> bool {
        self.config.architecture == Architecture::Classic
    }

    /// A configuration for the same database: the usual one, or another that its engine takes.
    fn again(&self, partitions: usize, otherwise: bool) -> Config {
        let mut config = self.config.clone();
        if !self.is_classic() {
            config.partitions = partitions;
        }
        if otherwise && !self.is_classic() {
            config.log = match config.log {
                LogKind::Values => LogKind::Commands,
                LogKind::Commands => LogKind::Values,
            };
        }
        if otherwise {
            config.classic.granularity = match config.classic.granularity {
                Granularity::Record => Granularity::Page,
                Granularity::Page | Granularity::PageAndLeaf => Granularity::Record,
            };
            config.classic.pool_bytes = if config.classic.pool_bytes == 0 { 1 << 20 } else { 0 };
        }
        config
    }

    fn next(&self, number: usize, dice: &mut Dice) -> Op {
        // Where a load is for an empty database alone, most later ones are refused.
        if number == 0 && self.is_classic() && dice.one_in(2) {
            return Op::load(dice);
        }
        if self.is_classic() && dice.one_in(60) {
            return Op::flood(dice);
        }
        match dice.below(150) {
            0 => Op::Checkpoint,
            1 if dice.one_in(6) => Op::load(dice),
            2 if dice.one_in(2) => Op::Reopen {
                end: ENDS[dice.below(5) as usize],
                partitions: if dice.one_in(2) { self.config.partitions } else { 1 + dice.below(5) as usize },
            },
            _ => Op::transaction(dice),
        }
    }
}

impl Running {
    fn operation(&mut self, op: &Op, forget: bool) -> Result<(), String> {
        if self.refuses(op)? {
            return Ok(());
        }
        let wanted = op.on_model(&mut self.model, |_| ());
        let (found, done) = if forget { (wanted.clone(), Ok(())) } else { op.on_engine(&self.database) };
        done.map_err(|error| error.to_string())?;
        self.sum.transactions += wanted.len() as u64;
        self.sum.aborted += wanted.iter().filter(|answer| answer.is_err()).count() as u64;
        self.sum.checkpoints += u64::from(matches!(op, Op::Checkpoint));
        if found == wanted { Ok(()) } else { Err(format!("the answer is {found:?}, and should be {wanted:?}")) }
    }

    /// A load that has no empty database is refused.
    fn refuses(&mut self, op: &Op) -> Result<bool, String> {
        let text = |error: Error| error.to_string();
        if !self.history.is_classic() || !matches!(op, Op::Load(_)) {
            return Ok(false);
        }
        let stamped = self.database.transaction(|tx| stamps(tx)).map_err(text)?;
        let has_rows = |contents: &Contents| contents.values().any(|rows| !rows.is_empty());
        if !has_rows(&stamped) && !has_rows(&of_model(&mut self.model)) {
            return Ok(false);
        }
        match op.on_engine(&self.database).1 {
            Err(Error::Config(text)) if text.contains("fills an empty database") => Ok(true),
            other => Err(format!("a load into a database with rows came to {other:?}")),
        }
    }

    fn reopen(&mut self, end: End, config: Config, number: usize) -> Result<(), String> {
        let text = |error: glassbox::Error| error.to_string();
        let before = self.database.transaction(|tx| stamps(tx)).map_err(text)?;
        let had = self.database.partitions();
        self.files = match end {
            End::Closed => {
                let none = tiny(1, LogKind::Values);
                let none = Database::in_memory(none, crate::tables::catalog(true)).map_err(text)?;
                std::mem::replace(&mut self.database, none).close().map_err(text)?;
                self.files.after_kill()
            }
            End::Killed => self.files.after_kill(),
            End::Crashed(mode) => self.files.after_crash(mode, number as u64),
        };
        self.sum.reopened += 1;
        self.sum.crashed += u64::from(end != End::Closed);
        self.database = open(&self.files, config, true).map_err(text)?;
        self.sum.repartitioned += u64::from(self.database.partitions() != had);
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
