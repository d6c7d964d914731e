//! Counts of each procedure's stages, and from them its class under the hybrid policy.
//!
//! Each session counts for itself, so that counting costs a few additions; who classifies adds up what all have
//! counted.

use std::any::TypeId;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::config::{ClassMemory, ExecutionPolicy, HybridPolicy};
use crate::executed::Count;

/// Executions of a session after which a procedure is classified again.
const CLASSIFIED_EVERY: u64 = 32;
/// Of the executions of a procedure that is executed conventionally, one in so many is in two stages, to see whether
/// that has become better.
const PROBED_EVERY: u64 = 64;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one procedure in one session.
        #[derive(Debug, Default)]
        pub(crate) struct StageCounts {
            $($(#[$doc])* pub(crate) $name: Count,)*
        }

        /// The sums of all sessions.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct StageSums {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl StageSums {
            /// Of these sessions.
            pub(crate) fn of<'a>(sessions: impl Iterator<Item = &'a StageCounts>) -> Self {
                let mut sums = Self::default();
                for counts in sessions {
                    $(sums.$name += counts.$name.get();)*
                }
                sums
            }

            fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(before.$name),)* }
            }
        }
    };
}

counts! {
    /// Executions that ended.
    executions,
    /// Of these, executions that needed a page which was not in memory.
    needed_two,
    /// Fetch stages.
    fetches,
    /// Of these, conversions of an operate stage at a missing page.
    conversions,
    /// Operate stages that were not converted.
    operates,
    /// Accesses in operate stages.
    accesses,
    /// Pages read in fetch stages.
    fetch_reads,
    /// Pages read in operate stages, under locks.
    operate_reads,
    /// Executions that read a page under locks.
    operate_missed,
    /// Accesses of the operate stage with most of them in a session, added up over sessions.
    most_accesses,
    /// Pages pinned by executions that ended.
    pinned,
    /// The most that one of them pinned.
    most_pinned,
    /// Time of fetch stages, nanoseconds.
    fetch_ns,
    /// Time of these operate stages, nanoseconds.
    operate_ns,
}

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
    pub(crate) policy: ExecutionPolicy,
    class: AtomicU8,
    memory: Mutex<Remembered>,
}

/// What the hybrid policy remembers; older executions count less.
#[derive(Debug, Default)]
struct Remembered {
    seen: StageSums,
    executions: f64,
    needed_two: f64,
    accesses: f64,
    operate_reads: f64,
}

impl ProcedureStages {
    pub(crate) fn new(id: TypeId, name: &'static str, policy: ExecutionPolicy) -> Self {
        let class = match policy {
            ExecutionPolicy::Conventional => ExecutionClass::Conventional,
            ExecutionPolicy::TwoStage | ExecutionPolicy::Hybrid(_) => ExecutionClass::TwoStage,
            ExecutionPolicy::Optimistic => ExecutionClass::Optimistic,
        };
        Self { id, name, policy, class: AtomicU8::new(class as u8), memory: Mutex::default() }
    }

    /// Whether its executions may have two stages.
    #[inline(always)]
    pub(crate) fn is_staged(&self) -> bool {
        self.policy != ExecutionPolicy::Conventional
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
        match self.class() {
            ExecutionClass::Conventional if executions % PROBED_EVERY == PROBED_EVERY - 1 && self.forgets() => {
                ExecutionClass::TwoStage
            }
            class => class,
        }
    }

    fn forgets(&self) -> bool {
        matches!(self.policy, ExecutionPolicy::Hybrid(HybridPolicy { memory: ClassMemory::HalfLife(_), .. }))
    }

    /// Whether a session that has counted so many executions is to classify the procedure.
    #[inline(always)]
    pub(crate) fn is_due(&self, executions: u64) -> bool {
        executions.is_multiple_of(CLASSIFIED_EVERY) && matches!(self.policy, ExecutionPolicy::Hybrid(_))
    }

    /// Classifies the procedure from what all sessions have counted (Charm, §3.3).
    #[cold]
    pub(crate) fn classify(&self, sums: &StageSums) {
        let ExecutionPolicy::Hybrid(policy) = self.policy else { return };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.add(sums, policy.memory);
        let class = match memory.ratios() {
            (missed, _) if missed > f64::from(policy.missed_ppm) / 1e6 => ExecutionClass::Conventional,
            (_, two_stage) if two_stage > f64::from(policy.two_stage_ppm) / 1e6 => ExecutionClass::TwoStage,
            _ => ExecutionClass::Optimistic,
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
            (&mut self.accesses, new.accesses),
            (&mut self.operate_reads, new.operate_reads),
        ] {
            *sum = *sum * kept + new as f64;
        }
    }

    /// Accesses that read under locks, of all; executions that needed two stages, of all.
    fn ratios(&self) -> (f64, f64) {
        (self.operate_reads / self.accesses.max(1.0), self.needed_two / self.executions.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::{ExecutionClass, ProcedureStages, StageSums};
    use crate::config::{ClassMemory, ExecutionPolicy, HybridPolicy};

    fn hybrid(memory: ClassMemory) -> ProcedureStages {
        let policy = ExecutionPolicy::Hybrid(HybridPolicy { memory, ..HybridPolicy::default() });
        ProcedureStages::new(TypeId::of::<()>(), "it", policy)
    }

    /// Sums after so many executions, of which so many needed two stages, and so many of their accesses, ten each,
    /// read under locks.
    fn sums(executions: u64, needed_two: u64, operate_reads: u64) -> StageSums {
        StageSums { executions, needed_two, operate_reads, accesses: executions * 10, ..StageSums::default() }
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
        for ((executions, needed_two, operate_reads), class) in cases {
            let procedure = hybrid(ClassMemory::Cumulative);
            assert_eq!(procedure.class(), ExecutionClass::TwoStage, "the default");
            procedure.classify(&sums(executions, needed_two, operate_reads));
            assert_eq!(procedure.class(), class, "{executions} executions, {needed_two}, {operate_reads}");
        }
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
}
