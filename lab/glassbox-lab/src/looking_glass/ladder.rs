//! The ladder: the stacks in the order in which the paper removes components (its Figure 7), and the six components to
//! which its eleven switches belong.

use crate::figures::Colour;
use crate::points::Points;

/// A component of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Component {
    Keys,
    Logging,
    Locking,
    Latching,
    BufferManager,
    /// The rest of the engine; the useful work, the kernel's, is a part of it.
    Remaining,
}

impl Component {
    /// All, in the order in which they are removed.
    pub const ALL: [Self; 6] =
        [Self::Keys, Self::Logging, Self::Locking, Self::Latching, Self::BufferManager, Self::Remaining];

    /// Its name in the paper.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keys => "B-tree keys",
            Self::Logging => "logging",
            Self::Locking => "locking",
            Self::Latching => "latching",
            Self::BufferManager => "buffer manager",
            Self::Remaining => "remaining",
        }
    }

    /// Its colour in all figures.
    pub const fn colour(self) -> Colour {
        match self {
            Self::Keys => Colour(0x4e, 0x79, 0xa7),
            Self::Logging => Colour(0xf2, 0x8e, 0x2b),
            Self::Locking => Colour(0xe1, 0x57, 0x59),
            Self::Latching => Colour(0x76, 0xb7, 0xb2),
            Self::BufferManager => Colour(0x59, 0xa1, 0x4f),
            Self::Remaining => Colour(0xb6, 0xbd, 0xc7),
        }
    }

    /// The stack before it is removed, and the one after; no stack is after the last component.
    pub fn between(self) -> (&'static str, Option<&'static str>) {
        let last_above = |at: usize| RUNGS[..at].last().map_or(FULL, |rung| rung.name);
        let first = RUNGS.iter().position(|rung| rung.component == Some(self));
        let before = last_above(first.unwrap_or(RUNGS.len()));
        let last = RUNGS.iter().rfind(|rung| rung.component == Some(self));
        (before, last.map(|rung| rung.name))
    }
}

/// The colour of the useful work, the kernel's.
pub const USEFUL: Colour = Colour(0x3c, 0x46, 0x55);

/// A stack of the ladder.
#[derive(Debug, Clone, Copy)]
pub struct Rung {
    /// The stack's name.
    pub name: &'static str,
    /// The switch that was removed, in the words of Figure 7.
    pub switch: &'static str,
    /// The component that it belongs to.
    pub component: Option<Component>,
}

/// The first stack.
pub const FULL: &str = "full";
/// The full stack whose answers wait for the disk.
pub const FORCED: &str = "full-forced";
/// The same with 64 transactions in flight.
pub const GROUPED: &str = "full-forced-64";
/// The last stack that is an engine.
pub const BARE: &str = "bare";
/// The hand-written kernel: the paper's "optimal".
pub const KERNEL: &str = "kernel";

/// The engine's stacks, from full to bare.
///
/// The paper's Figure 7 does not say to which component "Xactions" belongs. Here it belongs to the buffer manager, so
/// that the rest is, as in the text of section 2, "Shore after we had removed everything".
pub const RUNGS: [Rung; 12] = {
    const fn rung(name: &'static str, switch: &'static str, component: Component) -> Rung {
        Rung { name, switch, component: Some(component) }
    }
    [
        Rung { name: FULL, switch: "everything", component: None },
        rung("integer-keys", "B-tree keys", Component::Keys),
        rung("no-disk-log", "disk log", Component::Logging),
        rung("no-log", "main log", Component::Logging),
        rung("no-lsn", "LSN", Component::Logging),
        rung("no-locks", "locking", Component::Locking),
        rung("no-latches", "latching", Component::Latching),
        rung("no-directory", "dir lookup", Component::BufferManager),
        rung("large-pages", "small page", Component::BufferManager),
        rung("no-pool", "buffer pool", Component::BufferManager),
        rung("no-pages", "page access", Component::BufferManager),
        rung(BARE, "Xactions", Component::BufferManager),
    ]
};

/// The figure of instructions per transaction; rows are stacks, metrics workloads.
pub const INSTRUCTIONS: &str = "instructions";
/// The figure of transactions per second.
pub const THROUGHPUT: &str = "throughput";

/// The figure of the throughput of the stacks beside the ladder, and of some on it in the same rounds.
pub(super) const TIMED_LEFT_OUT: &str = "throughput, one left out";
/// The figure of cycles per transaction, where the processor's counter can be read.
pub(super) const CYCLES: &str = "cycles";

/// A measure of every stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Instructions per transaction.
    Instructions,
    /// Nanoseconds per transaction.
    Time,
    /// Cycles per transaction, where they can be counted.
    Cycles,
}

impl Measure {
    /// Its number for a stack and a workload.
    pub fn of(self, points: &Points, stack: &str, workload: &str) -> Option<f64> {
        match self {
            Self::Instructions => points.value(INSTRUCTIONS, stack, workload),
            Self::Time => points.value(THROUGHPUT, stack, workload).map(|rate| 1e9 / rate),
            Self::Cycles => points.value(CYCLES, stack, workload),
        }
    }

    /// The cost of each component, by the difference of neighbouring stacks: the paper's method. The last has all the
    /// rest.
    pub fn of_components(self, points: &Points, workload: &str) -> Option<[f64; 6]> {
        let mut costs = [0.0; 6];
        for (cost, component) in costs.iter_mut().zip(Component::ALL) {
            let (before, after) = component.between();
            let left = after.map_or(Some(0.0), |after| self.of(points, after, workload))?;
            *cost = self.of(points, before, workload)? - left;
        }
        Some(costs)
    }

    /// The same, in percent of the full stack.
    pub fn shares(self, points: &Points, workload: &str) -> Option<[f64; 6]> {
        let all = self.of(points, FULL, workload)?;
        Some(self.of_components(points, workload)?.map(|cost| 100.0 * cost / all))
    }
}
