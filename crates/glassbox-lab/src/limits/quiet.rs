//! Before a run: the machine at rest and memory at hand, so that nothing is measured with a system that is not its own.
//!
//! What a system leaves to do when it has answered (segments of a log to be made ready, memory to be cleared) would
//! take time from the next one's. And where the machine is a virtual one, its host may take memory back that has not
//! been used for a few seconds; to get it again takes twenty times as long as the system's own clearing. A kernel has
//! all its memory beforehand. An engine asks as its tables grow, and should then wait for the system alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::time::{Duration, Instant};

use super::kernel::touch_and_give_back;

/// Between two looks at what the other threads did.
const LOOK: Duration = Duration::from_millis(10);
/// So much of it they may have run, together.
const IDLE: Duration = Duration::from_micros(100);
/// Who works longer than this does not end.
const MOST: Duration = Duration::from_secs(2);

/// Waits until the other threads of this process have nothing to do; not where the system does not tell.
pub(super) fn rest() {
    let (started, mut before) = (Instant::now(), others_ran());
    while started.elapsed() < MOST {
        std::thread::sleep(LOOK);
        let now = others_ran();
        // One that has ended takes nothing away from what the others did.
        let since = |(thread, ran): (_, &Duration)| ran.saturating_sub(before.get(thread).copied().unwrap_or_default());
        if now.iter().map(since).sum::<Duration>() < IDLE {
            break;
        }
        before = now;
    }
}

/// How long each other thread that there is has run.
fn others_ran() -> BTreeMap<OsString, Duration> {
    let this = fs::read_link("/proc/thread-self").unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| Some(task.file_name().as_os_str()) != this.file_name());
    let ran = |task: DirEntry| {
        // A thread may have ended meanwhile. Nanoseconds on a core come first.
        let told = fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((task.file_name(), Duration::from_nanos(told.split(' ').next()?.parse().ok()?)))
    };
    others.filter_map(ran).collect()
}

/// Has the system have as much memory at hand as so many transactions add. An engine asks ahead, and in huge pages: so
/// twice as much, and some more.
pub(super) fn memory_at_hand(transactions: usize, transaction_bytes: u64) {
    // Without it the run is only slower.
    let _ = touch_and_give_back(2 * transactions * transaction_bytes as usize + (64 << 20));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_is_waited_for() {
        let works = Duration::from_millis(300);
        let started = Instant::now();
        let thread = std::thread::spawn(move || while started.elapsed() < works {});
        rest();
        // Other tests may run beside this one, for as long as they like.
        assert!(started.elapsed() >= works || !std::path::Path::new("/proc/self/task").exists());
        thread.join().unwrap();
    }
}
