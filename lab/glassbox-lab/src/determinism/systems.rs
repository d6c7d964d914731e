//! The systems that the figures compare, with their names and colours.

use glassbox_cluster::SchedulerKind;
use glassbox_sim::determinism::{ConflictRule, DeterministicSettings, ProcessModel, SystemKind, TwinSettings};

use crate::figures::Colour;

// Names of rows.
pub(super) const HASH: &str = "deterministic, hash";
pub(super) const VLL: &str = "deterministic, VLL";
pub(super) const TWIN: &str = "nondeterministic";
pub(super) const NO_2PC: &str = "nondeterministic, no 2PC";
pub(super) const NO_DEADLOCKS: &str = "nondeterministic, no distributed deadlocks";
pub(super) const WAIT_DIE: &str = "wait-die";
pub(super) const NO_WAIT: &str = "no-wait";
pub(super) const SORTED: &str = "sorted";

/// Inputs of a node with locks, by VLL. Its analysis walks the queue of all of them, and its counters are
/// shared by too many keys beyond.
const VLL_IN_FLIGHT: usize = 400;
/// Calls that queue at a node of the fairer variants, which lose more by long queues than the paper's.
const FAIR_QUEUE: usize = 20;
/// Threads of a node that block; the authors needed very many.
const THREADS: usize = 200;

/// The deterministic system.
pub(super) fn deterministic(scheduler: SchedulerKind) -> SystemKind {
    let paper = DeterministicSettings::new(scheduler);
    let max_in_flight = if scheduler == SchedulerKind::Vll { VLL_IN_FLIGHT } else { paper.max_in_flight };
    SystemKind::Deterministic(DeterministicSettings { max_in_flight, ..paper })
}

/// The paper's twin.
pub(super) fn twin() -> SystemKind {
    SystemKind::Twin(TwinSettings::new(ConflictRule::Detect))
}

/// A system by its name.
pub(super) fn named(name: &str) -> SystemKind {
    let fair = |rule| SystemKind::Twin(TwinSettings { queued_calls: FAIR_QUEUE, ..TwinSettings::new(rule) });
    match name {
        HASH => deterministic(SchedulerKind::OrderedLocks),
        VLL => deterministic(SchedulerKind::Vll),
        NO_2PC => SystemKind::Twin(TwinSettings { two_phase_commit: false, ..TwinSettings::new(ConflictRule::Detect) }),
        NO_DEADLOCKS => SystemKind::Twin(TwinSettings::new(ConflictRule::DetectWithoutDeadlocks)),
        WAIT_DIE => fair(ConflictRule::WaitDie),
        NO_WAIT => fair(ConflictRule::NoWait),
        SORTED => fair(ConflictRule::Sorted),
        _ => twin(),
    }
}

/// The same with threads that block, if it is the twin.
pub(super) fn with_threads(system: &SystemKind) -> Option<SystemKind> {
    match system {
        SystemKind::Deterministic(_) => None,
        SystemKind::Twin(kind) => {
            Some(SystemKind::Twin(TwinSettings { process: ProcessModel::BlockingThreads(THREADS), ..kind.clone() }))
        }
    }
}

/// A system's colour in all figures.
pub(super) fn colour(row: &str) -> Colour {
    match row {
        _ if row.starts_with(HASH) => Colour(0x4e, 0x79, 0xa7),
        _ if row.starts_with("deterministic") => Colour(0x2f, 0x8f, 0x4e),
        _ if row.starts_with(NO_2PC) => Colour(0xb0, 0x7a, 0xa1),
        _ if row.starts_with("two-phase, no-wait") => Colour(0xb0, 0x7a, 0xa1),
        _ if row.starts_with("nondeterministic") || row.starts_with("two-phase") => Colour(0xe1, 0x57, 0x59),
        _ => Colour(0x8c, 0x8c, 0x8c),
    }
}
