//! Clocks: the system's, and one that is set manually.

#[cfg(target_os = "linux")]
use std::cell::Cell;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock. Its two readings are unrelated: wall time may jump, monotonic time never decreases.
pub trait Clock: Send + Sync {
    /// Wall time: microseconds since 1970-01-01 00:00:00 UTC; before that, negative.
    fn wall_us(&self) -> i64;
    /// Nanoseconds since some moment before the clock was made.
    fn monotonic_ns(&self) -> u64;
    /// Returns when the monotonic time is `until_ns` or later. Precise to some microseconds: the last of them are spent
    /// looking at the clock.
    fn sleep_until_ns(&self, until_ns: u64) {
        wake_in_time();
        loop {
            let left_ns = until_ns.saturating_sub(self.monotonic_ns());
            match left_ns {
                0 => return,
                LOOK_NS.. => std::thread::sleep(Duration::from_nanos(left_ns - LOOK_NS)),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// A sleep may end so much later than asked for.
const LOOK_NS: u64 = 10_000;

/// Makes the sleeps of this thread end when they should: by default Linux ends them up to 50 µs later.
fn wake_in_time() {
    #[cfg(target_os = "linux")]
    {
        thread_local! { static IS_SET: Cell<bool> = const { Cell::new(false) } }
        if !IS_SET.replace(true) {
            // If it is refused, sleeps are less precise.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
    }
}

/// The operating system's clock.
#[derive(Clone, Debug)]
pub struct RealClock {
    origin_ns: u64,
}

impl RealClock {
    /// A clock whose monotonic time starts now.
    pub fn new() -> Self {
        Self { origin_ns: monotonic_ns() }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    #[inline]
    fn wall_us(&self) -> i64 {
        wall_us()
    }

    #[inline]
    fn monotonic_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }
}

// A direct system call: the difference of two times of the standard library costs more than reading the clock.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[inline]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `now` only.
    let result = unsafe { libc::clock_gettime(clock, &raw mut now) };
    debug_assert_eq!(result, 0, "there is such a clock");
    now
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[inline]
fn wall_us() -> i64 {
    let now = read(libc::CLOCK_REALTIME);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1_000)
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[inline]
fn monotonic_ns() -> u64 {
    let now = read(libc::CLOCK_MONOTONIC);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn wall_us() -> i64 {
    let micros = |d: std::time::Duration| i64::try_from(d.as_micros()).unwrap_or(i64::MAX);
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => micros(since),
        Err(before) => -micros(before.duration()),
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn monotonic_ns() -> u64 {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let began = BEGAN.get_or_init(std::time::Instant::now);
    u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A clock that is set manually. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    ns: Arc<AtomicU64>,
}

impl ManualClock {
    /// Advances the clock by `ns` nanoseconds.
    pub fn advance_ns(&self, ns: u64) {
        self.ns.fetch_add(ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall_us(&self) -> i64 {
        (self.monotonic_ns() / 1_000) as i64
    }

    fn monotonic_ns(&self) -> u64 {
        self.ns.load(Ordering::SeqCst)
    }

    /// Advances to then.
    fn sleep_until_ns(&self, until_ns: u64) {
        self.ns.fetch_max(until_ns, Ordering::SeqCst);
    }
}
