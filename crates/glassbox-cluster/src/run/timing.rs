//! Time on a thread: the clock, precise sleeps, and a queue that delays its entries.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use glassbox::io::{Clock, RealClock};

/// The busy-wait budget before parking, about the cost of a sleep and a wake-up. The thread yields its core meanwhile.
const AWAKE: Duration = Duration::from_micros(20);

/// A queue whose entries come out half a round trip after they went in, in order.
#[derive(Debug)]
pub(super) struct DelayQueue<T> {
    /// All have the same delay, so the order is kept.
    entries: VecDeque<T>,
    /// When each entry comes out; without a delay the clock is not read.
    due: VecDeque<Instant>,
    takes: Duration,
}

/// When the first entry comes out.
pub(super) enum Next {
    /// Now.
    Now,
    /// After this time.
    In(Duration),
    /// Never: the queue is empty.
    Never,
}

impl<T> DelayQueue<T> {
    /// A queue for this round trip.
    pub(super) fn new(round_trip: Duration) -> Self {
        Self { entries: VecDeque::new(), due: VecDeque::new(), takes: round_trip / 2 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, entry: T) {
        if !self.takes.is_zero() {
            self.due.push_back(Instant::now() + self.takes);
        }
        self.entries.push_back(entry);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn next(&self) -> Next {
        if self.entries.is_empty() {
            return Next::Never;
        }
        let Some(due) = self.due.front() else { return Next::Now };
        match due.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Next::Now,
            left => Next::In(left),
        }
    }

    /// Moves all entries that are due into `taken`, which is empty.
    #[inline(always)]
    pub(super) fn take(&mut self, taken: &mut VecDeque<T>) {
        if self.takes.is_zero() {
            return std::mem::swap(&mut self.entries, taken);
        }
        if !self.entries.is_empty() {
            let now = Instant::now();
            let out = self.due.iter().take_while(|due| **due <= now).count();
            self.due.drain(..out);
            taken.extend(self.entries.drain(..out));
        }
    }

    /// The first entry, if it is due.
    pub(super) fn pop(&mut self) -> Option<T> {
        if !matches!(self.next(), Next::Now) {
            return None;
        }
        self.due.pop_front();
        self.entries.pop_front()
    }
}

impl Next {
    /// The time to sleep, after `waited` of busy-waiting and for at most `most`; `None`: the next entry is, or may be,
    /// closer than `close`, so the thread keeps busy-waiting.
    pub(super) fn sleep(&self, waited: Duration, most: Duration, close: Duration) -> Option<Duration> {
        match self {
            Self::Now => None,
            Self::Never => (waited >= AWAKE).then_some(most),
            // A sleep ends a little late.
            Self::In(left) => Some((*left).min(most)).filter(|time| *time > close).map(|time| time - close / 2),
        }
    }
}

/// Makes this thread's sleeps precise: by default the system rounds them up by fifty microseconds.
pub(super) fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    // Where the system refuses, messages are delayed a little longer than they should be, which does no harm.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// The time, in microseconds since 1970; it never goes back within a process.
#[inline]
pub(super) fn now_us() -> u64 {
    static BEGAN: OnceLock<(RealClock, u64)> = OnceLock::new();
    let (clock, at_us) = BEGAN.get_or_init(|| {
        let clock = RealClock::new();
        let at_us = u64::try_from(clock.wall_us()).unwrap_or_default();
        (clock, at_us)
    });
    at_us + clock.monotonic_ns() / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_in_order_and_not_too_soon() {
        let mut late = DelayQueue::new(Duration::from_millis(4));
        let began = Instant::now();
        (0..3).for_each(|number| late.push(number));
        assert!(late.pop().is_none());
        for number in 0..3 {
            let out = loop {
                if let Some(out) = late.pop() {
                    break out;
                }
            };
            assert_eq!(out, number);
            assert!(began.elapsed() >= Duration::from_millis(2));
        }
        assert!(matches!(late.next(), Next::Never));
        let mut prompt = DelayQueue::new(Duration::ZERO);
        prompt.push('a');
        assert_eq!(prompt.pop(), Some('a'));
    }
}
