//! The time, in microseconds since 1970, that never goes back within a process.

use std::sync::OnceLock;

use glassbox::io::{Clock, RealClock};

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
