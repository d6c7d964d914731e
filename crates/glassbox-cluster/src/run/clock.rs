//! The time, in microseconds since 1970, that never goes back within a process.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

/// Now.
pub(super) fn now_us() -> u64 {
    static BEGAN: OnceLock<(Instant, u64)> = OnceLock::new();
    let (began, at_us) = BEGAN.get_or_init(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (Instant::now(), since.as_micros() as u64)
    });
    at_us + began.elapsed().as_micros() as u64
}
