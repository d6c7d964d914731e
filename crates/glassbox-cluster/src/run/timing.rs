//! A queue whose entries come out half a round trip after they went in, in their order.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use glassbox::io::{Clock, RealClock};

/// For so long a message is waited for awake of which nobody knows when it comes: about as long as it costs to go to
/// sleep and be woken. Whoever else wants the core meanwhile gets it.
const AWAKE: Duration = Duration::from_micros(20);

/// Entries on their way.
#[derive(Debug)]
pub(super) struct Late<T> {
    /// All take equally long, so they come out in the order in which they went in.
    entries: VecDeque<T>,
    /// When each is out; of entries that are out at once, nobody looks at the clock.
    due: VecDeque<Instant>,
    takes: Duration,
}

/// When the first entry comes out.
pub(super) enum Next {
    /// It has.
    Now,
    /// After so long.
    In(Duration),
    /// There is none.
    Never,
}

impl<T> Late<T> {
    /// A queue for a round trip of so long.
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

    /// All entries that are out, into `taken`, which is empty.
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

    /// The first entry, if it is out.
    pub(super) fn pop(&mut self) -> Option<T> {
        if !matches!(self.next(), Next::Now) {
            return None;
        }
        self.due.pop_front();
        self.entries.pop_front()
    }
}

impl Next {
    /// How long to sleep, after so long awake, when nobody wants to be woken before `most`; `None`: what comes is so
    /// `close`, or may be, that going to sleep is not worth it, and one looks again at once.
    pub(super) fn sleep(&self, waited: Duration, most: Duration, close: Duration) -> Option<Duration> {
        match self {
            Self::Now => None,
            Self::Never => (waited >= AWAKE).then_some(most),
            // A sleep ends a little late.
            Self::In(left) => Some((*left).min(most)).filter(|time| *time > close).map(|time| time - close / 2),
        }
    }
}

/// Makes this thread's sleeps end when they should: usually the system rounds them up to fifty microseconds more.
pub(super) fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    // Where it is refused, messages take a little longer than they were told to: nothing is wrong because of that.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Now.
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
    fn what_goes_in_comes_out_in_order_and_not_too_soon() {
        let mut late = Late::new(Duration::from_millis(4));
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
        let mut prompt = Late::new(Duration::ZERO);
        prompt.push('a');
        assert_eq!(prompt.pop(), Some('a'));
    }
}
