//! Executors that are not serializable, each for one well-known reason: the canaries of the whole pipeline.
//!
//! A checker that has never found anything proves nothing. These run on any executor that is right by itself, through
//! the same clients and the same checker.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::executor::{Executor, Submission};
use super::history::{Outcome, Seen, Step};

/// A way of being broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededBug {
    /// What a transaction reads and what it writes are transactions of their own, as if read locks were given up early.
    ReadsApart,
    /// Each scan is a transaction of its own, as if rows were locked but not the gaps between them.
    ScansApart,
    /// Each step is.
    StepsApart,
    /// What aborts is kept, as if nothing were undone.
    AbortsKept,
}

/// All of them, with the names that programs take.
pub const SEEDED_BUGS: [(&str, SeededBug); 4] = [
    ("reads-apart", SeededBug::ReadsApart),
    ("scans-apart", SeededBug::ScansApart),
    ("steps-apart", SeededBug::StepsApart),
    ("aborts-kept", SeededBug::AbortsKept),
];

/// An executor with a fault.
#[derive(Debug)]
pub struct Broken<E> {
    /// What it breaks.
    pub inner: E,
    /// How.
    pub fault: SeededBug,
}

impl SeededBug {
    /// Steps of different kinds are not of one transaction; `None` is of no kind but its own.
    fn kind(self, step: &Step) -> Option<bool> {
        let reads = matches!(step, Step::Read(_) | Step::Look(_) | Step::Scan(_));
        match self {
            Self::ReadsApart => Some(reads),
            Self::ScansApart => (!matches!(step, Step::Scan(_))).then_some(true),
            Self::StepsApart => None,
            Self::AbortsKept => Some(true),
        }
    }
}

impl<E: Executor> Executor for Broken<E> {
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        let aborts = steps.contains(&Step::Abort);
        if self.fault == SeededBug::AbortsKept && aborts {
            let kept: Vec<_> = steps.iter().copied().filter(|step| *step != Step::Abort).collect();
            return self.inner.execute(way, &kept).map(|_| Outcome::Aborted);
        }
        // What aborts does so as a whole: the faults are one at a time.
        let same = |left: &Step, right: &Step| {
            aborts || self.fault.kind(left).is_some_and(|kind| self.fault.kind(right) == Some(kind))
        };
        let mut all = Vec::new();
        for part in steps.chunk_by(same) {
            match self.inner.execute(way, part)? {
                Outcome::Committed(seen) => all.extend(seen),
                outcome => return Ok(outcome),
            }
            // Others are to come between, on a machine with few cores too.
            std::thread::yield_now();
        }
        Ok(Outcome::Committed(all))
    }
}

/// Reads from a copy that is some transactions behind, writes to the first.
#[derive(Debug)]
pub struct Stale<E> {
    first: E,
    copy: E,
    behind: Mutex<VecDeque<Vec<Step>>>,
    most_behind: usize,
}

impl<E: Executor> Stale<E> {
    /// `copy` is another, equally empty one.
    pub fn new(first: E, copy: E, most_behind: usize) -> Self {
        Self { first, copy, behind: Mutex::new(VecDeque::new()), most_behind }
    }
}

impl<E: Executor> Executor for Stale<E> {
    fn execute(&self, way: Submission, steps: &[Step]) -> Result<Outcome, String> {
        // The copy must do the writes in the same order, so they are done one after the other.
        let mut behind = self.behind.lock().map_err(|_| "another client panicked".to_owned())?;
        let Outcome::Committed(mut seen) = self.first.execute(way, steps)? else { return Ok(Outcome::Aborted) };
        let founding = steps.iter().any(|step| matches!(step, Step::Found(_)));
        behind.push_back(steps.to_vec());
        while behind.len() > self.most_behind || founding && !behind.is_empty() {
            self.copy.execute(way, &behind.pop_front().unwrap_or_default())?;
        }
        for (step, seen) in steps.iter().zip(&mut seen) {
            if matches!(step, Step::Read(_) | Step::Look(_) | Step::Scan(_)) {
                let Outcome::Committed(old) = self.copy.execute(way, &[*step])? else { continue };
                *seen = old.into_iter().next().unwrap_or(Seen::Nothing);
            }
        }
        Ok(Outcome::Committed(seen))
    }
}
