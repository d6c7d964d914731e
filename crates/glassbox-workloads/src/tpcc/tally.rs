//! The measurements of clients.
//!
//! Measuring must not slow a client down. A client appends its answers to a list of its own, and adds them to its
//! tally, under an uncontended lock, when the list is full or old. The progress line sums the tallies of all clients.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::driver::Observer;
use super::mix::Kind;

/// Maximum length of a client's list.
const MAX_NOTED: usize = 256;
/// The interval at which a slow client adds its list to its tally, so that the progress line is current.
const ADD_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum latency of the histograms: 100 seconds.
const MAX_LATENCY_NS: u64 = 100_000_000_000;

/// Answers by type of transaction.
#[derive(Debug, Clone)]
pub struct LatencyTally {
    /// Latencies in nanoseconds, to one percent; at the index of each [`Kind`].
    pub latency: [Histogram<u64>; 5],
    /// Transactions rolled back.
    pub aborted: [u64; 5],
}

impl Default for LatencyTally {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyTally {
    /// No answers.
    ///
    /// # Panics
    /// Never.
    pub fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, MAX_LATENCY_NS, 2).expect("the bounds are constants");
        Self { latency: std::array::from_fn(|_| empty()), aborted: [0; 5] }
    }

    fn note(&mut self, answer: &NotedAnswer) {
        self.latency[answer.kind as usize].saturating_record(answer.latency_ns);
        self.aborted[answer.kind as usize] += u64::from(!answer.committed);
    }

    fn add(&mut self, other: &Self) {
        for (sum, more) in self.latency.iter_mut().zip(&other.latency) {
            sum.add(more).expect("all have the same bounds");
        }
        for (sum, more) in self.aborted.iter_mut().zip(other.aborted) {
            *sum += more;
        }
    }

    /// Transactions of a type that were answered, rolled back or not.
    pub fn answered(&self, kind: Kind) -> u64 {
        self.latency[kind as usize].len()
    }

    /// Transactions of a type that committed.
    pub fn committed(&self, kind: Kind) -> u64 {
        self.answered(kind) - self.aborted[kind as usize]
    }

    /// All types together: committed, rolled back, latencies.
    pub fn total(&self) -> (u64, u64, Histogram<u64>) {
        let mut all = Histogram::new_from(&self.latency[0]);
        for latency in &self.latency {
            all.add(latency).expect("all have the same bounds");
        }
        let aborted = self.aborted.iter().sum();
        (all.len() - aborted, aborted, all)
    }
}

struct NotedAnswer {
    kind: Kind,
    latency_ns: u64,
    committed: bool,
}

/// The tallies of all clients.
pub struct ClientTallies(Vec<Mutex<LatencyTally>>);

impl ClientTallies {
    /// For this number of clients.
    pub fn new(clients: usize) -> Self {
        Self((0..clients).map(|_| Mutex::new(LatencyTally::new())).collect())
    }

    /// The recorder of client `client`.
    pub fn recorder(&self, client: usize) -> Recorder<'_> {
        Recorder { tally: &self.0[client], noted: Vec::with_capacity(MAX_NOTED), since: Instant::now() }
    }

    /// The sum of all so far.
    pub fn sum(&self) -> LatencyTally {
        let mut sum = LatencyTally::new();
        for tally in &self.0 {
            sum.add(&tally.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }
}

/// Records one client's answers.
pub struct Recorder<'a> {
    tally: &'a Mutex<LatencyTally>,
    noted: Vec<NotedAnswer>,
    since: Instant,
}

impl Observer for Recorder<'_> {
    #[inline]
    fn answered(&mut self, kind: Kind, latency_ns: u64, committed: bool) {
        self.noted.push(NotedAnswer { kind, latency_ns, committed });
        // A slow client can afford to read the clock at every answer; a fast one need not.
        if self.noted.len() == MAX_NOTED || (latency_ns > 50_000 && self.since.elapsed() > ADD_INTERVAL) {
            self.add_up();
        }
    }
}

impl Recorder<'_> {
    fn add_up(&mut self) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        self.noted.drain(..).for_each(|answer| tally.note(&answer));
        self.since = Instant::now();
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        self.add_up();
    }
}
