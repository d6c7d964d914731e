//! Scripts that crash: a fixed list of operations is stopped at one operation of the files, and what is found must be
//! a state that the answers allow.
//!
//! The script runs in one thread on files that count, so operation *n* is the same one in every run. Whatever had been
//! answered must be there; of what had been begun, each transaction is there wholly or not at all, and none before one
//! that is missing. So the state found must be the model's after some number of transactions, at least as many as were
//! answered and at most as many as were begun.

use std::sync::Arc;

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Architecture, Config, Durability, Error};

use crate::ModelDatabase;
use crate::check::{Contents, difference, of_engine, of_model};
use crate::dice::Dice;
use crate::history::{End, Op, open, open_on};
use crate::lying::{Lie, LyingFiles};
use crate::steps::Kind;

pub const CRASHES: [Crash; 3] = [Crash::Lost, Crash::Kept, Crash::Torn];

/// What a script is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Opening: making the files, or recovering and preparing to go on.
    Opening,
    Transaction,
    Load,
    Checkpoint,
    Closing,
}

pub struct Script {
    pub ops: Vec<Op>,
    /// The model's contents after each number of transactions.
    pub states: Vec<Contents>,
    pub config: Config,
    /// What the files lie about while it runs: for canaries.
    pub lie: Option<Lie>,
}

/// How far a script came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Played {
    pub answered: usize,
    pub begun: usize,
    /// Whether the late table was in the catalog of its last opening.
    pub late: bool,
}

/// The run of a process on the files of a killed one.
pub struct SecondProcess {
    /// The model's contents that may be found after a crash, when nothing was answered; each further answer forbids the
    /// first of them.
    allowed: Vec<Contents>,
    answered: usize,
}

const SECOND_PROCESS_OPS: usize = 5;
const SECOND_PROCESS_SEED: u64 = 29;

impl Script {
    /// Transactions with checkpoints, reopenings and a bulk load between them (before them, if the engine wants it so);
    /// the late table comes with the second reopening.
    pub fn new(seed: u64, config: Config) -> Self {
        let mut dice = Dice(seed);
        let mut ops = Vec::new();
        let is_classic = config.architecture == Architecture::Classic;
        if is_classic {
            ops.push(Op::load(&mut dice));
        }
        let partitions = config.partitions;
        for chapter in 0..6 {
            ops.extend((0..14).map(|_| Op::transaction(&mut dice)));
            match chapter {
                1 if !is_classic => ops.push(Op::load(&mut dice)),
                2 | 4 => ops.push(Op::Reopen { end: End::Closed, partitions }),
                _ => ops.push(Op::Checkpoint),
            }
            if is_classic {
                // Comes, goes in part, comes again.
                let kind = if chapter % 3 == 1 { Kind::Delete } else { Kind::TryInsert };
                ops.push(Op::flood_of(&mut dice, kind));
            }
            ops.extend((0..6).map(|_| Op::transaction(&mut dice)));
        }
        let mut model = ModelDatabase::new();
        let mut states = vec![of_model(&mut model)];
        for op in &ops {
            op.on_model(&mut model, |model| states.push(of_model(model)));
        }
        Self { ops, states, config, lie: None }
    }

    /// Runs until the end, or until the files fail.
    ///
    /// # Errors
    /// When something fails although the files did not.
    pub fn play(&self, files: &MemoryFiles) -> Result<Played, String> {
        let mut played = Played::default();
        match self.try_play(files, &mut played, &mut |_| (), &mut None) {
            Err(error) if !files.is_stopped() => Err(format!("{error} after {played:?}, without a fault")),
            _ => Ok(played),
        }
    }

    /// Runs on files that fail but do not stop, to the end or to the first error that is not a checkpoint's: after that
    /// a database goes on. All errors.
    pub fn play_in_trouble(&self, files: &MemoryFiles) -> (Played, Vec<Error>) {
        let (mut played, mut troubles) = (Played::default(), Some(Vec::new()));
        let done = self.try_play(files, &mut played, &mut |_| (), &mut troubles);
        (played, troubles.into_iter().flatten().chain(done.err()).collect())
    }

    /// What the script was doing at each operation of the files, when nothing stops it.
    ///
    /// # Panics
    /// When something fails.
    pub fn phases(&self) -> Vec<Phase> {
        let files = MemoryFiles::new();
        let (mut phases, mut now) = (Vec::new(), Phase::Opening);
        let mut note = |next| {
            phases.resize(files.operations() as usize, now);
            now = next;
        };
        self.try_play(&files, &mut Played::default(), &mut note, &mut None).expect("there are no faults");
        note(Phase::Closing);
        phases
    }

    fn try_play(
        &self,
        files: &MemoryFiles,
        played: &mut Played,
        begin: &mut impl FnMut(Phase),
        troubles: &mut Option<Vec<Error>>,
    ) -> Result<(), Error> {
        let mut reopened = 0;
        begin(Phase::Opening);
        let open = |late| match self.lie {
            None => open(files, self.config.clone(), late),
            Some(lie) => open_on(files, Arc::new(LyingFiles(files.clone(), lie)), self.config.clone(), late),
        };
        let mut database = open(false)?;
        for op in &self.ops {
            begin(match op {
                Op::Load(_) => Phase::Load,
                Op::Checkpoint => Phase::Checkpoint,
                Op::Reopen { .. } => Phase::Closing,
                _ => Phase::Transaction,
            });
            if let Op::Reopen { .. } = op {
                reopened += 1;
                database.close()?;
                begin(Phase::Opening);
                played.late = reopened > 1;
                database = open(played.late)?;
            }
            played.begun += op.units();
            let (answers, done) = op.on_engine(&database);
            played.answered += answers.len();
            match (done, op, &mut *troubles) {
                (Err(error), Op::Checkpoint, Some(troubles)) => troubles.push(error),
                (done, ..) => done?,
            }
        }
        begin(Phase::Closing);
        database.close()
    }

    /// Opens what was found and compares.
    ///
    /// # Errors
    /// A description of the violation.
    pub fn check(&self, files: &MemoryFiles, played: Played) -> Result<(), String> {
        let database = open(files, self.config.clone(), true).map_err(|error| format!("opening: {error}"))?;
        let wrong = database.verify();
        if !wrong.is_empty() {
            return Err(format!("verify: {wrong:?}"));
        }
        let found = of_engine(&database).map_err(|error| format!("reading: {error}"))?;
        // Transactions answered before they are durable may be lost, in order.
        let least = if self.config.durability == Durability::Sync { played.answered } else { 0 };
        let allowed = &self.states[least..=played.begun];
        if allowed.contains(&found) {
            return Ok(());
        }
        let what = difference(&found, &allowed[0]).unwrap_or_default();
        let of = self.states.iter().position(|state| *state == found);
        Err(format!("{played:?}: the state found is that after {of:?} transactions; {what}"))
    }

    /// Goes on working on what was found, with other transactions and a checkpoint, and crashes once more.
    ///
    /// # Errors
    /// A description of the violation.
    pub fn go_on(&self, files: &MemoryFiles, seed: u64) -> Result<(), String> {
        let error = |error: Error| format!("going on: {error}");
        let database = open(files, self.config.clone(), true).map_err(error)?;
        let found = of_engine(&database).map_err(error)?;
        let units = self.states.iter().position(|state| *state == found).ok_or("going on: the state is none")?;
        let mut model = self.model_after(units);
        let mut dice = Dice(seed);
        for number in 0..8 {
            let op = if number == 4 { Op::Checkpoint } else { Op::transaction(&mut dice) };
            let wanted = op.on_model(&mut model, |_| ());
            let (answers, done) = op.on_engine(&database);
            done.map_err(error)?;
            if answers != wanted {
                return Err(format!("going on: {op:?} answers {answers:?}, and should {wanted:?}"));
            }
        }
        let again = files.after_crash(CRASHES[seed as usize % 3], seed);
        let database = open(&again, self.config.clone(), true).map_err(error)?;
        let found = of_engine(&database).map_err(error)?;
        let wrong = difference(&found, &of_model(&mut model)).into_iter().chain(database.verify()).next();
        wrong.map_or(Ok(()), |what| Err(format!("after going on and a crash: {what}")))
    }

    fn model_after(&self, mut units: usize) -> ModelDatabase {
        let mut model = ModelDatabase::new();
        for op in &self.ops {
            match op {
                Op::Batch(calls) if calls.len() > units => {
                    Op::Batch(calls[..units].to_vec()).on_model(&mut model, |_| ());
                    return model;
                }
                _ if op.units() > units => return model,
                _ => drop(op.on_model(&mut model, |_| ())),
            }
            units -= op.units();
        }
        model
    }

    /// Stops at the operation of this number, crashes in this mode, checks; gives the image that was found.
    ///
    /// # Errors
    /// A description of the violation.
    pub fn crash_at(&self, stop: u64, mode: Crash) -> Result<(MemoryFiles, Played), String> {
        let files = MemoryFiles::new();
        files.set_faults(Faults { stop_at: Some(stop), ..Faults::default() });
        let played = self.play(&files)?;
        let found = files.after_crash(mode, stop);
        self.check(&found.after_kill(), played)?;
        Ok((found, played))
    }

    /// The process is killed at the operation of this number; the files as a second process finds them.
    ///
    /// # Errors
    /// When something fails although the files did not.
    pub fn kill_at(&self, stop: u64) -> Result<(MemoryFiles, Played), String> {
        let files = MemoryFiles::new();
        files.set_faults(Faults { stop_at: Some(stop), ..Faults::default() });
        let played = self.play(&files)?;
        Ok((files.after_kill(), played))
    }

    /// A second process opens the files of a killed one and writes, until `files` stop; `lie` is about its own forces.
    ///
    /// # Errors
    /// When something fails although the files did not stop, or an answer is not the model's.
    pub fn second_process(
        &self,
        files: &MemoryFiles,
        killed: Played,
        lie: Option<Lie>,
    ) -> Result<SecondProcess, String> {
        let mut second = SecondProcess { allowed: self.states[killed.answered..=killed.begun].to_vec(), answered: 0 };
        match self.try_second_process(files, killed, lie, &mut second) {
            Err(what) if !files.is_stopped() => Err(format!("second process: {what}")),
            _ => Ok(second),
        }
    }

    fn try_second_process(
        &self,
        files: &MemoryFiles,
        killed: Played,
        lie: Option<Lie>,
        second: &mut SecondProcess,
    ) -> Result<(), String> {
        let error = |error: Error| error.to_string();
        let database = match lie {
            None => open(files, self.config.clone(), killed.late),
            Some(lie) => open_on(files, Arc::new(LyingFiles(files.clone(), lie)), self.config.clone(), killed.late),
        };
        let database = database.map_err(error)?;
        let found = of_engine(&database).map_err(error)?;
        let extra = second.allowed.iter().position(|state| *state == found);
        let mut model = self.model_after(killed.answered + extra.ok_or("the state found is not allowed")?);
        // A reader of this process may have acted on these rows.
        second.allowed = vec![found];
        let mut dice = Dice(SECOND_PROCESS_SEED);
        for number in 0..SECOND_PROCESS_OPS {
            let op = if number == 2 { Op::Checkpoint } else { Op::transaction(&mut dice) };
            let wanted = op.on_model(&mut model, |model| second.allowed.push(of_model(model)));
            let (answers, done) = op.on_engine(&database);
            second.answered += answers.len();
            done.map_err(error)?;
            if answers != wanted {
                return Err(format!("{op:?} answers {answers:?}, and should {wanted:?}"));
            }
        }
        Ok(())
    }

    /// Number of operations of a second process that nothing stops.
    ///
    /// # Errors
    /// When something fails.
    pub fn second_process_operations(&self, killed: &(MemoryFiles, Played)) -> Result<u64, String> {
        let files = killed.0.after_kill();
        self.second_process(&files, killed.1, None)?;
        Ok(files.operations())
    }

    /// Stops a second process at the operation of this number, crashes in this mode, and checks.
    ///
    /// # Errors
    /// A description of the violation.
    pub fn crash_second_process(
        &self,
        killed: &(MemoryFiles, Played),
        stop: u64,
        mode: Crash,
        lie: Option<Lie>,
    ) -> Result<(), String> {
        let files = killed.0.after_kill();
        files.set_faults(Faults { stop_at: Some(stop), ..Faults::default() });
        let second = self.second_process(&files, killed.1, lie)?;
        let database = open(&files.after_crash(mode, stop), self.config.clone(), true);
        let database = database.map_err(|error| format!("opening after both: {error}"))?;
        let wrong = database.verify();
        if !wrong.is_empty() {
            return Err(format!("verify after both: {wrong:?}"));
        }
        let found = of_engine(&database).map_err(|error| format!("reading after both: {error}"))?;
        let allowed = &second.allowed[second.answered..];
        if allowed.contains(&found) {
            return Ok(());
        }
        let what = difference(&found, &allowed[0]).unwrap_or_default();
        Err(format!("the state found after both is not allowed: {what}"))
    }

    /// Stops the recovery of an image at each `stride`th operation, then the recovery of what that leaves at some of
    /// its operations, and so on; number of points.
    ///
    /// # Errors
    /// A description of the violation, and where it is.
    pub fn crash_recovery(&self, found: &MemoryFiles, played: Played, stride: u64) -> Result<u64, String> {
        let mut points = 0;
        let mut stop = 0;
        loop {
            let mut image = found.after_kill();
            let (mut at, mut crashed) = (stop, false);
            for depth in 0..3 {
                image.set_faults(Faults { stop_at: Some(at), ..Faults::default() });
                let opened = open(&image, self.config.clone(), true);
                if !image.is_stopped() {
                    opened.map_err(|error| format!("recovery: {error}"))?;
                    break;
                }
                drop(opened);
                crashed = true;
                image = image.after_crash(CRASHES[(stop as usize + depth) % 3], stop);
                points += 1;
                at /= 2;
            }
            if !crashed {
                return Ok(points);
            }
            self.check(&image.after_kill(), played).map_err(|what| format!("recovery stopped at {stop}: {what}"))?;
            stop += stride;
        }
    }
}
