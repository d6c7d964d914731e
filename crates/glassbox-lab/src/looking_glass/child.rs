//! The program that is counted: one system, loaded, warmed up, and run once for each workload.

use super::subject::{Batch, Subject};
use super::systems::System;
use super::work::{Work, Workload};
use crate::count::{Child, counting};

/// Runs what is to be counted; under callgrind, or it does nothing useful.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<System>) -> anyhow::Result<()> {
    let in_all = child.warm_up + child.transactions * Workload::ALL.len();
    let mut subject = Subject::load(child.system, &child.scale, in_all, &child.dir)?;
    let mut work = Work::new(&child.scale, child.seed);
    subject.run_all(&Batch::new(work.draw(Workload::Mix, child.warm_up)))?;
    for workload in Workload::ALL {
        let batch = Batch::new(work.draw(workload, child.transactions));
        let mut result = Ok(());
        counting(&mut || result = subject.run_all(&batch));
        result?;
    }
    Ok(())
}
