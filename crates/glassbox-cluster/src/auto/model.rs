//! A model of the throughput of each scheme under a load, term by term.
//!
//! *Low Overhead Concurrency Control*, section 6, gives the time that a transaction costs the partitions under each
//! scheme, from a few constants and the share of distributed transactions. The model here adds terms for what the paper
//! leaves out:
//!
//! - any number of partitions, participants and rounds;
//! - the imbalance of partitions under blocking;
//! - that every run while a decision is pending is speculative, or locks, and that the decision queues behind calls
//!   that arrived before it;
//! - runs that are repeated after an abort;
//! - hot rows: while one is locked, transactions that need it have run in vain and wait;
//! - the capacity of coordinators, each at full use, and of a number of waiting clients.

use serde::{Deserialize, Serialize};

use super::statistics::Statistics;
use super::times::Times;
use crate::protocol::configuration::SchemeKind;
use crate::scheme::depth_limit::deepest;

/// A part of a transaction's cost, in microseconds of all partitions together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The purpose.
    pub name: String,
    /// The cost.
    pub us: f64,
}

/// A bound of the throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The bottleneck.
    pub name: String,
    /// Transactions a second.
    pub per_second: f64,
}

/// The prediction for a scheme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The scheme.
    pub scheme: SchemeKind,
    /// Transactions a second: the lowest of the limits.
    pub per_second: f64,
    /// The cost of a transaction, averaged over single-partition and distributed ones.
    pub terms: Vec<Term>,
    /// The bounds; the partitions' time first.
    pub limits: Vec<Limit>,
}

/// Predicts the throughput of a scheme.
pub fn predict(scheme: SchemeKind, load: &Statistics, times: &Times) -> Prediction {
    let load = Load { s: *load, t: *times, f: load.several.clamp(0.0, 1.0) };
    // The work during pending decisions depends on the throughput, and the throughput on it: a fixed point.
    let mut prediction = load.sum(scheme, load.partitions() * 1e6 / (load.single() + 1e-3));
    for _ in 0..ROUNDS {
        let per_second = prediction.per_second;
        prediction = load.sum(scheme, per_second);
        prediction.per_second = f64::midpoint(per_second, prediction.per_second);
    }
    prediction
}

/// Enough iterations to converge.
const ROUNDS: u32 = 24;
/// With more aborts than this, waiting happens inside the scheme, and decisions do not queue.
const SOME_ABORTS: f64 = 0.002;
/// A row is hot when it is written this many times more often than a row of a single client.
const FOUGHT_FOR: f64 = 2.5;
/// The share of a partition's time that is lost while a hot row is locked, once for each round, because too few of the
/// arrived calls need other rows. By simulation: 0.3 to 0.5, for 2 to 100 % of distributed transactions and 40 to 400
/// µs of round trip.
const IDLE: f64 = 0.5;

/// The short names of the formulas.
struct Load {
    s: Statistics,
    t: Times,
    /// The share of distributed transactions.
    f: f64,
}

impl Load {
    fn partitions(&self) -> f64 {
        f64::from(self.s.partitions.max(1))
    }

    /// A single-partition transaction without undo buffer.
    fn single(&self) -> f64 {
        self.ends(self.t.single_us)
    }

    fn kept(&self) -> f64 {
        self.ends(self.t.single_us * self.t.keeping)
    }

    fn locked(&self) -> f64 {
        self.ends(self.t.single_us * self.t.keeping * (1.0 + self.t.locking))
    }

    /// Some stop early.
    fn ends(&self, us: f64) -> f64 {
        let aborts = self.s.single_aborts;
        (1.0 - aborts) * us + aborts * self.t.stopped_us
    }

    /// The fragments and decisions of a distributed transaction; one participant may stop early, and the others undo
    /// their runs.
    fn several(&self, locking: f64) -> f64 {
        let (Statistics { participants, rounds, several_aborts, .. }, t) = (self.s, &self.t);
        let fragment = t.fragment_us * (1.0 + locking);
        let saved = (fragment - t.stopped_us).max(0.0) - (participants - 1.0) * t.undo_us;
        participants * (rounds * fragment + t.decide_us) - several_aborts * saved
    }

    /// The time from the end of a fragment to the coordinator's next message, on an idle partition.
    fn stall(&self) -> f64 {
        self.s.round_trip_us + (self.s.participants + 1.0) * self.t.message_us
    }

    /// How long a message queues at a partition if this throughput keeps all clients waiting there.
    fn queue(&self, per_second: f64) -> f64 {
        let passes = 1.0 - self.f + self.f * self.s.rounds;
        ((self.s.clients * 1e6 / per_second.max(1.0) - self.away()) / passes).max(0.0)
    }

    /// How long a call is not at a partition.
    fn away(&self) -> f64 {
        let several = (self.s.rounds + 1.0) * self.s.round_trip_us + 4.0 * self.t.message_us;
        (1.0 - self.f) * self.s.round_trip_us + self.f * several
    }

    /// The share of a partition's transactions that arrive while a distributed one is undecided for this long.
    fn during(&self, undecided_us: f64, per_second: f64) -> f64 {
        let others = per_second * self.f * self.s.participants / self.partitions() / 1e6;
        1.0 - (-others * undecided_us).exp()
    }

    fn sum(&self, scheme: SchemeKind, per_second: f64) -> Prediction {
        let terms = match scheme {
            SchemeKind::Blocking => self.blocking(),
            SchemeKind::Speculation | SchemeKind::LimitedSpeculation | SchemeKind::LocalSpeculation => {
                self.speculation(scheme, per_second)
            }
            // Recording accesses costs about as much as locks; the validation is left out.
            SchemeKind::Locking | SchemeKind::ForcedLocking | SchemeKind::TwoPhase(_) | SchemeKind::Occ => {
                self.locking(scheme, per_second)
            }
            SchemeKind::Deterministic(_) => unreachable!("no cluster changes to it: {scheme}"),
        };
        let us: f64 = terms.iter().map(|term| term.us).sum();
        let mut limits = vec![limit("the partitions", self.partitions() * 1e6 / us.max(1e-3))];
        if self.f > 0.0 && !scheme.clients_coordinate() {
            let all = f64::from(self.s.coordinators.max(1));
            limits.push(limit("the coordinators", all * 1e6 / (self.f * self.coordinator()).max(1e-3)));
        }
        let at_least = self.away() + (1.0 - self.f) * self.single() + self.f * self.several(0.0) / self.s.participants;
        limits.push(limit("the waiting clients", self.s.clients * 1e6 / at_least));
        let per_second = limits.iter().map(|limit| limit.per_second).fold(f64::INFINITY, f64::min);
        Prediction { scheme, per_second, terms, limits }
    }

    /// Section 6.1. Imbalance: between two distributed transactions the number of single-partition ones is geometric
    /// with mean (1−f)/f, so one of two partitions has on average (1−f)/√(1−(1−f)²) more.
    fn blocking(&self) -> Vec<Term> {
        let (f, participants, rounds) = (self.f, self.s.participants, self.s.rounds);
        let unequal = (1.0 - f) * (f / (2.0 - f)).sqrt() * self.single() / 2.0;
        vec![
            term("runs on one partition", (1.0 - f) * self.single()),
            term("fragments and decisions", f * self.several(0.0)),
            term("idle, until the coordinator's message", f * participants * rounds * self.stall()),
            term("idle, while other partitions have more to do", participants * unequal),
        ]
    }

    /// Section 6.2. In all rounds but the last a partition waits as under blocking.
    fn speculation(&self, scheme: SchemeKind, per_second: f64) -> Vec<Term> {
        let (f, participants, rounds) = (self.f, self.s.participants, self.s.rounds);
        let aborts = self.s.several_aborts;
        let behind = if aborts > SOME_ABORTS { 0.0 } else { self.queue(per_second) };
        let during = self.during(self.stall() + behind, per_second);
        let depth = if scheme == SchemeKind::LimitedSpeculation { deepest(aborts) } else { f64::INFINITY };
        let undone = self.stall().min(depth * self.between());
        let again = undone * (1.0 + self.t.undo_us / self.kept().max(1e-3));
        let mut terms = vec![
            term("runs on one partition, not speculative", (1.0 - f) * (1.0 - during) * self.single()),
            term("runs on one partition, speculative", (1.0 - f) * during * self.kept()),
            term("fragments and decisions", f * self.several(0.0)),
            term("idle, in all rounds but the last", f * participants * (rounds - 1.0) * self.stall()),
            term("runs that are undone and repeated", f * aborts * participants * again),
        ];
        if scheme == SchemeKind::LimitedSpeculation {
            // At most `depth` and one more are undecided at a time.
            let waits = ((self.stall() + self.between()) / (depth + 1.0) - self.between()).max(0.0);
            terms.push(term("idle, at the limit of speculation", f * participants * waits));
        }
        if scheme == SchemeKind::LocalSpeculation {
            // One after the other, with only single-partition transactions in between.
            let filled = ((1.0 - f) * self.kept() / participants / f.max(1e-6)).min(self.stall());
            terms.push(term(
                "idle, until the transaction before is decided",
                f * participants * (self.stall() - filled),
            ));
        }
        terms
    }

    /// A partition's work for a distributed transaction and the others until the next one.
    fn between(&self) -> f64 {
        let others = (1.0 - self.f) / (self.f * self.s.participants).max(1e-6);
        self.t.fragment_us + self.t.decide_us + others * self.kept()
    }

    /// Section 6.3. Nothing is locked while no distributed transaction is active.
    fn locking(&self, scheme: SchemeKind, per_second: f64) -> Vec<Term> {
        let (f, rounds) = (self.f, self.s.rounds);
        let undecided = rounds * (self.s.round_trip_us + self.queue(per_second));
        let during = if scheme.always_locks() { 1.0 } else { self.during(undecided, per_second) };
        // A transaction that needs a locked row runs up to it, and again later.
        let (wants, hold) = (self.wants(), self.hold());
        let held = (per_second * f * wants / self.partitions() * hold / 1e6).min(1.0);
        vec![
            term("runs on one partition, without locks", (1.0 - f) * (1.0 - during) * self.single()),
            term("runs on one partition, with locks", (1.0 - f) * during * self.locked()),
            term("fragments and decisions, with locks", f * self.several(self.t.locking)),
            term("runs up to a locked row", wants * held * self.t.stopped_us),
            term("idle, while hot rows are locked", IDLE * f * wants * rounds * hold),
        ]
    }

    /// The coordinator's cost of a distributed transaction: submission, fragments, results, decisions, answer.
    fn coordinator(&self) -> f64 {
        let Statistics { participants, rounds, .. } = self.s;
        self.t.message_us * (2.0 + participants * (2.0 * rounds + 1.0))
    }

    /// The probability that a transaction writes the hottest row of one of its partitions; 0 if no row is hot.
    fn wants(&self) -> f64 {
        let Statistics { participants, hottest, clients, .. } = self.s;
        if hottest < FOUGHT_FOR / clients.max(1.0) { 0.0 } else { hottest * ((1.0 - self.f) + self.f * participants) }
    }

    /// How long a distributed transaction locks a row.
    fn hold(&self) -> f64 {
        let fragment = self.t.fragment_us * (1.0 + self.t.locking);
        self.s.rounds * (fragment + self.s.round_trip_us) + self.t.decide_us
    }
}

fn term(name: &str, us: f64) -> Term {
    Term { name: name.to_owned(), us }
}

fn limit(name: &str, per_second: f64) -> Limit {
    Limit { name: name.to_owned(), per_second }
}

#[cfg(test)]
mod tests;
