//! The durations of a member's work, as its driver measured them.

use serde::{Deserialize, Serialize};

use crate::protocol::outbox::Work;

/// Kinds of work.
const KINDS: usize = 9;

/// For each kind of work, how often it was done and how long it took. The numbers only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    works: [Spent; KINDS],
    messages: Spent,
}

/// A count, and the sum of the durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Spent {
    times: u64,
    ns: u64,
}

impl Spent {
    fn add(&mut self, ns: u64) {
        self.times += 1;
        self.ns += ns;
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self { times: of(self.times, other.times), ns: of(self.ns, other.ns) }
    }

    fn mean_us(self) -> Option<f64> {
        (self.times >= ENOUGH).then(|| self.ns as f64 / self.times as f64 / 1e3)
    }
}

/// The minimum count for a mean.
const ENOUGH: u64 = 5;

fn index(work: Work) -> usize {
    match work {
        Work::Single { undo, watched } => usize::from(undo) * 2 + usize::from(watched),
        Work::Fragment { watched } => 4 + usize::from(watched),
        Work::Stopped => 6,
        Work::Undo => 7,
        Work::Decide => 8,
    }
}

/// The approximate share of a kind of work in a mixture: *Low Overhead Concurrency Control*, Table 2.
fn share(work: Work) -> u64 {
    match work {
        Work::Single { .. } => 20,
        Work::Fragment { .. } => 14,
        Work::Stopped => 6,
        Work::Undo | Work::Decide => 3,
    }
}

impl Tally {
    /// Adds work that was done together in this time.
    pub fn did_all(&mut self, works: impl Iterator<Item = Work> + Clone, ns: u64) {
        let all: u64 = works.clone().map(share).sum();
        works.for_each(|work| self.did(work, ns * share(work) / all));
    }

    /// Adds work that was done in this time.
    pub fn did(&mut self, work: Work, ns: u64) {
        self.works[index(work)].add(ns);
    }

    /// Adds a message that was received or sent in this time.
    pub fn message(&mut self, ns: u64) {
        self.messages.add(ns);
    }

    /// The increase since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64 + Copy) -> Self {
        let works = std::array::from_fn(|at| self.works[at].with(other.works[at], of));
        Self { works, messages: self.messages.with(other.messages, of) }
    }

    /// The mean duration of a kind of work, if it was done a few times.
    pub fn mean_us(&self, work: Work) -> Option<f64> {
        self.works[index(work)].mean_us()
    }

    /// The mean duration of a message, if there were a few.
    pub fn message_us(&self) -> Option<f64> {
        self.messages.mean_us()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_mean() {
        let single = |undo, watched| Work::Single { undo, watched };
        let fragment = |watched| Work::Fragment { watched };
        let kinds = [
            single(false, false),
            single(false, true),
            single(true, false),
            single(true, true),
            fragment(false),
            fragment(true),
            Work::Stopped,
            Work::Undo,
            Work::Decide,
        ];
        let mut tally = Tally::default();
        assert_eq!(tally.mean_us(Work::Undo), None);
        for (at, &work) in kinds.iter().enumerate() {
            (0..10).for_each(|_| tally.did(work, 1_000 * at as u64));
        }
        let before = tally;
        (0..10).for_each(|_| tally.did(Work::Undo, 100_000));
        assert!(kinds.iter().enumerate().all(|(at, &work)| before.mean_us(work) == Some(at as f64)));
        assert_eq!(tally.since(before).mean_us(Work::Undo), Some(100.0));
        assert_eq!(before.and(tally.since(before)), tally);
        let mut together = Tally::default();
        (0..5).for_each(|_| together.did_all([Work::Undo, single(false, false)].into_iter(), 23_000));
        assert_eq!((together.mean_us(Work::Undo), together.mean_us(single(false, false))), (Some(3.0), Some(20.0)));
    }
}
