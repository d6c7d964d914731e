//! Limits: the performance of the machine when it does nothing but the work itself, and how close Glassbox gets to it.
//!
//! Paper: Harizopoulos, Abadi, Madden, Stonebraker, *OLTP Through the Looking Glass, and What We Found There*, SIGMOD
//! 2008, sections 4 and 5: their mix of New-Order and Payment, and their claim that a bare kernel (their last bar) does
//! the same work in a small fraction of a database's instructions. The difference here: the kernel is not a stripped
//! database but written by hand, and it prefetches.
//!
//! Two measures. *Throughput* ([`measure()`]): every system executes the same inputs on the same data, round after
//! round, in one process, in an order that changes; a share is formed within a round, so that a slow moment of the
//! machine affects both sides. *Instructions* ([`instructions`]): of the executing thread alone, counted by valgrind's
//! callgrind, hence nearly exact; and by part of the program.

mod checks;
mod engine;
pub mod instructions;
mod measure;
mod parts;
pub mod systems;

pub use measure::{MeasuredSystem, Round, ThroughputPlan, measure, memory_bytes};

use crate::points::{Point, Points};
use crate::section::Section;

/// The question of the section.
const QUESTION: &str = "How near is the engine to hand-written code on bare data?";
/// How it is measured.
const METHOD: &str = "Every system executes the same New-Orders and Payments with one thread on one partition. The \
                      kernels are hand-written for them, without transactions, a log or a schema.";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("kernel", "hand-written code on bare data; the fastest one has trees, and prefetches their nodes"),
    ("none", "the engine without a log"),
    ("commands, values", "the engine with a log of calls, or of changed rows"),
    ("async", "an answer does not wait for the log"),
    ("sync-N", "an answer waits until its record is forced; each client has N transactions in flight"),
];

/// The section, whose figures are drawn already.
pub(crate) fn section(drawn: Section, points: &Points) -> Section {
    let method = ("method".to_owned(), METHOD.to_owned());
    let lead = answer(points).unwrap_or_else(|| METHOD.to_owned());
    Section { question: QUESTION, lead, terms: TERMS, facts: vec![method], ..drawn }
}

/// The answer, of what was measured.
fn answer(points: &Points) -> Option<String> {
    let of = |figure: &'static str, metric: &'static str| {
        move |row: &str| {
            let is_it = |it: &&Point| it.figure == figure && it.row == row && it.metric == metric;
            points.0.iter().find(is_it).map(|point| format!("{:.2}", point.value))
        }
    };
    let rate = of("throughput", "share_of_tree_prefetch");
    let count = of("instructions", "times_tree_prefetch");
    let sentence = |what: &str, of: &dyn Fn(&str) -> Option<String>| {
        let none = of("none")?;
        let values = of("values-sync-4096")?;
        Some(format!(" {what}: {none} without a log, {values} with a log of values that is forced."))
    };
    let said =
        [sentence("Throughput, as a multiple of the kernel's", &rate), sentence("Instructions, the same", &count)];
    let said: String = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.trim_start().to_owned())
}
