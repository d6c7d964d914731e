//! The policy of each procedure, and its class under the hybrid one: by the paper's rules from the counts of all
//! sessions, or by measured costs ([`Chooser`]).

use std::any::TypeId;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::chooser::{CLASSES, Choice, Chooser, ClassCosts};
use super::counts::{StageCounts, StageSums};
use crate::config::{ClassMemory, ClassRule, ExecutionPolicy, HybridPolicy};
use crate::procedure::MAKES_TRIAL_RUNS;

/// Executions of a session after which a procedure is classified again.
const CLASSIFIED_EVERY: u64 = 32;
/// Time between two comparisons of the measured costs of a procedure's classes.
const COMPARED_EVERY_NS: u64 = 10_000_000;
/// Of the executions of a procedure that is executed conventionally, one in so many is in two stages, to see whether
/// that has become better.
const PROBED_EVERY: u64 = 64;
/// Executions after a fetch stage, the least number that decides whether a procedure becomes conventional.
const LEAST_FETCHED: f64 = 200.0;
/// Probes, the least number that decides whether it stays so.
const LEAST_PROBES: f64 = 8.0;
/// Of fetch stages by declaration alone, at most one in so many may lead to a miss.
const TRUSTED_MISSES: u64 = 20;

/// In which stages an execution begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[repr(u8)]
pub enum ExecutionClass {
    /// With its operate stage, which reads what is missing.
    Conventional = 1,
    /// With a fetch stage.
    TwoStage,
    /// With its operate stage, which becomes a fetch stage at the first missing page.
    Optimistic,
}

impl ExecutionClass {
    const ALL: [Self; CLASSES] = [Self::Conventional, Self::TwoStage, Self::Optimistic];

    /// The position in [`ExecutionClass::ALL`].
    pub(super) const fn at(self) -> usize {
        self as usize - 1
    }
}

impl fmt::Display for ExecutionClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Conventional => "conventional",
            Self::TwoStage => "two-stage",
            Self::Optimistic => "optimistic",
        })
    }
}

/// All closures that run as transactions: one of the procedures, beside those of the catalog.
pub(crate) enum Closures {}

impl Closures {
    pub(crate) const NAME: &'static str = "a closure";
}

/// A procedure of the catalog, and how it is executed.
#[derive(Debug)]
pub(crate) struct ProcedureStages {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    state: Mutex<PolicyState>,
    /// The properties of the policy for which an execution asks: [`STAGED`], …
    properties: AtomicU8,
    /// Whether executions of any policy are counted.
    is_counted: bool,
    class: AtomicU8,
    /// Executions of other classes that are to be made, a byte for each class.
    probes: AtomicU32,
    /// When the measured costs are compared again.
    compared_at_ns: AtomicU64,
    /// Whether a fetch stage has ended ([`FETCHED`]), and whether by declaration alone ([`DECLARED`]).
    fetched: AtomicU8,
}

const FETCHED: u8 = 1;
const DECLARED: u8 = 2;

/// Executions may have two stages.
const STAGED: u8 = 1;
/// The class follows from executions.
const HYBRID: u8 = 2;
/// Older executions count less.
const FORGETS: u8 = 4;
/// An operate stage after a fetch stage is converted at a missing page, too.
const CONVERTS_MISSED: u8 = 8;
/// The class follows from measured costs.
const MEASURED: u8 = 16;

fn properties(policy: ExecutionPolicy) -> u8 {
    match policy {
        ExecutionPolicy::Conventional => 0,
        ExecutionPolicy::TwoStage => STAGED,
        ExecutionPolicy::Optimistic => STAGED | CONVERTS_MISSED,
        ExecutionPolicy::Hybrid(HybridPolicy { memory, rule, converts_missed, .. }) => {
            let property = |has: bool, property: u8| if has { property } else { 0 };
            let is_measured = rule == ClassRule::Measured;
            STAGED
                | HYBRID
                | property(is_measured, MEASURED)
                | property(!is_measured && matches!(memory, ClassMemory::HalfLife(_)), FORGETS)
                | property(converts_missed, CONVERTS_MISSED)
        }
    }
}

/// A policy, and the executions from which the hybrid one classifies.
#[derive(Debug)]
struct PolicyState {
    policy: ExecutionPolicy,
    /// For the rules of the paper.
    memory: Remembered,
    /// For the rule of measured costs.
    chooser: Chooser,
}

impl PolicyState {
    fn new(policy: ExecutionPolicy, class: ExecutionClass, seen: StageSums, costs: [ClassCosts; CLASSES]) -> Self {
        let memory = Remembered { seen, ..Remembered::default() };
        Self { policy, memory, chooser: Chooser::new(class.at(), costs) }
    }
}

/// What the hybrid policy remembers; older executions count less.
#[derive(Debug, Default)]
struct Remembered {
    seen: StageSums,
    executions: f64,
    needed_two: f64,
    fetched: f64,
    fetched_accesses: f64,
    missed: f64,
    fetches: f64,
    fetch_work_ns: f64,
    conversions: f64,
    converted_ns: f64,
}

impl ProcedureStages {
    pub(crate) fn new(id: TypeId, name: &'static str, policy: ExecutionPolicy, is_counted: bool) -> Self {
        let class = ExecutionClass::Conventional;
        let state = PolicyState::new(ExecutionPolicy::Conventional, class, StageSums::default(), Default::default());
        let stages = Self {
            id,
            name,
            state: Mutex::new(state),
            properties: AtomicU8::new(0),
            is_counted,
            class: AtomicU8::new(class as u8),
            probes: AtomicU32::new(0),
            compared_at_ns: AtomicU64::new(0),
            fetched: AtomicU8::new(0),
        };
        stages.set_policy(policy, StageSums::default(), Default::default());
        stages
    }

    /// Executes the procedure under another policy from now on; `sums` and `costs`: what was counted before, which
    /// decides nothing.
    pub(crate) fn set_policy(&self, policy: ExecutionPolicy, sums: StageSums, costs: [ClassCosts; CLASSES]) {
        let policy = if MAKES_TRIAL_RUNS { policy } else { ExecutionPolicy::Conventional };
        let class = match policy {
            ExecutionPolicy::Conventional => ExecutionClass::Conventional,
            ExecutionPolicy::TwoStage | ExecutionPolicy::Hybrid(_) => ExecutionClass::TwoStage,
            ExecutionPolicy::Optimistic => ExecutionClass::Optimistic,
        };
        let mut state = self.state();
        *state = PolicyState::new(policy, class, sums, costs);
        self.class.store(class as u8, Ordering::Relaxed);
        self.probes.store(0, Ordering::Relaxed);
        self.compared_at_ns.store(0, Ordering::Relaxed);
        self.properties.store(properties(policy), Ordering::Relaxed);
    }

    /// The policy.
    pub(crate) fn policy(&self) -> ExecutionPolicy {
        self.state().policy
    }

    fn state(&self) -> MutexGuard<'_, PolicyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    fn has(&self, property: u8) -> bool {
        self.properties.load(Ordering::Relaxed) & property != 0
    }

    /// Whether an operate stage after a fetch stage is converted at a missing page, too.
    #[inline(always)]
    pub(crate) fn converts_missed(&self) -> bool {
        self.has(CONVERTS_MISSED)
    }

    /// Whether its executions may have two stages, or are counted as if they did.
    #[inline(always)]
    pub(crate) fn is_staged(&self) -> bool {
        self.has(STAGED) || self.is_counted
    }

    /// The class now.
    #[inline(always)]
    pub(crate) fn class(&self) -> ExecutionClass {
        match self.class.load(Ordering::Relaxed) {
            1 => ExecutionClass::Conventional,
            2 => ExecutionClass::TwoStage,
            _ => ExecutionClass::Optimistic,
        }
    }

    /// The class of the next execution of a session that has counted so many.
    #[inline(always)]
    pub(crate) fn class_of_next(&self, executions: u64) -> ExecutionClass {
        if self.probes.load(Ordering::Relaxed) != 0
            && let Some(class) = self.take_probe()
        {
            return class;
        }
        match self.class() {
            ExecutionClass::Conventional if executions % PROBED_EVERY == PROBED_EVERY - 1 && self.forgets() => {
                ExecutionClass::TwoStage
            }
            class => class,
        }
    }

    /// The class of a probe that is to be made.
    #[cold]
    fn take_probe(&self) -> Option<ExecutionClass> {
        let at = |probes: [u8; 4]| (0..CLASSES).find(|class| probes[*class] > 0);
        let taken = self.probes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |probes| {
            let mut probes = probes.to_le_bytes();
            probes[at(probes)?] -= 1;
            Some(u32::from_le_bytes(probes))
        });
        Some(ExecutionClass::ALL[at(taken.ok()?.to_le_bytes())?])
    }

    /// Whether a fetch stage of this session may end with what is declared: few of those that did so missed a page, or
    /// it is time to look again.
    #[inline(always)]
    pub(crate) fn trusts_declaration(&self, counts: &StageCounts) -> bool {
        let (declared, missed) = (counts.declared.get(), counts.declared_missed.get());
        missed * TRUSTED_MISSES <= declared + TRUSTED_MISSES || counts.executions.get().is_multiple_of(PROBED_EVERY)
    }

    /// Notes that a fetch stage ended; `declared`: by declaration alone.
    pub(crate) fn note_fetch(&self, declared: bool) {
        let noted = if declared { FETCHED | DECLARED } else { FETCHED };
        if self.fetched.load(Ordering::Relaxed) & noted != noted {
            self.fetched.fetch_or(noted, Ordering::Relaxed);
        }
    }

    /// Whether no fetch stage has ended yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.fetched.load(Ordering::Relaxed) == 0
    }

    /// Whether a fetch stage has ended by declaration alone.
    pub(crate) fn is_declared(&self) -> bool {
        self.fetched.load(Ordering::Relaxed) & DECLARED != 0
    }

    fn forgets(&self) -> bool {
        self.has(FORGETS)
    }

    /// Whether a session that has counted so many executions is to classify the procedure from counts.
    #[inline(always)]
    pub(crate) fn is_due(&self, executions: u64) -> bool {
        executions.is_multiple_of(CLASSIFIED_EVERY) && self.has(HYBRID) && !self.has(MEASURED)
    }

    /// Whether measured costs are to be compared at this time.
    #[inline(always)]
    pub(crate) fn is_compared_at(&self, now_ns: u64) -> bool {
        self.has(MEASURED) && now_ns >= self.compared_at_ns.load(Ordering::Relaxed)
    }

    /// Compares the measured costs of the classes, unless another thread does; the next probes follow from that.
    #[cold]
    pub(crate) fn compare(&self, now_ns: u64, costs: impl FnOnce() -> [ClassCosts; CLASSES]) {
        let Ok(mut state) = self.state.try_lock() else { return };
        let PolicyState { policy: ExecutionPolicy::Hybrid(policy), ref mut chooser, .. } = *state else { return };
        if !self.is_compared_at(now_ns) {
            return;
        }
        let half_life = match policy.memory {
            ClassMemory::Cumulative => None,
            ClassMemory::HalfLife(executions) => Some(executions),
        };
        let Choice { class, probes } = chooser.choose(&costs(), half_life);
        let class = ExecutionClass::ALL[class];
        if class != self.class() {
            self.class.store(class as u8, Ordering::Relaxed);
            self.probes.store(0, Ordering::Relaxed);
        }
        let _ = self.probes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            let mut left = left.to_le_bytes();
            left.iter_mut().zip(probes).for_each(|(left, probes)| *left = left.saturating_add(probes));
            Some(u32::from_le_bytes(left))
        });
        self.compared_at_ns.store(now_ns + COMPARED_EVERY_NS, Ordering::Relaxed);
    }

    /// The mean cost of each class, nanoseconds, if it is measured and what decides.
    pub(crate) fn costs_ns(&self) -> Option<[Option<f64>; CLASSES]> {
        self.has(MEASURED).then(|| self.state().chooser.costs_ns())
    }

    /// Classifies the procedure from what all sessions have counted (Charm, §3.3).
    #[cold]
    pub(crate) fn classify(&self, sums: &StageSums) {
        let mut state = self.state();
        let PolicyState { policy: ExecutionPolicy::Hybrid(policy), ref mut memory, .. } = *state else { return };
        memory.add(sums, policy.memory);
        let (missed, two_stage) = memory.ratios();
        let (was_conventional, is_missed) =
            (self.class() == ExecutionClass::Conventional, missed > f64::from(policy.missed_ppm) / 1e6);
        // A few executions say nothing: after the opening, pages are missing that never will be again.
        let least = if was_conventional { LEAST_PROBES } else { LEAST_FETCHED };
        let is_conventional = if memory.fetched < least { was_conventional } else { is_missed };
        if is_conventional && !was_conventional && self.forgets() {
            // What probes find decides from now on.
            (memory.fetched, memory.fetched_accesses, memory.missed) = (0.0, 0.0, 0.0);
        }
        let class = if is_conventional {
            ExecutionClass::Conventional
        } else if match policy.rule {
            ClassRule::Ratios => two_stage > f64::from(policy.two_stage_ppm) / 1e6,
            ClassRule::Cost => memory.is_cheaper_in_two_stages(two_stage),
            ClassRule::Measured => return,
        } {
            ExecutionClass::TwoStage
        } else {
            ExecutionClass::Optimistic
        };
        self.class.store(class as u8, Ordering::Relaxed);
    }
}

impl Remembered {
    fn add(&mut self, sums: &StageSums, memory: ClassMemory) {
        let new = sums.since(&self.seen);
        self.seen = *sums;
        let kept = match memory {
            ClassMemory::Cumulative => 1.0,
            ClassMemory::HalfLife(executions) => 0.5_f64.powf(new.executions as f64 / executions.max(1) as f64),
        };
        for (sum, new) in [
            (&mut self.executions, new.executions),
            (&mut self.needed_two, new.needed_two),
            (&mut self.fetched, new.fetched),
            (&mut self.fetched_accesses, new.fetched_accesses),
            (&mut self.missed, new.missed),
            (&mut self.fetches, new.fetches),
            (&mut self.fetch_work_ns, new.fetch_ns.saturating_sub(new.fetch_read_ns)),
            (&mut self.conversions, new.conversions),
            (&mut self.converted_ns, new.converted_ns),
        ] {
            *sum = *sum * kept + new as f64;
        }
    }

    /// Accesses that read under locks although they were fetched, of all; executions that needed two stages, of all.
    fn ratios(&self) -> (f64, f64) {
        (self.missed / self.fetched_accesses.max(1.0), self.needed_two / self.executions.max(1.0))
    }

    /// Whether two stages take less time than an optimistic one that is converted in this share of executions (Charm,
    /// §3.4): in both, those that need the disk wait for it once and fetch, so the rest decides.
    fn is_cheaper_in_two_stages(&self, two_stage_ratio: f64) -> bool {
        if self.fetches < 1.0 {
            return true;
        }
        let fetch_ns = self.fetch_work_ns / self.fetches;
        // Before anything was converted: as much again as is fetched.
        let lost_ns = if self.conversions < 1.0 { fetch_ns } else { self.converted_ns / self.conversions };
        fetch_ns < two_stage_ratio * (lost_ns + fetch_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::sync::atomic::Ordering;

    use super::super::counts::{StageCounts, StageSums};
    use super::{ExecutionClass, ProcedureStages};
    use crate::config::{ClassMemory, ClassRule, ExecutionPolicy, HybridPolicy};

    fn hybrid(memory: ClassMemory) -> ProcedureStages {
        let policy =
            ExecutionPolicy::Hybrid(HybridPolicy { memory, rule: ClassRule::Ratios, ..HybridPolicy::default() });
        ProcedureStages::new(TypeId::of::<()>(), "it", policy, false)
    }

    /// Sums after so many executions, of which so many needed two stages, and so many of their accesses, ten each,
    /// read under locks.
    fn sums(executions: u64, needed_two: u64, missed: u64) -> StageSums {
        let (fetched, fetched_accesses) = (executions, executions * 10);
        StageSums { executions, needed_two, missed, fetched, fetched_accesses, ..StageSums::default() }
    }

    #[test]
    fn the_cost_rule_compares_what_a_conversion_loses_with_a_fetch() {
        let policy = HybridPolicy { rule: ClassRule::Cost, memory: ClassMemory::Cumulative, ..HybridPolicy::default() };
        // A fetch takes 10 apart from its reads, and a conversion loses 30: even if a quarter of the executions needs
        // two stages.
        for (needed_two, class) in [(240, ExecutionClass::Optimistic), (260, ExecutionClass::TwoStage)] {
            let procedure = ProcedureStages::new(TypeId::of::<()>(), "it", ExecutionPolicy::Hybrid(policy), false);
            let (fetches, conversions) = (100, 50);
            procedure.classify(&StageSums {
                fetches,
                fetch_ns: fetches * 1_000,
                fetch_read_ns: fetches * 990,
                conversions,
                converted_ns: conversions * 30,
                ..sums(1_000, needed_two, 0)
            });
            assert_eq!(procedure.class(), class, "{needed_two}");
        }
    }

    #[test]
    fn classes_follow_the_papers_rule() {
        let cases = [
            ((1_000, 0, 0), ExecutionClass::Optimistic),
            ((1_000, 50, 0), ExecutionClass::Optimistic),
            ((1_000, 51, 0), ExecutionClass::TwoStage),
            ((1_000, 1_000, 100), ExecutionClass::TwoStage),
            ((1_000, 1_000, 101), ExecutionClass::Conventional),
        ];
        for ((executions, needed_two, missed), class) in cases {
            let procedure = hybrid(ClassMemory::Cumulative);
            assert_eq!(procedure.class(), ExecutionClass::TwoStage, "the default");
            procedure.classify(&sums(executions, needed_two, missed));
            assert_eq!(procedure.class(), class, "{executions} executions, {needed_two}, {missed}");
        }
    }

    #[test]
    fn another_policy_forgets_what_was_counted_under_the_one_before() {
        let procedure = hybrid(ClassMemory::Cumulative);
        procedure.classify(&sums(1_000, 0, 0));
        assert_eq!(procedure.class(), ExecutionClass::Optimistic);
        procedure.set_policy(ExecutionPolicy::Conventional, sums(1_000, 0, 0), Default::default());
        assert!(!procedure.is_staged() && !procedure.is_due(32));
        procedure.classify(&sums(2_000, 2_000, 0));
        assert_eq!(procedure.class(), ExecutionClass::Conventional, "only the hybrid policy classifies");
        let ExecutionPolicy::Hybrid(policy) = hybrid(ClassMemory::Cumulative).policy() else { unreachable!("hybrid") };
        procedure.set_policy(ExecutionPolicy::Hybrid(policy), sums(2_000, 2_000, 0), Default::default());
        assert!(procedure.is_staged() && procedure.is_due(32) && procedure.class() == ExecutionClass::TwoStage);
        procedure.classify(&sums(2_500, 2_000, 0));
        assert_eq!(procedure.class(), ExecutionClass::Optimistic, "of the last 500 none needed two stages");
        assert_eq!(procedure.policy(), ExecutionPolicy::Hybrid(policy));
    }

    #[test]
    fn only_one_that_forgets_leaves_the_conventional_class() {
        for (memory, after, probes) in [
            (ClassMemory::Cumulative, ExecutionClass::Conventional, 0),
            (ClassMemory::HalfLife(1_000), ExecutionClass::Optimistic, 1),
        ] {
            let procedure = hybrid(memory);
            procedure.classify(&sums(1_000, 1_000, 2_000));
            assert_eq!(procedure.class(), ExecutionClass::Conventional);
            let next = (0..64).filter(|executions| procedure.class_of_next(*executions) == ExecutionClass::TwoStage);
            assert_eq!(next.count(), probes, "{memory:?}");
            procedure.classify(&sums(11_000, 1_000, 2_000));
            assert_eq!(procedure.class(), after, "{memory:?}");
        }
    }

    #[test]
    fn each_probe_is_made_once_and_compared_with_the_others() {
        let policy = HybridPolicy { memory: ClassMemory::Cumulative, ..HybridPolicy::default() };
        let procedure = ProcedureStages::new(TypeId::of::<()>(), "it", ExecutionPolicy::Hybrid(policy), false);
        let counts = StageCounts::default();
        // A conventional execution takes half of the time.
        let mut now_ns = 1_000_000_000;
        let mut made = [0; 3];
        for executions in 0..2_000 {
            let class = procedure.class_of_next(executions);
            made[class.at()] += 1;
            let cost_ns = if class == ExecutionClass::Conventional { 100_000 } else { 200_000 };
            now_ns += cost_ns;
            counts.add_cost(class.at(), true, cost_ns);
            assert!(!procedure.is_due(executions), "counts decide nothing");
            if procedure.is_compared_at(now_ns) {
                procedure.compare(now_ns, || StageCounts::costs_of([&counts].into_iter()));
                assert!(!procedure.is_compared_at(now_ns + 1), "only after a time");
            }
        }
        assert_eq!(procedure.class(), ExecutionClass::Conventional, "{made:?}");
        assert!(made[0] > 1_500 && made[2] > 10, "{made:?}");
        let [conventional, two_stage, _] = procedure.costs_ns().unwrap().map(Option::unwrap);
        assert!((conventional - 1e5).abs() < 1e4 && (two_stage - 2e5).abs() < 2e4, "{:?}", procedure.costs_ns());
        // All probes are made, whatever the number of threads that execute.
        let probes = procedure.probes.load(Ordering::Relaxed).to_le_bytes();
        let left = probes.iter().map(|probes| u64::from(*probes)).sum::<u64>();
        let others = (0..=left).filter(|_| procedure.class_of_next(0) != ExecutionClass::Conventional);
        assert_eq!(others.count() as u64, left);
        assert_eq!(hybrid(ClassMemory::Cumulative).costs_ns(), None, "by the paper's rule, nothing is measured");
    }
}
