//! The log's own threads.
//!
//! The *log thread* flushes for those who do not wait. It is woken by `nudge`; as long as there are unforced bytes it
//! also looks every millisecond, and when there are none, at intervals that grow to 64 ms: appending does not wake it,
//! because a caller that appends and waits flushes better itself.
//!
//! The *keeper* does what takes long and hurries nobody: writing a segment full of zeros, renaming truncated ones. It
//! is a thread of its own because the first takes tens of milliseconds, in which the log thread must go on flushing.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::error::LogError;
use super::flush::Shared;
use super::lsn::Lsn;
use crate::io::IoError;

/// How soon the log thread looks again while there are unforced bytes.
const SOON: Duration = Duration::from_millis(1);
/// How late it looks again when there never are.
const LATE: Duration = Duration::from_millis(64);
/// When nobody waits, smaller flushes than this many bytes are left to collect for [`SOON`].
const WORTHWHILE_BYTES: u64 = 1 << 20;

/// How long the log thread lets records collect between forces.
///
/// Whoever waits forces for himself if nobody else does. So while there are only callers with tickets, none of whom
/// waits yet, the log thread could force at its leisure: each force costs processor time, also where transactions run.
/// But if it were slow, those with few tickets would come to wait, and force in turns with their own work instead of
/// beside it. How slow is too slow is found out, and seldom, because it costs a wait each time: the pause grows by
/// little as long as nobody comes to wait, and is halved as soon as somebody does.
#[derive(Default)]
struct Pause {
    length: Duration,
    /// Waits that had begun when it was last asked for.
    arrived: u64,
}

impl Pause {
    /// Shorter than this is not worth going to sleep.
    const LEAST: Duration = Duration::from_micros(50);
    /// How much longer after each force for which nobody waited.
    const STEP: Duration = Duration::from_micros(8);

    /// How long to pause after a force, when so many waits have begun, ever.
    fn after(&mut self, arrived: u64) -> Duration {
        let nobody_waited = std::mem::replace(&mut self.arrived, arrived) == arrived;
        self.length = if nobody_waited { (self.length + Self::STEP).min(SOON) } else { self.length / 2 };
        if self.length < Self::LEAST { Duration::ZERO } else { self.length }
    }
}

/// Something for the keeper to do.
pub(super) enum Work {
    Prepare,
    Truncate(Lsn),
}

/// The running threads.
#[derive(Default)]
pub(super) struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    pub fn start(shared: &Arc<Shared>) -> Result<Threads, LogError> {
        let mut threads = Threads::default();
        if !shared.config.threads {
            return Ok(threads);
        }
        let error = |e| IoError::new(std::path::Path::new("log"), "start a thread for", e);
        let (sender, receiver) = channel();
        shared.gate().keeper = Some(sender);
        let (flusher, keeper) = (shared.clone(), shared.clone());
        let spawned = Builder::new().name("glassbox-log".into()).spawn(move || flusher.run_log_thread());
        threads.0.push(spawned.map_err(error)?);
        let spawned = Builder::new().name("glassbox-keeper".into()).spawn(move || keeper.run_keeper(&receiver));
        threads.0.push(spawned.map_err(error)?);
        Ok(threads)
    }

    /// Stops the threads and waits for them. Flushes nothing.
    pub fn stop(&mut self, shared: &Shared) {
        {
            let mut gate = shared.gate();
            gate.stop = true;
            gate.keeper = None;
            shared.work.notify_all();
        }
        for thread in self.0.drain(..) {
            // A panic of a thread has poisoned the log already if it held the flusher's role.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Wakes the log thread if it sleeps.
    ///
    /// The thread says that it is asleep, then looks for unforced bytes; the caller appends, then looks whether the
    /// thread is asleep. With a fence between the two on both sides, at least one sees the other.
    #[inline]
    pub fn nudge(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let mut gate = self.gate();
        if !gate.nudged {
            gate.nudged = true;
            self.work.notify_one();
        }
    }

    fn run_log_thread(&self) {
        let (mut interval, mut pause) = (SOON, Pause::default());
        loop {
            let worked = self.flush_all_complete(&mut pause);
            interval = if worked || self.ring.head() > self.ring.tail() { SOON } else { (interval * 2).min(LATE) };
            self.asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let mut gate = self.gate();
            if gate.stop || self.healthy().is_err() {
                return;
            }
            let missed = self.config.force && self.ring.complete() > self.ring.tail();
            if !gate.nudged && !missed {
                gate = match self.work.wait_timeout(gate, interval) {
                    Ok((gate, _)) => gate,
                    Err(poisoned) => poisoned.into_inner().0,
                };
            }
            gate.nudged = false;
            self.asleep.store(false, Ordering::Relaxed);
        }
    }

    /// Flushes as long as there is something worth it; says whether there was anything.
    fn flush_all_complete(&self, pause: &mut Pause) -> bool {
        let mut worked = false;
        loop {
            let complete = self.ring.complete().saturating_sub(self.ring.tail());
            let enough = if self.config.force { 1 } else { WORTHWHILE_BYTES };
            if worked && complete < enough || !self.flush_complete() {
                return worked;
            }
            worked = true;
            if self.config.force {
                self.collect(pause);
            }
        }
    }

    /// Lets records collect for the next force while nobody waits for one.
    fn collect(&self, pause: &mut Pause) {
        let length = pause.after(self.arrived.load(Ordering::Relaxed));
        let gate = self.gate();
        if !length.is_zero() && !gate.stop && self.healthy().is_ok() {
            // Woken early or late, the log is right; and `asleep` is not set, so that no append wakes it.
            drop(self.work.wait_timeout(gate, length));
        }
    }

    fn run_keeper(&self, receiver: &Receiver<Work>) {
        while let Ok(work) = receiver.recv()
            && !self.gate().stop
        {
            // A failure here is no harm done: the flusher makes the segment itself, meets the same trouble and poisons
            // the log with its cause; what was not recycled is found again by the next opening.
            let _ = self.keep(&work);
        }
    }

    fn keep(&self, work: &Work) -> Result<(), IoError> {
        match work {
            Work::Prepare => self.segments.prepare().map(|()| self.preparing.store(false, Ordering::Relaxed)),
            Work::Truncate(below) => self.segments.truncate(*below),
        }
    }

    /// Gives the keeper something to do; without threads, does it.
    pub fn send(&self, work: Work) {
        let keeper: Option<Sender<Work>> = self.gate().keeper.clone();
        match keeper {
            Some(keeper) => drop(keeper.send(work)),
            None => drop(self.keep(&work)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_comes_near_what_callers_bear_and_stays_there() {
        let (mut pause, mut arrived, mut lengths) = (Pause::default(), 0, Vec::new());
        // Callers who come to wait when a pause is longer than this.
        let borne = Duration::from_micros(400);
        for _ in 0..1_000 {
            let length = pause.after(arrived);
            assert!(length.is_zero() || (Pause::LEAST..=SOON).contains(&length));
            arrived += u64::from(length > borne);
            lengths.push(length);
        }
        let late = &lengths[500..];
        assert!(late.iter().all(|length| *length >= borne / 2), "never far below");
        let waited = late.iter().filter(|length| **length > borne).count();
        assert!((1..=500 / 20).contains(&waited), "it is tried seldom: {waited} of 500");
        // Who calls alone waits each time, and is not kept waiting.
        for _ in 0..10 {
            arrived += 1;
            pause.after(arrived);
        }
        assert_eq!(pause.after(arrived + 1), Duration::ZERO);
    }
}
