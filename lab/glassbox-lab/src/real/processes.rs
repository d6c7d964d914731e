//! The same clients on a cluster of processes, over sockets.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::{Processes, ask};
use glassbox_cluster::wire::{Answer, Question};
use glassbox_sim::cluster::{Load, Tpcc, Workload};

use super::drive::{Trial, TrialResult, call};

/// How long processes may take to be connected, or to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The rows of a cluster.
#[derive(Debug, Clone, Copy)]
pub enum Rows {
    /// Those of the microbenchmark, for this number of clients.
    Micro(u32, Load),
    /// Those of TPC-C.
    Tpcc(Tpcc),
}

/// A cluster of processes that has begun.
pub struct RunningProcesses {
    /// Their addresses.
    pub cluster: Processes,
    /// Ends them when it is dropped.
    pub guard: Box<dyn Any>,
}

/// Starts two partitions and a coordinator as processes.
pub type Start<'a> = &'a dyn Fn(SchemeKind, Rows) -> anyhow::Result<RunningProcesses>;

/// Runs a trial's clients on processes with these rows, and checks the processes afterwards.
///
/// # Errors
/// When a process fails, or a check fails afterwards.
pub fn run_processes<W: Workload>(trial: &Trial<W>, rows: Rows, start: Start<'_>) -> anyhow::Result<TrialResult> {
    let RunningProcesses { cluster, guard } = start(trial.shape.scheme, rows)?;
    let mut client = cluster.connect(0, W::catalog(), PATIENCE).map_err(|why| anyhow!(why))?;
    let run = call(trial, &Arc::new(W::catalog()), client.link(), None)?;
    let until = Instant::now() + PATIENCE;
    for member in cluster.shape().machines() {
        loop {
            let answer = ask(client.link(), member, Question::State, until).map_err(|why| anyhow!(why))?;
            match answer {
                Answer::State { digest: Some(Err(wrong)), .. } => bail!("{member}: {wrong}"),
                Answer::State { unfinished: None, .. } => break,
                Answer::State { unfinished: Some(_), .. } if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => bail!("{member}: {other:?}"),
            }
        }
    }
    drop((client, guard));
    Ok(run)
}
