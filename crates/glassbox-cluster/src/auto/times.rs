//! The durations of all kinds of work: measured where the scheme in force does them, derived otherwise.

use serde::{Deserialize, Serialize};

use super::tally::Tally;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::outbox::Work;

/// The durations of work in microseconds, by the names of *Low Overhead Concurrency Control*, Table 2, where it has
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// *t_sp*: a single-partition transaction without undo buffer.
    pub single_us: f64,
    /// *t_spS* / *t_sp*: the factor for an undo buffer.
    pub keeping: f64,
    /// *l*: the share that locks add.
    pub locking: f64,
    /// A fragment; with a decision, *t_mpC*.
    pub fragment_us: f64,
    /// Carrying out a decision.
    pub decide_us: f64,
    /// A run that stops early.
    pub stopped_us: f64,
    /// Undoing a run.
    pub undo_us: f64,
    /// A message that the coordinator receives or sends.
    pub message_us: f64,
}

impl Default for Times {
    /// Before any measurement: the paper's shares, of a transaction of 10 µs.
    fn default() -> Self {
        let single_us = 10.0;
        Self {
            single_us,
            keeping: 73.0 / 64.0,
            locking: 0.132,
            fragment_us: 0.7 * single_us,
            decide_us: 0.15 * single_us,
            stopped_us: 0.3 * single_us,
            undo_us: 0.15 * single_us,
            message_us: 0.0,
        }
    }
}

impl Times {
    /// Learns from measurements under a scheme.
    pub fn learn(&mut self, scheme: SchemeKind, partitions: &Tally, coordinator: &Tally) {
        let single = |undo, watched| partitions.mean_us(Work::Single { undo, watched });
        match (single(false, false), single(true, false)) {
            (Some(plain), Some(kept)) => (self.single_us, self.keeping) = (plain, (kept / plain).max(1.0)),
            (Some(plain), None) => self.single_us = plain,
            // Transactions may have become longer, but their kind hardly changes.
            (None, Some(kept)) => self.single_us = kept / self.keeping,
            (None, None) => {}
        }
        // Otherwise these are sampled runs, and sampling costs less than locks.
        let locked = single(true, true).filter(|_| scheme.is_locking());
        match (locked, single(false, false)) {
            (Some(locked), Some(_)) => self.locking = (locked / (self.single_us * self.keeping) - 1.0).max(0.0),
            (Some(locked), None) => self.single_us = locked / (self.keeping * (1.0 + self.locking)),
            _ => {}
        }
        let fragment = |watched| partitions.mean_us(Work::Fragment { watched });
        let locked = fragment(true).map(|us| us / (1.0 + self.locking));
        let learn = |to: &mut f64, measured: Option<f64>| *to = measured.unwrap_or(*to);
        learn(&mut self.fragment_us, fragment(false).or(locked));
        learn(&mut self.decide_us, partitions.mean_us(Work::Decide));
        learn(&mut self.stopped_us, partitions.mean_us(Work::Stopped));
        learn(&mut self.undo_us, partitions.mean_us(Work::Undo));
        learn(&mut self.message_us, coordinator.message_us());
    }
}
