//! How procedures are executed on the classic engine: the class of each, and what its stages were like.
//!
//! ```text
//! new_order     two-stage     12345 executions; 22.0 % needed two stages; 0.03 % read under locks; 46 pages pinned, at
//!                             most 83
//!                             0.310 ms each; predicted: conventional 0.280, two-stage 0.310, optimistic 0.300
//!                             measured cost: conventional 2.150, two-stage 0.290, optimistic unknown
//! ```

use std::fmt;

use serde::Serialize;

use crate::classic::{self, ExecutionClass, StageSums};
use crate::config::ExecutionPolicy;

/// How a procedure is executed, and what its executions were like since the database was opened. Executions whose
/// configured policy is [`ExecutionPolicy::Conventional`] are counted only if
/// [`ClassicConfig::count_executions`](crate::config::ClassicConfig::count_executions) says so.
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
    /// Share of the accesses that read a page under locks, of operate stages that came after a fetch stage or were
    /// optimistic.
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
    /// Mean time of an execution, all its stages together, nanoseconds.
    pub execution_ns: f64,
    /// Mean time that an execution read the disk, nanoseconds.
    pub read_ns: f64,
    /// Mean time that an execution waited for locks, nanoseconds.
    pub lock_wait_ns: f64,
    /// Mean time of an execution under each policy, as the formula predicts it.
    pub predicted: PredictedTimes,
    /// Mean cost of an execution of each class now, if the class follows from it
    /// ([`ClassRule::Measured`](crate::config::ClassRule::Measured)).
    pub measured: Option<MeasuredCosts>,
    #[serde(skip)]
    sums: StageSums,
}

/// The mean time of an execution under each policy, as a formula (Charm, §3.4) predicts it from the measured times of
/// the stages: `To` of an operate stage and `Tf` of a fetch stage without their reads, `Tr` of an operate stage up to
/// the end of its conversion, `P` of reads, and the share `p` of the executions that need them. A part that never
/// happened is taken as equal to `To`. Waits for locks are part of `To`, so what a policy does to them is not
/// predicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PredictedTimes {
    /// Nanoseconds: `To + p P`.
    pub conventional_ns: f64,
    /// Nanoseconds: `Tf + To + p P`.
    pub two_stage_ns: f64,
    /// Nanoseconds: `To + p (Tr + Tf + P)`.
    pub optimistic_ns: f64,
}

/// The mean cost of an execution in each class: its time without its own waits for locks, and with the waits of others
/// for its locks while it read the disk. `None` of a class in which no execution has ended yet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredCosts {
    /// Nanoseconds, of [`ExecutionClass::Conventional`].
    pub conventional_ns: Option<f64>,
    /// Nanoseconds, of [`ExecutionClass::TwoStage`].
    pub two_stage_ns: Option<f64>,
    /// Nanoseconds, of [`ExecutionClass::Optimistic`].
    pub optimistic_ns: Option<f64>,
}

impl fmt::Display for MeasuredCosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = [
            ("conventional", self.conventional_ns),
            ("two-stage", self.two_stage_ns),
            ("optimistic", self.optimistic_ns),
        ];
        f.write_str("measured cost:")?;
        for (at, (class, cost_ns)) in classes.into_iter().enumerate() {
            write!(f, "{} {class} ", if at == 0 { "" } else { "," })?;
            match cost_ns {
                Some(cost_ns) => write!(f, "{:.3}", cost_ns / 1e6)?,
                None => f.write_str("unknown")?,
            }
        }
        Ok(())
    }
}

impl PredictedTimes {
    fn of(sums: &StageSums) -> Self {
        let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let operate_ns = per(sums.operate_ns.saturating_sub(sums.operate_read_ns), sums.operates);
        let or_operate = |part: u64, whole: u64| if whole == 0 { operate_ns } else { per(part, whole) };
        let fetch_ns = or_operate(sums.fetch_ns.saturating_sub(sums.fetch_read_ns), sums.fetches);
        let converted_ns = or_operate(sums.converted_ns, sums.conversions);
        let read_ns = per(sums.fetch_read_ns + sums.operate_read_ns, sums.executions);
        Self {
            conventional_ns: operate_ns + read_ns,
            two_stage_ns: fetch_ns + operate_ns + read_ns,
            optimistic_ns: operate_ns + per(sums.needed_two, sums.executions) * (converted_ns + fetch_ns) + read_ns,
        }
    }
}

impl ProcedureExecution {
    pub(crate) fn all(engine: &classic::Engine) -> Vec<Self> {
        engine.procedures().iter().enumerate().map(|(at, procedure)| Self::of(engine, at, procedure)).collect()
    }

    fn of(engine: &classic::Engine, at: usize, procedure: &classic::ProcedureStages) -> Self {
        let kind = (procedure.name, procedure.policy(), procedure.class());
        let measured = procedure.costs_ns().map(|[conventional_ns, two_stage_ns, optimistic_ns]| MeasuredCosts {
            conventional_ns,
            two_stage_ns,
            optimistic_ns,
        });
        Self { measured, ..Self::of_sums(kind, engine.stage_sums(at), engine.most_pinned(at)) }
    }

    /// The same without the executions before; the most pages pinned are of all, and measured costs those of now.
    pub fn since(&self, before: &Self) -> Self {
        let kind = (self.procedure, self.policy, self.class);
        let sums = self.sums.since(&before.sums);
        Self { measured: self.measured, ..Self::of_sums(kind, sums, self.most_pinned_pages) }
    }

    fn of_sums(
        (procedure, policy, class): (&'static str, ExecutionPolicy, ExecutionClass),
        sums: StageSums,
        most_pinned_pages: u64,
    ) -> Self {
        let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Self {
            procedure,
            policy,
            class,
            executions: sums.executions,
            two_stage_ratio: per(sums.needed_two, sums.executions),
            missed_ratio: per(sums.missed, sums.fetched_accesses),
            missed_executions_ratio: per(sums.operate_missed, sums.executions),
            conversions: sums.conversions,
            fetch_reads: per(sums.fetch_reads, sums.executions),
            operate_reads: per(sums.operate_reads, sums.executions),
            pinned_pages: per(sums.pinned, sums.executions),
            most_pinned_pages,
            fetch_ns: per(sums.fetch_ns, sums.fetches),
            operate_ns: per(sums.operate_ns, sums.operates),
            execution_ns: per(sums.fetch_ns + sums.converted_ns + sums.operate_ns, sums.executions),
            read_ns: per(sums.fetch_read_ns + sums.operate_read_ns, sums.executions),
            lock_wait_ns: per(sums.lock_wait_ns, sums.executions),
            predicted: PredictedTimes::of(&sums),
            measured: None,
            sums,
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
        writeln!(f, "{:.0} pages pinned, at most {}", self.pinned_pages, self.most_pinned_pages)?;
        let PredictedTimes { conventional_ns, two_stage_ns, optimistic_ns } = self.predicted;
        let [took, conventional, two_stage, optimistic] =
            [self.execution_ns, conventional_ns, two_stage_ns, optimistic_ns].map(|ns| ns / 1e6);
        write!(f, "{:28}{took:.3} ms each; predicted: conventional {conventional:.3}, ", "")?;
        write!(f, "two-stage {two_stage:.3}, optimistic {optimistic:.3}")?;
        self.measured.map_or(Ok(()), |measured| write!(f, "\n{:28}{measured}", ""))
    }
}
