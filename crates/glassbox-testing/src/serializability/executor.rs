//! Executors of a history's transactions: a database, the reference model, or a broken one for canaries.
//!
//! To check another engine, open a [`Database`] with its [`Config`]: nothing else here knows which engine it is.

use std::sync::{Arc, Mutex};

use glassbox::io::{MemoryFiles, RealClock};
use glassbox::procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::record::Timestamp;
use glassbox::{Catalog, Config, Database, Error};
use serde::{Deserialize, Serialize};

use super::history::{Outcome, Seen, Step};
use super::rows;
use crate::ModelDatabase;

/// How a transaction is given to an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// As a procedure that declares what it touches.
    Declared,
    /// As a procedure that does not.
    Undeclared,
    /// As a closure.
    Closure,
}

/// Runs transactions for several clients at once.
pub trait Executor: Sync {
    /// Runs these steps as one transaction.
    ///
    /// # Errors
    /// When the engine fails. To abort is no failure.
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String>;
}

/// Steps, declared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Work {
    /// In their order.
    pub steps: Vec<Step>,
}

/// Steps, not declared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UndeclaredWork {
    /// In their order.
    pub steps: Vec<Step>,
}

fn run_all<T: Transaction>(steps: &[Step], tx: &mut T) -> Result<Vec<Seen>, Stop> {
    steps.iter().map(|step| rows::run(step, tx)).collect()
}

impl Procedure for Work {
    const NAME: &'static str = "history_work";
    const ABORTS: Aborts = Aborts::Anytime;
    type Output = Vec<Seen>;
    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.steps.iter().for_each(|step| rows::declare(step, set));
        Declared::Complete
    }
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<Seen>, Stop> {
        run_all(&self.steps, tx)
    }
}

impl Procedure for UndeclaredWork {
    const NAME: &'static str = "history_undeclared_work";
    const ABORTS: Aborts = Aborts::Anytime;
    type Output = Vec<Seen>;
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<Seen>, Stop> {
        run_all(&self.steps, tx)
    }
}

/// The tables and procedures of the histories.
pub fn catalog() -> Catalog {
    rows::add_to(Catalog::new()).distributed_procedure::<Work>().distributed_procedure::<UndeclaredWork>()
}

/// Opens an empty database of this configuration, whose files are in memory.
///
/// # Errors
/// When the configuration cannot be.
pub fn open(config: &Config) -> Result<Database, Error> {
    Database::open_files(Arc::new(MemoryFiles::new()), Box::new(RealClock::new()), config.clone(), catalog())
}

impl Executor for Database {
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        let answer = match way {
            Submission::Declared => self.call(&Work { steps: steps.to_vec() }),
            Submission::Undeclared => self.call(&UndeclaredWork { steps: steps.to_vec() }),
            Submission::Closure => self.transaction(|tx| run_all(steps, tx)),
        };
        match answer {
            Ok(seen) => Ok(Outcome::Committed(seen)),
            Err(error) => error.abort_reason().map(|_| Outcome::Aborted).map_err(|error| error.to_string()),
        }
    }
}

/// The model behind a mutex: truly serial.
#[derive(Debug, Default)]
pub struct Serial(Mutex<ModelDatabase>);

impl Executor for Serial {
    fn execute(&self, _way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        // Asked for and not yet run: so that histories overlap, on a machine with few cores too.
        std::thread::yield_now();
        let mut model = self.0.lock().map_err(|_| "another client panicked".to_owned())?;
        let answer = model.run(&Work { steps: steps.to_vec() }, Timestamp::from_micros(0), 0);
        Ok(answer.map_or(Outcome::Aborted, Outcome::Committed))
    }
}
