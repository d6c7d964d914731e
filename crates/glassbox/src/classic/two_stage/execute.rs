//! The stages of an execution, one after the other, and what is counted of them.

use super::classes::ExecutionClass;
use super::{ProcedureStages, Stage, StageCounts};
use crate::classic::engine::Engine;
use crate::classic::page::miss::{self, OnMiss};
use crate::classic::stack::{Session, Stack};
use crate::executed::Count;

/// Conversions of an execution; then it reads under locks what is missing.
const MOST_CONVERSIONS: u64 = 3;
/// Accesses of a fetch stage: as many times those of the operate stage that had most of them; and the fewest.
const FETCHES_PER_ACCESS: u64 = 4;
const FEWEST_FETCHES: u64 = 1_000;

/// The stages of one execution.
pub(crate) struct Stages {
    /// The position of the procedure.
    at: usize,
    conversions: u64,
    began_ns: u64,
    /// Pages that this thread had read when the stage began.
    reads_before: u64,
    fetch_reads: u64,
    operate_reads: u64,
}

/// The stage that ended, and how.
#[derive(Clone, Copy)]
pub(crate) struct EndedStage {
    /// As what it began.
    pub(crate) begun: Stage,
    /// As what it ended: an optimistic stage may have become a fetch stage.
    pub(crate) ended: Stage,
    pub(crate) accesses: u64,
    /// Whether the execution is over, and not to be repeated.
    pub(crate) is_last: bool,
    /// Whether the engine failed it.
    pub(crate) has_failed: bool,
}

impl Stages {
    /// Begins an execution of the procedure at this position; its first stage. `repeated`: it was a deadlock victim, so
    /// its pages are in memory.
    pub(crate) fn begin<S: Stack>(
        engine: &Engine<S>,
        session: &Session<S>,
        at: usize,
        repeated: bool,
    ) -> (Self, Stage) {
        let procedure = &engine.procedures[at];
        let stage = match procedure.class_of_next(session.stage_counts[at].executions.get()) {
            ExecutionClass::TwoStage if !repeated => Stage::Fetch,
            ExecutionClass::Optimistic => Stage::Optimistic,
            ExecutionClass::Conventional | ExecutionClass::TwoStage => Stage::Operate,
        };
        let mut stages = Self { at, conversions: 0, began_ns: 0, reads_before: 0, fetch_reads: 0, operate_reads: 0 };
        stages.begin_stage(engine, stage);
        (stages, stage)
    }

    fn begin_stage<S: Stack>(&mut self, engine: &Engine<S>, stage: Stage) {
        miss::set(if stage == Stage::Optimistic { OnMiss::Refuse } else { OnMiss::Read });
        self.reads_before = miss::reads();
        self.began_ns = engine.clock.monotonic_ns();
    }

    /// Most accesses of a fetch stage.
    pub(crate) fn most_fetches<S: Stack>(&self, session: &Session<S>) -> u64 {
        FEWEST_FETCHES.max(FETCHES_PER_ACCESS * session.stage_counts[self.at].most_accesses.get())
    }

    /// Counts a stage that ended. The next one; `None` after the last, when nothing is pinned any more.
    pub(crate) fn end<S: Stack>(
        &mut self,
        engine: &Engine<S>,
        session: &mut Session<S>,
        stage: EndedStage,
    ) -> Option<Stage> {
        let EndedStage { begun, ended, accesses, is_last, has_failed } = stage;
        let counts = &session.stage_counts[self.at];
        let reads = miss::reads() - self.reads_before;
        let took_ns = engine.clock.monotonic_ns().saturating_sub(self.began_ns);
        if ended == Stage::Fetch && !has_failed {
            counts.fetches.add_one();
            // Of a converted stage all of its time: of what it did, undid and fetched.
            counts.fetch_ns.add(took_ns);
            self.fetch_reads += reads;
            if begun == Stage::Optimistic {
                counts.conversions.add_one();
                self.conversions += 1;
            }
            let is_optimistic = begun == Stage::Optimistic && self.conversions < MOST_CONVERSIONS;
            let next = if is_optimistic { Stage::Optimistic } else { Stage::Operate };
            self.begin_stage(engine, next);
            return Some(next);
        }
        miss::set(OnMiss::Read);
        counts.operates.add_one();
        counts.operate_ns.add(took_ns);
        counts.accesses.add(accesses);
        counts.most_accesses.raise(accesses);
        self.operate_reads += reads;
        if is_last {
            self.count(engine, counts, session.pins.len() as u64);
        }
        session.pins.release(&engine.pages, &engine.pin_budget);
        None
    }

    fn count<S: Stack>(&self, engine: &Engine<S>, counts: &StageCounts, pinned: u64) {
        let count_if = |count: &Count, is: bool| count.add(u64::from(is));
        counts.executions.add_one();
        count_if(&counts.needed_two, self.fetch_reads + self.operate_reads + self.conversions > 0);
        counts.fetch_reads.add(self.fetch_reads);
        counts.operate_reads.add(self.operate_reads);
        count_if(&counts.operate_missed, self.operate_reads > 0);
        counts.pinned.add(pinned);
        counts.most_pinned.raise(pinned);
        let procedure: &ProcedureStages = &engine.procedures[self.at];
        if procedure.is_due(counts.executions.get()) {
            procedure.classify(&engine.stage_sums(self.at));
        }
    }
}
