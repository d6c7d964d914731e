//! Events in virtual time, and the random draws of a run.
//!
//! Events of the same time happen in the order in which they were scheduled, so a run repeats.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use glassbox_testing::dice::Dice;

/// An event, its time, and its number.
#[derive(Debug)]
struct Scheduled<E> {
    at: u64,
    number: u64,
    event: E,
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Events to come.
#[derive(Debug)]
pub(super) struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    now: u64,
    scheduled: u64,
}

impl<E> EventQueue<E> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), now: 0, scheduled: 0 }
    }

    /// The time of the event that happened last.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Schedules an event, at the earliest now.
    pub fn at(&mut self, at: u64, event: E) {
        self.scheduled += 1;
        self.heap.push(Reverse(Scheduled { at: at.max(self.now), number: self.scheduled, event }));
    }

    /// Schedules an event after a time.
    pub fn after(&mut self, ns: u64, event: E) {
        self.at(self.now + ns, event);
    }

    /// The next event, if it happens before `end`.
    pub fn next_before(&mut self, end: u64) -> Option<E> {
        if self.heap.peek().is_none_or(|Reverse(first)| first.at >= end) {
            self.now = self.now.max(end);
            return None;
        }
        let Reverse(first) = self.heap.pop()?;
        self.now = first.at;
        Some(first.event)
    }

    /// The number of events so far: a trace in one number, together with the time.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }
}

/// A number from 0 to 1, without 1.
pub(super) fn uniform(dice: &mut Dice) -> f64 {
    (dice.roll() >> 11) as f64 / (1_u64 << 53) as f64
}

/// An exponentially distributed number with mean 1.
pub(crate) fn exponential(dice: &mut Dice) -> f64 {
    -(1.0 - uniform(dice)).ln()
}

/// A normally distributed number.
fn normal(dice: &mut Dice) -> f64 {
    (-2.0 * (1.0 - uniform(dice)).ln()).sqrt() * (std::f64::consts::TAU * uniform(dice)).cos()
}

/// A lognormal number with mean 1, whose logarithm has this standard deviation.
pub(super) fn lognormal(sigma: f64, dice: &mut Dice) -> f64 {
    (sigma * normal(dice) - sigma * sigma / 2.0).exp()
}

/// Links between nodes: messages of a link arrive in the order in which they were sent.
#[derive(Debug)]
pub(super) struct FifoLinks {
    nodes: usize,
    mean_ns: u64,
    arrivals: Vec<u64>,
}

impl FifoLinks {
    pub fn new(nodes: usize, mean_ns: u64) -> Self {
        Self { nodes, mean_ns, arrivals: vec![0; nodes * nodes] }
    }

    /// One delay of the network.
    pub fn delay(&self, dice: &mut Dice) -> u64 {
        (self.mean_ns as f64 * (0.7 + 0.3 * exponential(dice))) as u64
    }

    /// The time at which a message arrives.
    pub fn arrival(&mut self, (from, to): (usize, usize), now: u64, dice: &mut Dice) -> u64 {
        let delay = if from == to { 0 } else { self.delay(dice) };
        let last = &mut self.arrivals[from * self.nodes + to];
        *last = (*last).max(now + delay);
        *last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_time_keep_their_order() {
        let mut queue = EventQueue::new();
        queue.at(5, 'b');
        queue.at(5, 'c');
        queue.at(3, 'a');
        assert_eq!([(); 4].map(|()| queue.next_before(6)), [Some('a'), Some('b'), Some('c'), None]);
        assert_eq!((queue.now(), queue.scheduled()), (6, 3));
    }

    #[test]
    fn draws_have_the_stated_means_and_links_keep_the_order() {
        let (mut dice, mut links) = (Dice(1), FifoLinks::new(2, 1_000));
        let mean = |of: &mut dyn FnMut() -> f64| (0..20_000).map(|_| of()).sum::<f64>() / 20_000.0;
        assert!((mean(&mut || links.delay(&mut dice) as f64) - 1_000.0).abs() < 10.0);
        assert!((mean(&mut || lognormal(0.25, &mut dice)) - 1.0).abs() < 0.01);
        let arrivals: Vec<_> = (0..100).map(|now| links.arrival((0, 1), now, &mut dice)).collect();
        assert!(arrivals.is_sorted());
        assert_eq!(links.arrival((1, 1), 7, &mut dice), 7);
    }
}
