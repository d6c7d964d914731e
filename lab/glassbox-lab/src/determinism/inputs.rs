//! The inputs of the simulation: constants, and values that were solved from the paper.
//!
//! A claim whose number is an input, or follows from inputs, shows nothing but that they are used: it is *by
//! construction*. So every input can be [changed](ChangedInput), to find claims that move with one and do not say so.

use glassbox_sim::determinism::{EvaluationSettings, OfferedLoad, SystemKind};

pub(super) const LOCK: &str = "time of a lock";
pub(super) const LOCK_BY_VLL: &str = "time of a lock by VLL";
pub(super) const RECORD: &str = "work for a record";
pub(super) const COMPUTATION: &str = "computation of a long transaction";
pub(super) const LOCK_CORE: &str = "a core of five for locks";
pub(super) const MESSAGE: &str = "time of a message";
pub(super) const DELAY: &str = "delay of the network";
pub(super) const LOOKUP: &str = "time of an index lookup";
pub(super) const EDGE: &str = "time of a waits-for edge";
pub(super) const RESUBMISSION: &str = "time until a victim is submitted again";
pub(super) const EPOCH: &str = "length of an epoch";
pub(super) const VOLATILE: &str = "changes of an index entry";
pub(super) const SLOW: &str = "speed of the slow node";
pub(super) const OFFERED: &str = "offered load";
pub(super) const TAIL: &str = "stalls of a node";
pub(super) const IN_FLIGHT: &str = "transactions in flight";
pub(super) const NONE_DISTRIBUTED: &str = "share of distributed transactions";

/// An input.
pub struct Input {
    /// The name by which claims refer to it.
    pub name: &'static str,
    pub(super) value: &'static str,
    pub(super) origin: &'static str,
    change: Change,
}

/// How an input is multiplied by a factor.
enum Change {
    /// A number of nanoseconds, before a figure's own settings.
    Time(fn(&mut EvaluationSettings) -> &mut u64),
    /// Before a figure's own settings.
    Early(fn(&mut EvaluationSettings, f64)),
    /// After them.
    Late(fn(&mut EvaluationSettings, f64)),
    /// Not at all: the input is no quantity.
    Never,
}

fn times(ns: &mut u64, factor: f64) {
    *ns = (*ns as f64 * factor).round() as u64;
}

/// All inputs.
pub static INPUTS: [Input; 21] = [
    Input {
        name: LOCK,
        value: "4 µs",
        origin: "solved from their share of a long transaction, 16 %; of a short one 40 %, the paper: over 30",
        change: Change::Time(|it| &mut it.times.lock_ns),
    },
    Input {
        name: LOCK_BY_VLL,
        value: "1.74 µs",
        origin: "the same, divided by the paper's 2.3 (§3.3.1)",
        change: Change::Time(|it| &mut it.times.lock_vll_ns),
    },
    Input {
        name: RECORD,
        value: "6 µs",
        origin: "solved as the time of a lock",
        change: Change::Time(|it| &mut it.times.record_ns),
    },
    Input {
        name: COMPUTATION,
        value: "150 µs; TPC-C: 150 µs",
        origin: "15 µs for each of 10 records (§3.1.1); TPC-C: assumed",
        change: Change::Time(|it| &mut it.workload.compute_ns),
    },
    Input { name: LOCK_CORE, value: "1 of 5", origin: "the paper's (§3.1)", change: Change::Never },
    Input { name: MESSAGE, value: "10 µs", origin: "assumed", change: Change::Time(|it| &mut it.times.message_ns) },
    Input {
        name: DELAY,
        value: "250 µs",
        origin: "assumed; varied in the figure Sensitivity",
        change: Change::Time(|it| &mut it.times.delay_ns),
    },
    Input { name: LOOKUP, value: "10 µs", origin: "assumed", change: Change::Time(|it| &mut it.times.lookup_ns) },
    Input { name: EDGE, value: "15 µs", origin: "assumed", change: Change::Time(|it| &mut it.times.edge_ns) },
    Input {
        name: RESUBMISSION,
        value: "5 ms",
        origin: "assumed",
        change: Change::Time(|it| &mut it.times.resubmission_ns),
    },
    Input {
        name: EPOCH,
        value: "10 ms",
        origin: "the published code's",
        change: Change::Early(|it, factor| {
            if let SystemKind::Deterministic(kind) = &mut it.system {
                times(&mut kind.epoch_ns, factor);
            }
        }),
    },
    Input {
        name: VOLATILE,
        value: "0 to 100 a second, at random times",
        origin: "the paper's (§3.6); that the times are random is assumed",
        change: Change::Early(|it, factor| it.workload.volatility *= factor),
    },
    Input {
        name: SLOW,
        value: "Figure 5a: 5 cores for 5 and the busy threads; 5b: 0.43",
        origin: "5b: solved from the paper's equilibrium of 70 % refused (§3.5), with 10 % distributed",
        change: Change::Late(|it, factor| {
            if let Some(slow) = &mut it.slow {
                slow.speed *= factor;
            }
        }),
    },
    Input {
        name: OFFERED,
        value: "Figure 5: 0.95 of what a node executes; Figure 7: 0.5",
        origin: "assumed; the paper does not say its load",
        change: Change::Late(|it, factor| {
            if let OfferedLoad::PerSecond(rate) = &mut it.offered {
                *rate *= factor;
            }
        }),
    },
    Input {
        name: NONE_DISTRIBUTED,
        value: "0 to 100 %",
        origin: "the axis of Figures 1, 3 to 6",
        change: Change::Never,
    },
    Input {
        name: "search for a local deadlock",
        value: "1 µs",
        origin: "assumed",
        change: Change::Time(|it| &mut it.times.cycle_ns),
    },
    Input {
        name: "time until a restart without a deadlock",
        value: "1 ms",
        origin: "assumed; wait-die and no-wait",
        change: Change::Time(|it| &mut it.times.retry_ns),
    },
    Input {
        name: "switch of threads",
        value: "8 µs",
        origin: "assumed; threads that block",
        change: Change::Time(|it| &mut it.times.switch_ns),
    },
    Input {
        name: IN_FLIGHT,
        value: "deterministic: 2,000, with VLL 400; twin: 100 for a worker, no new work while 40 wait",
        origin: "the published code's; VLL: as many as its counters can tell apart; production's 128 are in the figure \
                 Transactions in flight",
        change: Change::Early(|it, factor| {
            let more = |count: &mut usize| *count = (*count as f64 * factor).round() as usize;
            match &mut it.system {
                SystemKind::Deterministic(kind) => more(&mut kind.max_in_flight),
                SystemKind::Twin(kind) => {
                    more(&mut kind.max_active);
                    more(&mut kind.max_waiting);
                }
            }
        }),
    },
    Input {
        name: "calls in a node's queue",
        value: "100",
        origin: "the published code's",
        change: Change::Early(|it, factor| {
            if let SystemKind::Twin(kind) = &mut it.system {
                kind.queued_calls = (kind.queued_calls as f64 * factor).round() as usize;
            }
        }),
    },
    Input {
        name: TAIL,
        value: "Figure 8: σ 0.25; 2 ms, 0.5 a second",
        origin: "assumed",
        change: Change::Late(|it, factor| it.times.stalls_per_s *= factor),
    },
];

/// An input, multiplied by a factor.
#[derive(Clone, Copy)]
pub struct ChangedInput {
    /// The place in [`INPUTS`].
    pub input: usize,
    /// The factor.
    pub factor: f64,
}

impl ChangedInput {
    /// Every input that is a quantity.
    pub fn all(factor: f64) -> impl Iterator<Item = Self> {
        let is_quantity = |input: &usize| !matches!(INPUTS[*input].change, Change::Never);
        (0..INPUTS.len()).filter(is_quantity).map(move |input| Self { input, factor })
    }

    pub(super) fn early(self, settings: &mut EvaluationSettings) {
        match INPUTS[self.input].change {
            Change::Time(ns) => times(ns(settings), self.factor),
            Change::Early(change) => change(settings, self.factor),
            Change::Late(_) | Change::Never => {}
        }
    }

    pub(super) fn late(self, settings: &mut EvaluationSettings) {
        if let Change::Late(change) = INPUTS[self.input].change {
            change(settings, self.factor);
        }
    }
}
