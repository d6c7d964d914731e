//! The verdict: TPC-C's consistency conditions, and every index against its table.

use std::time::Instant;

use glassbox::Database;
use glassbox_workloads::tpcc::Scale;
use glassbox_workloads::tpcc::conditions::{Report, check_all};

/// What the checks found.
pub struct Checked {
    /// One of each condition.
    pub conditions: Vec<Report>,
    /// What is wrong with indexes.
    pub indexes: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Checked {
    /// Checks all.
    pub fn check(db: &Database, scale: &Scale) -> anyhow::Result<Self> {
        let started = Instant::now();
        let conditions = db.transaction(|tx| check_all(tx, scale))?;
        let indexes = db.verify();
        Ok(Self { conditions, indexes, seconds: started.elapsed().as_secs_f64() })
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.conditions.iter().all(Report::holds) && self.indexes.is_empty()
    }
}
