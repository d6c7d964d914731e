//! Making records durable: one flusher at a time, and it is a thread that needs it.
//!
//! The role of the flusher is a flag under a mutex that is held for nanoseconds. [`LogState::reach`] takes the role if
//! it is free, flushes, and releases it; if it is taken, it sleeps. The end of a flush wakes each sleeper whose records
//! are durable now, and one of the others, which takes the role and does the same at its end: so none is left. Each
//! sleeps at a condition variable of its own: threads that are woken together at one would wait for its mutex in turn,
//! which costs another sleep each. The next force covers all callers that arrive during a force. With no more than
//! that, callers would form two groups that alternate, each force covering half of them; so a flusher first waits for
//! the callers that the last force covered ([`LogState::gather`]).
//!
//! Order of a flush, and why a crash between any two steps is harmless: records complete in the ring; block written;
//! block forced; `tail` moved. Only the last step acknowledges records, and only the last frees room in the ring. A
//! second block is never written before the first is forced: so after a crash at most one block is in doubt, the last.
//!
//! A failure poisons the log: the cause is kept, and each waiting or later caller gets it. A force that failed is not
//! retried, because the system may have dropped the unwritten pages and would report success.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::config::{LogConfig, LogStats};
use super::error::LogError;
use super::lsn::Lsn;
use super::ring::Ring;
use super::room::SpareAttempts;
use super::segments::Segments;
use super::threads::Work;
use super::writer::Writer;
use crate::io::{Clock, IoError, OpeningProcess, RealClock};

/// How long a flusher waits for callers that are expected: little compared with a force.
const GATHER_NS: u64 = 50_000;

/// State shared by the log, its appenders and its threads.
pub(super) struct LogState {
    pub ring: Ring,
    pub config: LogConfig,
    pub max_record_bytes: usize,
    pub segments: Segments,
    pub attempts: SpareAttempts,
    /// The process with the log's threads.
    pub process: OpeningProcess,
    /// Used by the flusher alone; no thread waits for the mutex.
    pub writer: Mutex<Writer>,
    pub gate: Mutex<Gate>,
    /// The log thread has work.
    pub work: Condvar,
    /// Whether the log thread is asleep or about to be, so that [`LogState::nudge`] need not take the mutex otherwise.
    pub asleep: AtomicBool,
    pub closed: AtomicBool,
    /// The keeper was asked for a spare segment and has not made it yet.
    pub preparing: AtomicBool,
    /// Waits that began, ever.
    pub arrived: AtomicU64,
    cause: OnceLock<Arc<IoError>>,
    counts: Counts,
}

/// State under the mutex.
#[derive(Default)]
pub(super) struct Gate {
    flushing: bool,
    /// Who sleeps, in the order of their coming, each until the log is durable up to a position.
    sleepers: Vec<(u64, Arc<Sleeper>)>,
    /// [`LogState::arrived`] when the last flush began, and how many had arrived since the one before.
    begun: u64,
    covered: u64,
    /// How many callers seem to be active: those that the last flush covered, and those that arrived during it.
    callers: u64,
    pub nudged: bool,
    pub stop: bool,
    pub keeper: Option<std::sync::mpsc::SyncSender<Work>>,
}

#[derive(Default)]
struct Counts {
    forces: AtomicU64,
    blocks: AtomicU64,
    bytes: AtomicU64,
    segments: AtomicU64,
    segments_unprepared: AtomicU64,
    full: AtomicU64,
}

/// The role of the flusher; dropping it releases it and wakes the threads that wait for it.
pub(super) struct Role<'a>(&'a LogState);

impl Drop for Role<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let panic = std::io::Error::other("a thread panicked while it wrote the log");
            self.0.poison(IoError::new(std::path::Path::new("log"), "write", panic));
        }
        let mut gate = self.0.gate();
        gate.flushing = false;
        gate.callers = gate.covered + (self.0.arrived.load(Ordering::Relaxed) - gate.begun);
        if gate.sleepers.is_empty() {
            return;
        }
        let (tail, has_failed, mut has_heir) = (self.0.ring.tail(), self.0.cause.get().is_some(), false);
        // Its memory is kept.
        let mut woken = WOKEN.take();
        gate.sleepers.retain(|(to, sleeper)| {
            let is_served = *to <= tail || *to == ANY_FLUSH || has_failed;
            let is_woken = is_served || !std::mem::replace(&mut has_heir, true);
            if is_woken {
                woken.push(Arc::clone(sleeper));
            }
            !is_woken
        });
        drop(gate);
        woken.drain(..).for_each(|sleeper| sleeper.wake());
        WOKEN.set(woken);
    }
}

/// The position of those that wait for the end of a flush, whatever it made durable.
pub(super) const ANY_FLUSH: u64 = u64::MAX;

thread_local! {
    static SLEEPER: Arc<Sleeper> = Arc::default();
    static WOKEN: RefCell<Vec<Arc<Sleeper>>> = const { RefCell::new(Vec::new()) };
}

/// Threads that one flush is expected to wake; the room for them is made once for each log and each thread.
const EXPECTED_SLEEPERS: usize = 64;

/// Makes what a thread needs to sleep and to wake others at its first wait, whether it sleeps then or not: later waits
/// allocate nothing.
fn prepare_thread() {
    SLEEPER.with(|_| ());
    WOKEN.with_borrow_mut(|woken| woken.reserve(EXPECTED_SLEEPERS));
}

/// Where one thread sleeps.
#[derive(Default)]
struct Sleeper {
    is_woken: Mutex<bool>,
    come: Condvar,
}

impl Sleeper {
    fn sleep(&self) {
        let mut is_woken = self.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
        while !std::mem::take(&mut *is_woken) {
            is_woken = self.come.wait(is_woken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wake(&self) {
        *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.come.notify_one();
    }
}

impl LogState {
    pub fn new(config: LogConfig, segments: Segments, writer: Writer, end: Lsn) -> Self {
        Self {
            ring: Ring::new(config.log_buffer_bytes, config.prefault, end.0, config.appenders),
            max_record_bytes: config.max_record_bytes(),
            config,
            segments,
            attempts: SpareAttempts::default(),
            process: OpeningProcess::current(),
            writer: Mutex::new(writer),
            gate: Mutex::new(Gate { sleepers: Vec::with_capacity(EXPECTED_SLEEPERS), ..Gate::default() }),
            work: Condvar::new(),
            asleep: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            preparing: AtomicBool::new(false),
            arrived: AtomicU64::new(0),
            cause: OnceLock::new(),
            counts: Counts::default(),
        }
    }

    pub fn gate(&self) -> MutexGuard<'_, Gate> {
        // Nothing panics between changes of the gate.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        // A panic while it was held has poisoned the log.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if the log is poisoned.
    #[inline]
    pub fn healthy(&self) -> Result<(), LogError> {
        match self.cause.get() {
            None => Ok(()),
            Some(cause) => Err(LogError::Poisoned { cause: cause.clone() }),
        }
    }

    /// Fails in a child of the process that opened the log: a flusher of the parent never ends there.
    #[inline]
    pub fn check_process(&self) -> Result<(), LogError> {
        if self.process.is_current() { Ok(()) } else { Err(LogError::Forked { opened_by: self.process.id() }) }
    }

    /// Fails if the log is poisoned or closed.
    #[inline]
    pub fn open_for_appending(&self) -> Result<(), LogError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(LogError::Closed);
        }
        self.healthy()
    }

    fn poison(&self, cause: IoError) {
        // The first cause is the one to report.
        let _ = self.cause.set(Arc::new(cause));
    }

    /// Returns when everything below `to` is durable; flushes if no other thread does. `gather`: it may wait for other
    /// callers first, since this one holds nothing that they need.
    pub fn reach(&self, to: u64, gather: bool) -> Result<(), LogError> {
        if self.ring.tail() < to {
            prepare_thread();
            self.arrived.fetch_add(1, Ordering::Relaxed);
        }
        while self.ring.tail() < to {
            self.check_process()?;
            self.healthy()?;
            if let Some(role) = self.role_or_sleep(to) {
                if gather {
                    self.gather(&role);
                }
                let moved = self.flush(&role);
                drop(role);
                if !moved {
                    // An append is copying a record below ours at this moment.
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }

    /// Flushes once if anything is complete, or waits for another flusher; whether `durable` may have moved.
    pub fn flush_complete(&self) -> bool {
        let tail = self.ring.tail();
        if self.ring.complete() == tail || self.healthy().is_err() {
            return false;
        }
        self.role_or_sleep(tail + 1).is_none_or(|role| self.flush(&role))
    }

    /// Takes the role; or sleeps until the log is durable up to `to`, or the role may be taken, and returns without it.
    pub fn role_or_sleep(&self, to: u64) -> Option<Role<'_>> {
        let mut gate = self.gate();
        if self.ring.tail() >= to {
            return None;
        }
        if !gate.flushing {
            return Some(self.take(&mut gate));
        }
        let sleeper = SLEEPER.with(Arc::clone);
        gate.sleepers.push((to, Arc::clone(&sleeper)));
        drop(gate);
        sleeper.sleep();
        None
    }

    /// Waits for the callers that are expected, as many as were active at the last flush. A single one does not wait.
    fn gather(&self, _role: &Role<'_>) {
        let (begun, callers) = {
            let gate = self.gate();
            (gate.begun, gate.callers)
        };
        let all_arrived = || self.arrived.load(Ordering::Relaxed) - begun >= callers;
        if all_arrived() {
            return;
        }
        let clock = RealClock::new();
        while !all_arrived() && clock.monotonic_ns() < GATHER_NS {
            std::thread::yield_now();
        }
    }

    fn take(&self, gate: &mut Gate) -> Role<'_> {
        gate.flushing = true;
        Role(self)
    }

    /// Writes and forces one block of what is complete; whether there was anything.
    pub fn flush(&self, _role: &Role<'_>) -> bool {
        if self.cause.get().is_some() {
            return false;
        }
        let (from, to) = (self.ring.tail(), self.ring.complete());
        if from == to {
            return false;
        }
        {
            let (mut gate, arrived) = (self.gate(), self.arrived.load(Ordering::Relaxed));
            (gate.covered, gate.begun) = (arrived - gate.begun, arrived);
        }
        let mut writer = self.writer();
        // SAFETY: the role makes this the only flusher; `from` is `tail` and `to` is `complete`.
        let flushed = match unsafe { writer.flush(&self.ring, &self.segments, from, to) } {
            Ok(flushed) => flushed,
            Err(cause) => {
                self.poison(cause);
                return false;
            }
        };
        self.ring.order().advance_tail(flushed.end);
        self.set_limits(&writer);
        // Not at once: a log that stays short needs none. Not late: making one takes as long as writing a segment.
        let spare_wanted = writer.offset > writer.segment_bytes / 8;
        drop(writer);
        self.count(flushed.end - from, flushed.begun);
        if flushed.begun.is_some() {
            // If preparing one failed (the disk was full, say), it is time to retry.
            self.preparing.store(false, Ordering::Relaxed);
        }
        if spare_wanted
            && self.config.threads
            && self.segments.spares() == 0
            && !self.preparing.swap(true, Ordering::Relaxed)
        {
            self.send(Work::Prepare);
        }
        true
    }

    fn count(&self, bytes: u64, begun: Option<bool>) {
        self.counts.forces.fetch_add(1 + u64::from(begun.is_some()), Ordering::Relaxed);
        self.counts.blocks.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counts.segments.fetch_add(u64::from(begun.is_some()), Ordering::Relaxed);
        self.counts.segments_unprepared.fetch_add(u64::from(begun == Some(false)), Ordering::Relaxed);
    }

    pub fn count_full(&self) {
        self.counts.full.fetch_add(1, Ordering::Relaxed);
    }

    pub fn stats(&self) -> LogStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        LogStats {
            forces: read(&self.counts.forces),
            blocks: read(&self.counts.blocks),
            bytes: read(&self.counts.bytes),
            segments: read(&self.counts.segments),
            segments_unprepared: read(&self.counts.segments_unprepared),
            full: read(&self.counts.full),
        }
    }

    /// Ends the log on disk with a closing block. Everything appended must be durable.
    pub fn write_closed(&self) -> Result<(), LogError> {
        let mut writer = self.writer();
        if let Err(cause) = writer.close(Lsn(self.ring.tail())) {
            self.poison(cause);
        }
        self.healthy()
    }
}
