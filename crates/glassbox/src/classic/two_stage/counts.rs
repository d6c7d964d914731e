//! Counts of each procedure's stages and costs. Each session counts for itself, so that counting costs a few additions;
//! a session that classifies adds up the counts of all.

use super::chooser::{CLASSES, ClassCosts};
use crate::executed::Count;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one procedure in one session.
        #[derive(Debug, Default)]
        pub(crate) struct StageCounts {
            $($(#[$doc])* pub(crate) $name: Count,)*
            pub(crate) costs: [[CostCount; 2]; CLASSES],
        }

        /// The sums of all sessions.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct StageSums {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl StageSums {
            /// The sums of these sessions.
            pub(crate) fn of<'a>(sessions: impl Iterator<Item = &'a StageCounts>) -> Self {
                let mut sums = Self::default();
                for counts in sessions {
                    $(sums.$name += counts.$name.get();)*
                }
                sums
            }

            /// The differences to the sums of before.
            pub(crate) fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(before.$name),)* }
            }
        }
    };
}

counts! {
    /// Executions that ended.
    executions,
    /// Executions that needed a page which was not in memory.
    needed_two,
    /// Fetch stages.
    fetches,
    /// Conversions of an operate stage at a missing page.
    conversions,
    /// Operate stages that were not converted.
    operates,
    /// Operate stages that were not converted, and came after a fetch stage or were optimistic.
    fetched,
    /// Accesses in operate stages.
    accesses,
    /// Accesses in operate stages that came after a fetch stage, or were optimistic.
    fetched_accesses,
    /// Accesses in such stages to pages that were not in memory although they were fetched.
    missed,
    /// Executions whose fetch stage was by declaration alone.
    declared,
    /// Executions that read a page under locks although their fetch stage was by declaration alone.
    declared_missed,
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
    /// Maximum of pages pinned by one of them.
    most_pinned,
    /// Time of fetch stages, nanoseconds.
    fetch_ns,
    /// Time of reads in fetch stages, nanoseconds.
    fetch_read_ns,
    /// Time of operate stages up to the end of their conversion, nanoseconds.
    converted_ns,
    /// Time of operate stages that were not converted, nanoseconds.
    operate_ns,
    /// Time of reads in operate stages, nanoseconds.
    operate_read_ns,
    /// Time of waits for locks, nanoseconds.
    lock_wait_ns,
}

/// Counted executions of one class, with or without a need for the disk, and their costs.
#[derive(Debug, Default)]
pub(crate) struct CostCount {
    executions: Count,
    cost_ns: Count,
}

impl StageCounts {
    /// Counts an execution of the class at this position.
    #[inline(always)]
    pub(crate) fn add_cost(&self, class: usize, needed_disk: bool, cost_ns: u64) {
        let CostCount { executions, cost_ns: sum } = &self.costs[class][usize::from(needed_disk)];
        executions.add_one();
        sum.add(cost_ns);
    }

    /// The costs of all classes, of these sessions.
    pub(crate) fn costs_of<'a>(sessions: impl Iterator<Item = &'a Self>) -> [ClassCosts; CLASSES] {
        let mut sums = [ClassCosts::default(); CLASSES];
        for counts in sessions {
            for (sum, count) in sums.iter_mut().flatten().zip(counts.costs.iter().flatten()) {
                sum.executions += count.executions.get();
                sum.cost_ns += count.cost_ns.get();
            }
        }
        sums
    }
}
