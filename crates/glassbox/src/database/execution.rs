//! How procedures are executed on the classic engine: the class of each, and what its stages were like.
//!
//! ```text
//! new_order  two-stage    12345 executions; 22.0 % needed two stages; 0.03 % read under locks; 46 pages pinned, at
//!                         most 83
//! ```

use std::fmt;

use serde::Serialize;

use crate::classic::{self, ExecutionClass};
use crate::config::ExecutionPolicy;

/// How a procedure is executed, and what its executions were like since the database was opened. Executions whose
/// configured policy is [`ExecutionPolicy::Conventional`] are not counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcedureExecution {
    /// Its name; "a closure" for what [`Database::transaction`](crate::Database::transaction) runs.
    pub procedure: &'static str,
    /// The configured policy.
    pub policy: ExecutionPolicy,
    /// In which stages its next execution begins.
    pub class: ExecutionClass,
    /// Executions that ended, those that aborted included.
    pub executions: u64,
    /// Share of the executions that needed a page which was not in memory.
    pub two_stage_ratio: f64,
    /// Share of the accesses of operate stages that read a page from disk, under locks.
    pub missed_ratio: f64,
    /// Share of the executions with such an access.
    pub missed_executions_ratio: f64,
    /// Conversions of an operate stage at a missing page.
    pub conversions: u64,
    /// Pages read in fetch stages, of an execution.
    pub fetch_reads: f64,
    /// Pages read in operate stages, of an execution.
    pub operate_reads: f64,
    /// Pages that an execution kept in memory until its end.
    pub pinned_pages: f64,
    /// The most pages that one of them kept in memory.
    pub most_pinned_pages: u64,
    /// Mean time of a fetch stage, nanoseconds; of a converted one, with the part before the missing page.
    pub fetch_ns: f64,
    /// Mean time of an operate stage, nanoseconds.
    pub operate_ns: f64,
}

impl ProcedureExecution {
    pub(crate) fn all(engine: &classic::Engine) -> Vec<Self> {
        engine.procedures().iter().enumerate().map(|(at, procedure)| Self::of(engine, at, procedure)).collect()
    }

    fn of(engine: &classic::Engine, at: usize, procedure: &classic::ProcedureStages) -> Self {
        let sums = engine.stage_sums(at);
        let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Self {
            procedure: procedure.name,
            policy: procedure.policy,
            class: procedure.class(),
            executions: sums.executions,
            two_stage_ratio: per(sums.needed_two, sums.executions),
            missed_ratio: per(sums.operate_reads, sums.accesses),
            missed_executions_ratio: per(sums.operate_missed, sums.executions),
            conversions: sums.conversions,
            fetch_reads: per(sums.fetch_reads, sums.executions),
            operate_reads: per(sums.operate_reads, sums.executions),
            pinned_pages: per(sums.pinned, sums.executions),
            most_pinned_pages: engine.most_pinned(at),
            fetch_ns: per(sums.fetch_ns, sums.fetches),
            operate_ns: per(sums.operate_ns, sums.operates),
        }
    }
}

impl fmt::Display for ProcedureExecution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<12}  {:<12}  {} executions; {:.1} % needed two stages; {:.2} % read under locks; ",
            self.procedure,
            self.class,
            self.executions,
            100.0 * self.two_stage_ratio,
            100.0 * self.missed_executions_ratio,
        )?;
        write!(f, "{:.0} pages pinned, at most {}", self.pinned_pages, self.most_pinned_pages)
    }
}
