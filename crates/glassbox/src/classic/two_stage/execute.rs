//! The stages of an execution, one after the other, and what is counted of them.

use super::classes::ExecutionClass;
use super::{ProcedureStages, Stage, StageCounts};
use crate::classic::engine::Engine;
use crate::classic::lock;
use crate::classic::page::miss::{self, OnMiss};
use crate::classic::stack::{Session, Stack};
use crate::executed::Count;
use crate::io::Clock;

/// Conversions of an execution; then it reads under locks what is missing.
const MOST_CONVERSIONS: u64 = 3;
/// Accesses of a fetch stage: as many times those of the operate stage that had most of them; and the fewest.
const FETCHES_PER_ACCESS: u64 = 4;
const FEWEST_FETCHES: u64 = 1_000;

/// The time, and what this thread has waited for by then.
#[derive(Clone, Copy, Default)]
pub(crate) struct ThreadWaits {
    at_ns: u64,
    /// Pages that were read.
    reads: u64,
    read_ns: u64,
    lock_ns: u64,
    /// Waits of others for locks, because of this thread's reads.
    caused_ns: u64,
}

impl ThreadWaits {
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        let at_ns = clock.monotonic_ns();
        let reads = miss::reads();
        let read_ns = miss::read_ns();
        Self { at_ns, reads, read_ns, lock_ns: lock::waited_ns(), caused_ns: lock::caused_ns() }
    }

    fn since(self, before: Self) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(before.at_ns),
            reads: self.reads - before.reads,
            read_ns: self.read_ns - before.read_ns,
            lock_ns: self.lock_ns - before.lock_ns,
            caused_ns: self.caused_ns - before.caused_ns,
        }
    }
}

/// The stages of one execution, those of runs that were deadlock victims included.
pub(crate) struct Stages {
    /// The position of the procedure.
    at: usize,
    class: ExecutionClass,
    conversions: u64,
    /// Whether the stage that comes or goes on is after a fetch stage.
    is_fetched: bool,
    /// Whether the last fetch stage was by declaration alone.
    is_declared: bool,
    /// When the stage began.
    began: ThreadWaits,
    fetch_reads: u64,
    operate_reads: u64,
    /// Pages that were missing after a fetch stage.
    missed: u64,
    pinned: u64,
    /// The time of the stages, without waits for locks, and with those of others that they caused.
    cost_ns: u64,
}

/// The stage that ended, and how.
#[derive(Clone, Copy)]
pub(crate) struct EndedStage {
    /// As what it began.
    pub(crate) begun: Stage,
    /// As what it ended: an optimistic stage may have become a fetch stage.
    pub(crate) ended: Stage,
    pub(crate) accesses: u64,
    /// When it became a fetch stage, if it did.
    pub(crate) converted: Option<ThreadWaits>,
    /// Whether it had changed rows by then, which a fetch stage that goes on from there would not see.
    pub(crate) has_lost_changes: bool,
    /// Whether it was a fetch stage by declaration alone.
    pub(crate) is_declared: bool,
    /// Whether the execution is over, and not to be repeated.
    pub(crate) is_last: bool,
    /// Whether the engine failed it.
    pub(crate) has_failed: bool,
}

impl Stages {
    /// Of an execution of the procedure at this position.
    pub(crate) fn new<S: Stack>(engine: &Engine<S>, session: &Session<S>, at: usize) -> Self {
        let procedure = &engine.procedures[at];
        Self {
            at,
            class: procedure.class_of_next(session.stage_counts[at].executions.get()),
            conversions: 0,
            is_fetched: false,
            is_declared: false,
            began: ThreadWaits::default(),
            fetch_reads: 0,
            operate_reads: 0,
            missed: 0,
            pinned: 0,
            cost_ns: 0,
        }
    }

    /// Begins the first stage of a run. `repeated`: the one before was a deadlock victim; most of its pages are in
    /// memory still.
    pub(crate) fn begin<S: Stack>(&mut self, engine: &Engine<S>, repeated: bool) -> Stage {
        self.is_fetched = false;
        let stage = match self.class {
            ExecutionClass::TwoStage if !repeated => Stage::Fetch,
            // To see what it declares.
            ExecutionClass::Optimistic if engine.procedures[self.at].is_unknown() => Stage::Fetch,
            _ if self.may_convert(engine) => Stage::Optimistic,
            _ => Stage::Operate,
        };
        self.begin_stage(stage, ThreadWaits::now(&*engine.clock))
    }

    fn begin_stage(&mut self, stage: Stage, now: ThreadWaits) -> Stage {
        miss::set(if stage == Stage::Operate { OnMiss::Read } else { OnMiss::Refuse });
        miss::note_fixed_pages(stage == Stage::Optimistic);
        self.began = now;
        stage
    }

    /// Whether an operate stage is converted at a missing page.
    fn may_convert<S: Stack>(&self, engine: &Engine<S>) -> bool {
        self.conversions < MOST_CONVERSIONS
            && match self.class {
                ExecutionClass::Optimistic => self.conversions == 0 || engine.procedures[self.at].converts_missed(),
                ExecutionClass::TwoStage => engine.procedures[self.at].converts_missed(),
                ExecutionClass::Conventional => false,
            }
    }

    /// Most accesses of a fetch stage, if one begins now or the stage becomes one.
    pub(crate) fn most_fetches<S: Stack>(&self, engine: &Engine<S>, session: &Session<S>, stage: Stage) -> u64 {
        let counts = &session.stage_counts[self.at];
        if stage == Stage::Optimistic && self.fetches_again(engine, counts) {
            return 0;
        }
        FEWEST_FETCHES.max(FETCHES_PER_ACCESS * counts.most_accesses.get())
    }

    /// Whether a converted stage is followed by a fetch stage of its own, which reads in batches what is
    /// declared, instead of going on from the missing page.
    fn fetches_again<S: Stack>(&self, engine: &Engine<S>, counts: &StageCounts) -> bool {
        let procedure = &engine.procedures[self.at];
        procedure.is_declared() && procedure.trusts_declaration(counts)
    }

    /// Whether a fetch stage may end with what is declared.
    pub(crate) fn trusts_declaration<S: Stack>(&self, engine: &Engine<S>, session: &Session<S>) -> bool {
        engine.procedures[self.at].trusts_declaration(&session.stage_counts[self.at])
    }

    /// Counts a stage that ended. The next one; `None` after the last, when nothing is pinned any more.
    pub(crate) fn end<S: Stack>(
        &mut self,
        engine: &Engine<S>,
        session: &mut Session<S>,
        stage: EndedStage,
    ) -> Option<Stage> {
        let counts = &session.stage_counts[self.at];
        let now = ThreadWaits::now(&*engine.clock);
        let ThreadWaits { at_ns: took_ns, reads, read_ns, lock_ns, caused_ns } = now.since(self.began);
        counts.lock_wait_ns.add(lock_ns);
        self.cost_ns += took_ns.saturating_sub(lock_ns) + caused_ns;
        if stage.ended == Stage::Fetch && !stage.has_failed {
            let next = match self.end_fetch(engine, counts, stage, now) {
                // Pages that could not be pinned may be missing again, however often they are fetched.
                Stage::Optimistic if session.pins.is_refused() => Stage::Operate,
                next => next,
            };
            return Some(self.begin_stage(next, now));
        }
        miss::set(OnMiss::Read);
        if stage.ended != Stage::Fetch {
            counts.operates.add_one();
            counts.operate_ns.add(took_ns);
            counts.operate_read_ns.add(read_ns);
            counts.accesses.add(stage.accesses);
            counts.most_accesses.raise(stage.accesses);
            self.operate_reads += reads;
            // Where a page could not be pinned, it may be gone again: that says nothing of what was fetched.
            if !session.pins.is_refused() {
                self.missed += if self.is_fetched { reads } else { 0 };
                if self.is_fetched || stage.begun == Stage::Optimistic {
                    counts.fetched.add_one();
                    counts.fetched_accesses.add(stage.accesses);
                    counts.missed.add(reads);
                }
            }
        }
        self.pinned = self.pinned.max(session.pins.len() as u64);
        if stage.is_last {
            self.count(engine, counts, now.at_ns);
        }
        session.pins.release(&engine.pages, &engine.pin_budget);
        None
    }

    /// Counts a stage that ended as a fetch stage; the next one.
    fn end_fetch<S: Stack>(
        &mut self,
        engine: &Engine<S>,
        counts: &StageCounts,
        stage: EndedStage,
        now: ThreadWaits,
    ) -> Stage {
        let fetched = now.since(stage.converted.unwrap_or(self.began));
        self.fetch_reads += fetched.reads;
        counts.fetch_ns.add(fetched.at_ns);
        counts.fetch_read_ns.add(fetched.read_ns);
        if let Some(converted) = stage.converted {
            // Up to then, splits and undo have read under locks.
            let operated = converted.since(self.began);
            self.operate_reads += operated.reads;
            counts.operate_read_ns.add(operated.read_ns);
            counts.conversions.add_one();
            counts.converted_ns.add(operated.at_ns);
            self.conversions += 1;
            if self.is_fetched {
                counts.missed.add_one();
                self.missed += 1;
            }
            if stage.has_lost_changes || self.fetches_again(engine, counts) {
                return Stage::Fetch;
            }
        } else {
            engine.procedures[self.at].note_fetch(stage.is_declared);
        }
        counts.fetches.add_one();
        (self.is_fetched, self.is_declared) = (true, stage.is_declared);
        if self.may_convert(engine) { Stage::Optimistic } else { Stage::Operate }
    }

    fn count<S: Stack>(&self, engine: &Engine<S>, counts: &StageCounts, now_ns: u64) {
        let count_if = |count: &Count, is: bool| count.add(u64::from(is));
        let needed_disk = self.fetch_reads + self.operate_reads + self.conversions > 0;
        counts.executions.add_one();
        counts.add_cost(self.class.at(), needed_disk, self.cost_ns);
        count_if(&counts.needed_two, needed_disk);
        counts.fetch_reads.add(self.fetch_reads);
        counts.operate_reads.add(self.operate_reads);
        count_if(&counts.operate_missed, self.operate_reads > 0);
        count_if(&counts.declared, self.is_declared);
        count_if(&counts.declared_missed, self.is_declared && self.missed > 0);
        counts.pinned.add(self.pinned);
        counts.most_pinned.raise(self.pinned);
        let procedure: &ProcedureStages = &engine.procedures[self.at];
        if procedure.is_due(counts.executions.get()) {
            procedure.classify(&engine.stage_sums(self.at));
        }
        if procedure.is_compared_at(now_ns) {
            procedure.compare(now_ns, || engine.class_costs(self.at));
        }
    }
}
