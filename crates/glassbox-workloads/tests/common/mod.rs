//! The model database with a small population, and inputs run on it.

#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Mutex;

use glassbox::procedure::{AbortReason, Procedure, Stop, Transaction};
use glassbox::record::{Record, Timestamp};
use glassbox_testing::ModelDatabase;
use glassbox_workloads::tpcc::{Call, Input, Kind, Scale, Sink, conditions, load};

/// Fills the model.
pub struct ModelSink<'a>(pub &'a Mutex<ModelDatabase>);

impl Sink for ModelSink<'_> {
    type Error = AbortReason;
    fn row<R: Record>(&mut self, row: &R) -> Result<(), AbortReason> {
        self.0.lock().unwrap().transaction(|tx| tx.insert(row))
    }
}

pub fn loaded(scale: &Scale, seed: u64, threads: usize) -> ModelDatabase {
    let database = Mutex::new(ModelDatabase::new());
    load(scale, seed, threads, || ModelSink(&database)).unwrap();
    database.into_inner().unwrap()
}

/// Runs inputs on the model and counts what became of them.
pub struct Runner<'a> {
    pub database: &'a mut ModelDatabase,
    pub calls: u64,
    pub committed: [u64; 5],
    pub aborted: [u64; 5],
}

impl<'a> Runner<'a> {
    pub fn new(database: &'a mut ModelDatabase) -> Self {
        Self { database, calls: 0, committed: [0; 5], aborted: [0; 5] }
    }

    pub fn run(&mut self, input: Input) {
        input.give(self);
    }
}

impl Call for Runner<'_> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        // Arguments and answers go through their encoding, as they do in a server.
        let procedure: P = postcard::from_bytes(&postcard::to_stdvec(procedure).unwrap()).unwrap();
        self.calls += 1;
        match self.database.run(&procedure, Timestamp::from_micros(self.calls as i64), self.calls) {
            Ok(output) => {
                let bytes = postcard::to_stdvec(&output).unwrap();
                postcard::from_bytes::<P::Output>(&bytes).unwrap();
                self.committed[kind as usize] += 1;
            }
            Err(_) => self.aborted[kind as usize] += 1,
        }
    }
}

/// The numbers of the conditions that do not hold.
pub fn violated(database: &mut ModelDatabase, scale: &Scale) -> Vec<u8> {
    let reports = database.transaction(|tx| conditions::violated(tx, scale)).unwrap();
    reports.iter().map(|report| report.condition).collect()
}

pub fn assert_consistent(database: &mut ModelDatabase, scale: &Scale) {
    let reports = database.transaction(|tx| conditions::check_all(tx, scale)).unwrap();
    assert_eq!(reports.len(), 13);
    for report in reports {
        assert!(report.holds() && report.checked > 0, "{report}");
    }
}

/// Changes something and sees which conditions notice; then takes it back.
pub fn planted(
    database: &mut ModelDatabase,
    scale: &Scale,
    plant: impl FnOnce(&mut glassbox_testing::ModelTransaction<'_>) -> Result<(), Stop>,
) -> Vec<u8> {
    let mut noticed = Vec::new();
    let _ = database.transaction(|tx| {
        plant(tx)?;
        noticed = conditions::violated(tx, scale)?.iter().map(|report| report.condition).collect();
        Err::<(), _>(Stop::abort(9, "only planted"))
    });
    noticed
}
