//! All checks of a history, and what they came to.

use std::collections::BTreeMap;
use std::fmt;

use super::anomaly::{Anomaly, Class, Findings};
use super::components::components;
use super::graph::Graph;
use super::history::{History, Seen, Step};
use super::orders::Orders;
use super::{cycles, own_writes, reads, versions};

/// The counts of a check, and the anomalies that it found.
#[derive(Debug, Default)]
pub struct Report {
    /// Transactions.
    pub transactions: u64,
    /// Of those, committed.
    pub committed: u64,
    /// Committed steps that wrote something.
    pub writes: u64,
    /// Committed steps that read.
    pub reads: u64,
    /// Of those, scans of a predicate.
    pub scans: u64,
    /// Edges of the graph, those of real time among them.
    pub edges: u64,
    /// Pairs of transactions of different clients that overlapped and follow each other by when they were asked for:
    /// whether there was any concurrency at all.
    pub overlaps: u64,
    /// How many of each class, those of real time apart (`true`).
    pub counts: BTreeMap<(bool, Class), u64>,
    /// Some of each class, worst first.
    pub anomalies: Vec<Anomaly>,
}

/// Checks a history.
pub fn check(history: &History) -> Report {
    let mut findings = Findings::default();
    let orders = Orders::of(history);
    reads::garbage(history, &mut findings);
    own_writes::find(history, &mut findings);
    reads::aborted(history, &mut findings);
    reads::intermediate(history, &mut findings);
    versions::lost_updates(history, &orders, &mut findings);
    versions::incompatible_orders(history, &mut findings);

    // This graph has every path of the one without real time, so in most histories it is all that is needed.
    let whole = Graph::of(history, &orders, true);
    if !components(&whole, u8::MAX).is_empty() {
        let plain = Graph::of(history, &orders, false);
        let mut told = Vec::new();
        cycles::find((history, &orders, &plain), &cycles::LEVELS, false, &mut told, &mut findings);
        cycles::find((history, &orders, &whole), &cycles::LEVELS, true, &mut told, &mut findings);
    }
    let Findings { counts, kept: mut anomalies } = findings;
    anomalies.sort_by_key(|anomaly| (anomaly.real_time, anomaly.class));
    Report { counts, anomalies, edges: whole.len() as u64, ..Report::counted(history) }
}

impl Report {
    fn counted(history: &History) -> Self {
        let mut report = Self { transactions: history.transactions.len() as u64, ..Self::default() };
        for (_, transaction) in history.committed() {
            report.committed += 1;
            for (_, step, seen) in transaction.answers() {
                report.writes += u64::from(matches!(seen, Seen::Wrote { .. }));
                report.reads += u64::from(matches!(seen, Seen::Values(_) | Seen::Rows(_)));
                report.scans += u64::from(matches!(step, Step::Scan(_)));
            }
        }
        let mut times: Vec<_> =
            history.transactions.iter().map(|it| (it.invoked_ns, it.completed_ns, it.client)).collect();
        times.sort_unstable();
        let overlap = |pair: &&[(u64, u64, u32)]| pair[1].0 <= pair[0].1 && pair[0].2 != pair[1].2;
        report.overlaps = times.windows(2).filter(overlap).count() as u64;
        report
    }

    /// Whether nothing is wrong, real time included.
    pub fn is_strictly_serializable(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether nothing is wrong but for real time.
    pub fn is_serializable(&self) -> bool {
        self.counts.keys().all(|(real_time, _)| *real_time)
    }

    /// The classes found, those of real time left out.
    pub fn classes(&self) -> Vec<Class> {
        self.counts.keys().filter(|(real_time, _)| !real_time).map(|(_, class)| *class).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transactions, committed, writes, reads, scans, edges, overlaps, .. } = self;
        write!(
            f,
            "{transactions} transactions, {committed} committed, {writes} writes, {reads} reads, {scans} of them "
        )?;
        writeln!(f, "scans; {edges} edges; {overlaps} overlapped with the next")?;
        for ((real_time, class), count) in &self.counts {
            writeln!(f, "{count} times {class}{}", if *real_time { " (in real time)" } else { "" })?;
        }
        self.anomalies.iter().try_for_each(|anomaly| write!(f, "\n{anomaly}"))
    }
}
