//! What clients measure.
//!
//! A client must not slow itself down by measuring. It notes its answers in a list of its own and empties that into its
//! tally, under a lock that nobody else wants, when the list is full or old; whoever watches adds the tallies of all
//! clients up.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use glassbox_workloads::tpcc::{Kind, Observer};
use hdrhistogram::Histogram;

/// Answers noted before they are added up.
const NOTED: usize = 256;
/// How often a slow client adds up what it noted, so that watching it shows something.
const AT_LEAST_EVERY: Duration = Duration::from_millis(50);
/// Longest latency told apart: 100 seconds.
const LONGEST_NS: u64 = 100_000_000_000;

/// Answers by type of transaction.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Latencies, nanoseconds, to one percent; at the place of each [`Kind`].
    pub latency: [Histogram<u64>; 5],
    /// Transactions rolled back.
    pub aborted: [u64; 5],
}

impl Tally {
    pub fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST_NS, 2).expect("the bounds are constants");
        Self { latency: std::array::from_fn(|_| empty()), aborted: [0; 5] }
    }

    fn note(&mut self, answer: &Answer) {
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

struct Answer {
    kind: Kind,
    latency_ns: u64,
    committed: bool,
}

/// The tallies of all clients.
pub struct Tallies(Vec<Mutex<Tally>>);

impl Tallies {
    pub fn new(clients: usize) -> Self {
        Self((0..clients).map(|_| Mutex::new(Tally::new())).collect())
    }

    /// What client `client` writes to.
    pub fn recorder(&self, client: usize) -> Recorder<'_> {
        Recorder { tally: &self.0[client], noted: Vec::with_capacity(NOTED), since: Instant::now() }
    }

    /// All so far.
    pub fn sum(&self) -> Tally {
        let mut sum = Tally::new();
        for tally in &self.0 {
            sum.add(&tally.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }
}

/// Notes one client's answers.
pub struct Recorder<'a> {
    tally: &'a Mutex<Tally>,
    noted: Vec<Answer>,
    since: Instant,
}

impl Observer for Recorder<'_> {
    #[inline]
    fn answered(&mut self, kind: Kind, latency_ns: u64, committed: bool) {
        self.noted.push(Answer { kind, latency_ns, committed });
        // A slow client has time to look at the clock at every answer; a fast one does not need to.
        if self.noted.len() == NOTED || (latency_ns > 50_000 && self.since.elapsed() > AT_LEAST_EVERY) {
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
