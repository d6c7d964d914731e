//! What a run reports.

use super::settings::BusyPart;

/// The classes of transactions whose latencies are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxnClass {
    /// On one node.
    Local,
    /// On several.
    Distributed,
    /// With keys from an index, on any number of nodes.
    Dependent,
}

/// Latencies of a class, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies(Vec<u64>);

impl Latencies {
    /// The latency below which this share of the transactions is; `None` without any.
    pub fn at(&self, share: f64) -> Option<u64> {
        let last = self.0.len().checked_sub(1)?;
        Some(self.0[(share * last as f64) as usize])
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
    }
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// Transactions that each node's clients finished in the measured time.
    pub finished: Vec<u64>,
    /// Finished transactions of each node in each interval of 50 ms, from the start of the run on.
    pub timeline: Vec<Vec<u32>>,
    /// The share of local calls that each node refuses, at the same times.
    pub refused: Vec<Vec<f32>>,
    /// Core time spent on each [`BusyPart`] in the measured time, and that of all cores.
    pub busy_ns: [u64; BusyPart::ALL.len()],
    /// Core time of all nodes in the measured time.
    pub capacity_ns: u64,
    /// Deadlock victims, or transactions restarted by wait-die and no-wait.
    pub victims: u64,
    /// Restarts because of an outdated set.
    pub restarts: u64,
    /// Tries of dependent transactions.
    pub tries: u64,
    /// Nanoseconds from reconnaissance to locks, of all tries.
    pub exposed_ns: u64,
    /// Calls refused.
    pub refusals: u64,
    /// Measured time.
    pub measured_ns: u64,
    /// All events of the run: equal for equal runs.
    pub events: u64,
    latencies: [Latencies; 3],
}

/// The interval of a time line.
pub(super) const TIMELINE_NS: u64 = 50_000_000;

impl RunReport {
    pub(super) fn new(nodes: usize) -> Self {
        Self { finished: vec![0; nodes], ..Self::default() }
    }

    /// Counts a transaction of a node that has finished.
    pub(super) fn finish(&mut self, node: usize, class: TxnClass, (now, latency_ns): (u64, u64), is_measured: bool) {
        let interval = (now / TIMELINE_NS) as usize;
        if self.timeline.len() <= interval {
            let nodes = self.finished.len();
            self.timeline.resize_with(interval + 1, || vec![0; nodes]);
        }
        self.timeline[interval][node] += 1;
        if is_measured {
            self.finished[node] += 1;
            self.latencies[class as usize].0.push(latency_ns);
        }
    }

    /// Notes what the cores' time was spent on, from the beginning and the end of the measured time.
    pub(super) fn spend(&mut self, before: [u64; BusyPart::ALL.len()], after: [u64; BusyPart::ALL.len()]) {
        for (spent, (after, before)) in self.busy_ns.iter_mut().zip(after.iter().zip(before)) {
            *spent = after - before;
        }
    }

    /// Sorts the latencies; the run has ended.
    pub(super) fn close(mut self, measured_ns: u64, capacity_ns: u64, events: u64) -> Self {
        self.latencies.iter_mut().for_each(Latencies::sort);
        (self.measured_ns, self.capacity_ns, self.events) = (measured_ns, capacity_ns, events);
        self
    }

    /// Transactions a second, of all nodes.
    pub fn per_second(&self) -> f64 {
        self.finished.iter().sum::<u64>() as f64 * 1e9 / self.measured_ns as f64
    }

    /// Transactions a second of a node, on average.
    pub fn per_node(&self) -> f64 {
        self.per_second() / self.finished.len() as f64
    }

    /// Events per second of the measured time.
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.measured_ns as f64
    }

    /// The share of the cores' time that is spent on a part.
    pub fn share(&self, part: BusyPart) -> f64 {
        self.busy_ns[part as usize] as f64 / self.capacity_ns as f64
    }

    /// Latencies of a class.
    pub fn latencies(&self, class: TxnClass) -> &Latencies {
        &self.latencies[class as usize]
    }
}
