//! The log's own threads.
//!
//! The *log thread* flushes for callers that do not wait. `nudge` wakes it; as long as there are unforced bytes it also
//! checks every millisecond, and when there are none, at intervals that grow to 64 ms. Appending does not wake it,
//! because a caller that appends and waits flushes at less cost itself.
//!
//! The *keeper* has the long tasks that no caller waits for: filling a new segment with zeros, renaming truncated ones.
//! It is a thread of its own because the first takes tens of milliseconds, in which the log thread must go on flushing.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::error::LogError;
use super::flush::LogState;
use super::lsn::Lsn;
use crate::io::IoError;

/// Interval of the log thread's checks while there are unforced bytes.
const SOON: Duration = Duration::from_millis(1);
/// Longest interval when there are none.
const LATE: Duration = Duration::from_millis(64);
/// Where no caller waits for forces, fewer bytes than this are left to collect for [`SOON`].
const WORTHWHILE_BYTES: u64 = 1 << 20;

/// How long the log thread lets records collect between forces.
///
/// A caller that waits forces its records itself if no other thread does. So while callers only hold tickets and none
/// waits yet, the log thread could force rarely: each force costs processor time, also of cores that run transactions.
/// But with long pauses, callers with few tickets begin to wait, and then their own work and the forces alternate
/// instead of overlapping. The longest harmless pause is found by trial, and seldom, because each trial costs a wait:
/// the pause grows slowly as long as no caller waits, and is halved when one does.
#[derive(Default)]
struct Pause {
    length: Duration,
    /// Waits that had begun at the last call.
    arrived: u64,
}

impl Pause {
    /// Shorter than this is not worth going to sleep.
    const MIN: Duration = Duration::from_micros(50);
    /// Growth after each force for which no caller waited.
    const STEP: Duration = Duration::from_micros(8);

    /// How long to pause after a force, given the number of waits that have begun, ever.
    fn after(&mut self, arrived: u64) -> Duration {
        let none_waited = std::mem::replace(&mut self.arrived, arrived) == arrived;
        self.length = if none_waited { (self.length + Self::STEP).min(SOON) } else { self.length / 2 };
        if self.length < Self::MIN { Duration::ZERO } else { self.length }
    }
}

/// Tasks that may wait for the keeper; a thread that sends one more waits.
const MAX_TASKS: usize = 64;

/// A task of the keeper.
pub(super) enum Work {
    Prepare,
    Truncate(Lsn),
}

/// The running threads.
#[derive(Default)]
pub(super) struct Threads(Vec<JoinHandle<()>>);

impl Threads {
    pub fn start(shared: &Arc<LogState>) -> Result<Threads, LogError> {
        let mut threads = Threads::default();
        if !shared.config.threads {
            return Ok(threads);
        }
        let error = |e| IoError::new(std::path::Path::new("log"), "start a thread for", e);
        // Bounded, so that a task allocates nothing: a transaction may send one.
        let (sender, receiver) = sync_channel(MAX_TASKS);
        shared.gate().keeper = Some(sender);
        let (flusher, keeper) = (shared.clone(), shared.clone());
        let spawned = Builder::new().name("glassbox-log".into()).spawn(move || flusher.run_log_thread());
        threads.0.push(spawned.map_err(error)?);
        let spawned = Builder::new().name("glassbox-keeper".into()).spawn(move || keeper.run_keeper(&receiver));
        threads.0.push(spawned.map_err(error)?);
        Ok(threads)
    }

    /// Stops the threads and waits for them. Flushes nothing. A child of the process that started them has none.
    pub fn stop(&mut self, shared: &LogState) {
        if !shared.process.is_current() {
            std::mem::forget(std::mem::take(&mut self.0));
            return;
        }
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

impl LogState {
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

    /// Flushes as long as a flush is worthwhile; whether there was one.
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

    /// Lets records collect for the next force while no caller waits for one.
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
            // A failure here is harmless: an append that needs the room makes the spare itself, and is refused if that
            // fails; the next opening finds the segments that were not recycled.
            let _ = self.keep(&work);
        }
    }

    fn keep(&self, work: &Work) -> Result<(), IoError> {
        match work {
            Work::Prepare => self.segments.prepare().map(|()| self.preparing.store(false, Ordering::Relaxed)),
            Work::Truncate(below) => self.segments.truncate(*below),
        }
    }

    /// Gives the keeper a task; without threads, runs it.
    pub fn send(&self, work: Work) {
        let keeper: Option<SyncSender<Work>> = self.gate().keeper.clone();
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
    fn the_pause_approaches_the_longest_that_makes_no_caller_wait() {
        let (mut pause, mut arrived, mut lengths) = (Pause::default(), 0, Vec::new());
        // Callers begin to wait when a pause is longer than this.
        let harmless = Duration::from_micros(400);
        for _ in 0..1_000 {
            let length = pause.after(arrived);
            assert!(length.is_zero() || (Pause::MIN..=SOON).contains(&length));
            arrived += u64::from(length > harmless);
            lengths.push(length);
        }
        let late = &lengths[500..];
        assert!(late.iter().all(|length| *length >= harmless / 2), "never far below");
        let waited = late.iter().filter(|length| **length > harmless).count();
        assert!((1..=500 / 20).contains(&waited), "trials are seldom: {waited} of 500");
        // A single caller waits each time, and the pause ends.
        for _ in 0..10 {
            arrived += 1;
            pause.after(arrived);
        }
        assert_eq!(pause.after(arrived + 1), Duration::ZERO);
    }
}
