//! What each scheme would come to under a load: the model, term by term.
//!
//! *Low Overhead Concurrency Control*, section 6, says how much time of the partitions a transaction takes under each
//! scheme, from a few constants and the share of transactions on several partitions. What it leaves out has terms here:
//!
//! - any number of partitions, participants and rounds;
//! - partitions that wait for each other under blocking, because at random one has more to do;
//! - that what is speculative, or locks, is everything that is run while a decision is on its way, and that it waits on
//!   its way behind the calls that have arrived before it;
//! - what is run again when a transaction aborts on which others were run;
//! - rows that are fought for: while one is held, who wants it waits, and was run in vain;
//! - what coordinators can do, each as much as if it were alone, and what a number of clients that wait can ask for.

use serde::{Deserialize, Serialize};

use super::statistics::Statistics;
use super::times::Times;
use crate::protocol::scheme_kind::SchemeKind;

/// A part of what a transaction takes, in microseconds of partitions, all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What it is for.
    pub name: String,
    /// How much.
    pub us: f64,
}

/// Something that can do only so much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// What.
    pub name: String,
    /// How many transactions a second.
    pub per_second: f64,
}

/// What a scheme would come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Which.
    pub scheme: SchemeKind,
    /// Transactions a second: the least of the limits.
    pub per_second: f64,
    /// What a transaction takes, on average over those on one partition and those on several.
    pub terms: Vec<Term>,
    /// What limits it; the partitions' time first.
    pub limits: Vec<Limit>,
}

/// Predicts what a scheme comes to.
pub fn predict(scheme: SchemeKind, load: &Statistics, times: &Times) -> Prediction {
    let load = Load { s: *load, t: *times, f: load.several.clamp(0.0, 1.0) };
    // How much is run while decisions are awaited depends on how many there are, and the other way round.
    let mut prediction = load.sum(scheme, load.partitions() * 1e6 / (load.single() + 1e-3));
    for _ in 0..ROUNDS {
        let per_second = prediction.per_second;
        prediction = load.sum(scheme, per_second);
        prediction.per_second = f64::midpoint(per_second, prediction.per_second);
    }
    prediction
}

/// Enough to come to rest.
const ROUNDS: u32 = 24;
/// With more aborts than this, what waits does so inside the scheme, and decisions do not wait behind it.
const SOME_ABORTS: f64 = 0.002;
/// A row is fought for when so many times more write it than one client's own.
const FOUGHT_FOR: f64 = 2.5;
/// While such a row is held, so much of a partition's time is lost, once for each round, because too little of what has
/// arrived wants another. By simulation: 0.3 to 0.5, for 2 to 100 % on several and 40 to 400 µs of round trip.
const IDLE: f64 = 0.5;

/// The short names of the formulas.
struct Load {
    s: Statistics,
    t: Times,
    /// The share of transactions on several partitions.
    f: f64,
}

impl Load {
    fn partitions(&self) -> f64 {
        f64::from(self.s.partitions.max(1))
    }

    /// A transaction on one partition: nothing kept.
    fn single(&self) -> f64 {
        self.ends(self.t.single_us)
    }

    fn kept(&self) -> f64 {
        self.ends(self.t.single_us * self.t.keeping)
    }

    fn locked(&self) -> f64 {
        self.ends(self.t.single_us * self.t.keeping * (1.0 + self.t.locking))
    }

    /// Some stop early instead.
    fn ends(&self, us: f64) -> f64 {
        let aborts = self.s.single_aborts;
        (1.0 - aborts) * us + aborts * self.t.stopped_us
    }

    /// The fragments of a transaction on several, and its decisions; one of its partitions may stop early, and the
    /// others take back what they did.
    fn several(&self, locking: f64) -> f64 {
        let (Statistics { participants, rounds, several_aborts, .. }, t) = (self.s, &self.t);
        let fragment = t.fragment_us * (1.0 + locking);
        let saved = (fragment - t.stopped_us).max(0.0) - (participants - 1.0) * t.undo_us;
        participants * (rounds * fragment + t.decide_us) - several_aborts * saved
    }

    /// From the end of a fragment to what comes next from the coordinator, on a partition that does nothing else.
    fn stall(&self) -> f64 {
        self.s.round_trip_us + (self.s.participants + 1.0) * self.t.message_us
    }

    /// How long a message waits at a partition, if so many transactions a second keep all clients waiting there.
    fn queue(&self, per_second: f64) -> f64 {
        let passes = 1.0 - self.f + self.f * self.s.rounds;
        ((self.s.clients * 1e6 / per_second.max(1.0) - self.away()) / passes).max(0.0)
    }

    /// How long a call is not at a partition.
    fn away(&self) -> f64 {
        let several = (self.s.rounds + 1.0) * self.s.round_trip_us + 4.0 * self.t.message_us;
        (1.0 - self.f) * self.s.round_trip_us + self.f * several
    }

    /// The share of a partition's own transactions that arrives while one on several is undecided for so long.
    fn during(&self, undecided_us: f64, per_second: f64) -> f64 {
        let others = per_second * self.f * self.s.participants / self.partitions() / 1e6;
        1.0 - (-others * undecided_us).exp()
    }

    fn sum(&self, scheme: SchemeKind, per_second: f64) -> Prediction {
        let terms = match scheme {
            SchemeKind::Blocking => self.blocking(),
            SchemeKind::Speculation | SchemeKind::LocalSpeculation => self.speculation(scheme, per_second),
            // What is noted costs what locks cost; that it is compared later is left out.
            SchemeKind::Locking | SchemeKind::ForcedLocking | SchemeKind::Occ => self.locking(scheme, per_second),
        };
        let us: f64 = terms.iter().map(|term| term.us).sum();
        let mut limits = vec![limit("the partitions", self.partitions() * 1e6 / us.max(1e-3))];
        if self.f > 0.0 && !scheme.clients_coordinate() {
            let all = f64::from(self.s.coordinators.max(1));
            limits.push(limit("the coordinators", all * 1e6 / (self.f * self.coordinator()).max(1e-3)));
        }
        let at_least = self.away() + (1.0 - self.f) * self.single() + self.f * self.several(0.0) / self.s.participants;
        limits.push(limit("the clients, who wait", self.s.clients * 1e6 / at_least));
        let per_second = limits.iter().map(|limit| limit.per_second).fold(f64::INFINITY, f64::min);
        Prediction { scheme, per_second, terms, limits }
    }

    /// Section 6.1. What is lost by unequal numbers: between two transactions on several, the number of those
    /// on one is geometric with mean (1−f)/f, so one of two partitions has on average (1−f)/√(1−(1−f)²) more.
    fn blocking(&self) -> Vec<Term> {
        let (f, participants, rounds) = (self.f, self.s.participants, self.s.rounds);
        let unequal = (1.0 - f) * (f / (2.0 - f)).sqrt() * self.single() / 2.0;
        vec![
            term("runs on one partition", (1.0 - f) * self.single()),
            term("fragments and decisions", f * self.several(0.0)),
            term("nothing, until the coordinator is heard", f * participants * rounds * self.stall()),
            term("nothing, while others have more to do", participants * unequal),
        ]
    }

    /// Section 6.2. In all rounds but the last a partition waits as under blocking.
    fn speculation(&self, scheme: SchemeKind, per_second: f64) -> Vec<Term> {
        let (f, participants, rounds) = (self.f, self.s.participants, self.s.rounds);
        let aborts = self.s.several_aborts;
        let behind = if aborts > SOME_ABORTS { 0.0 } else { self.queue(per_second) };
        let during = self.during(self.stall() + behind, per_second);
        let again = self.stall() * (1.0 + self.t.undo_us / self.kept().max(1e-3));
        let mut terms = vec![
            term("runs on one partition, certain", (1.0 - f) * (1.0 - during) * self.single()),
            term("runs on one partition, speculative", (1.0 - f) * during * self.kept()),
            term("fragments and decisions", f * self.several(0.0)),
            term("nothing, until all rounds but the last are done", f * participants * (rounds - 1.0) * self.stall()),
            term("runs that are taken back and done again", f * aborts * participants * again),
        ];
        if scheme == SchemeKind::LocalSpeculation {
            // One after the other, with only those on one partition in between.
            let filled = ((1.0 - f) * self.kept() / participants / f.max(1e-6)).min(self.stall());
            terms.push(term("nothing, until the one before is decided", f * participants * (self.stall() - filled)));
        }
        terms
    }

    /// Section 6.3. Where nothing is under way, nothing is locked.
    fn locking(&self, scheme: SchemeKind, per_second: f64) -> Vec<Term> {
        let (f, rounds) = (self.f, self.s.rounds);
        let undecided = rounds * (self.s.round_trip_us + self.queue(per_second));
        let always = scheme == SchemeKind::ForcedLocking;
        let during = if always { 1.0 } else { self.during(undecided, per_second) };
        // Who wants a row that is held is run up to there, and again later.
        let (wants, hold) = (self.wants(), self.hold());
        let held = (per_second * f * wants / self.partitions() * hold / 1e6).min(1.0);
        vec![
            term("runs on one partition, without locks", (1.0 - f) * (1.0 - during) * self.single()),
            term("runs on one partition, with locks", (1.0 - f) * during * self.locked()),
            term("fragments and decisions, with locks", f * self.several(self.t.locking)),
            term("runs up to a row that another holds", wants * held * self.t.stopped_us),
            term("nothing, while rows that all want are held", IDLE * f * wants * rounds * hold),
        ]
    }

    /// What a transaction on several takes of the coordinator: a submission, fragments, results, decisions, the answer.
    fn coordinator(&self) -> f64 {
        let Statistics { participants, rounds, .. } = self.s;
        self.t.message_us * (2.0 + participants * (2.0 * rounds + 1.0))
    }

    /// The chance that a transaction writes the most wanted row of one of its partitions; 0 if nobody fights for it.
    fn wants(&self) -> f64 {
        let Statistics { participants, hottest, clients, .. } = self.s;
        if hottest < FOUGHT_FOR / clients.max(1.0) { 0.0 } else { hottest * ((1.0 - self.f) + self.f * participants) }
    }

    /// How long a transaction on several partitions holds a row under locking.
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
