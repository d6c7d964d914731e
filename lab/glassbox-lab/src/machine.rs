//! The machine under measurement: quiet cores for the threads that are measured, and rest and free memory before a run.
//!
//! A device interrupts the cores that the system chose for it, and a thread on such a core pays for that. The system
//! moves a thread that may run anywhere to a quiet core; a thread that is pinned, so that it stays near its caches, has
//! to be pinned to one.
//!
//! Work that a system still has to do after its last answer (preparing log segments, clearing memory) would cost the
//! next system time. In addition, the host of a virtual machine may reclaim memory that has been unused for some
//! seconds; getting it back takes twenty times as long as clearing a page of the system's own. A kernel has all its
//! memory before a run. An engine asks as its tables grow, and should then wait for the system alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::time::{Duration, Instant};

use core_affinity::CoreId;

use glassbox_kernels::touch_and_release;

/// The cores that this thread may run on, in ascending order of device interrupts since the system started. Where the
/// system does not report them, the last core comes first.
pub(crate) fn quietest_first() -> Vec<CoreId> {
    // If it cannot be read, or is not as expected, none was interrupted.
    let text = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.reverse();
    cores.sort_by_key(|core| interrupts(&text, core.id));
    cores
}

/// How often devices have interrupted a core: the rows of `/proc/interrupts` whose label is a number.
fn interrupts(text: &str, core: usize) -> u64 {
    let mut rows = text.lines();
    let heading = rows.next().unwrap_or_default();
    let Some(column) = heading.split_whitespace().position(|name| name == format!("CPU{core}")) else { return 0 };
    let of_device = rows.filter_map(|row| {
        let (label, counts) = row.split_once(':')?;
        label.trim().parse::<u32>().ok()?;
        counts.split_whitespace().nth(column)?.parse::<u64>().ok()
    });
    of_device.sum()
}

/// How long this thread has been ready without a core, since its start.
pub(crate) fn waited_seconds() -> f64 {
    // Nanoseconds on a core, nanoseconds waiting for one, and how often.
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').nth(1).and_then(|ns| ns.parse::<f64>().ok()).map_or(0.0, |ns| ns / 1e9)
}

/// Time between two samples of the other threads.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);
/// Maximum run time of all other threads together between two samples of an idle process.
const MAX_IDLE: Duration = Duration::from_micros(100);
/// Maximum wait for the other threads to become idle.
const MAX_REST: Duration = Duration::from_secs(2);

/// Waits until the other threads of this process are idle, where the system reports what they do.
pub(crate) fn rest() {
    let (started, mut before) = (Instant::now(), other_threads());
    while started.elapsed() < MAX_REST {
        std::thread::sleep(SAMPLE_EVERY);
        let now = other_threads();
        // A thread that has ended does not reduce the sum of the others.
        let since = |(thread, now): (_, &Activity)| {
            let before = before.get(thread).map(|activity| activity.ran).unwrap_or_default();
            now.ran.saturating_sub(before)
        };
        let is_idle = now.iter().map(since).sum::<Duration>() < MAX_IDLE;
        if is_idle && !now.values().any(|activity| activity.is_ready) {
            break;
        }
        before = now;
    }
}

/// A thread's use of cores, as the system reports it.
struct Activity {
    /// Time on a core since its start.
    ran: Duration,
    /// Whether it runs, or is ready and waits for a core: on a busy machine it may get none between two samples.
    is_ready: bool,
}

/// The other threads of this process.
fn other_threads() -> BTreeMap<OsString, Activity> {
    let this = fs::read_link("/proc/thread-self").unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| Some(task.file_name().as_os_str()) != this.file_name());
    let activity = |task: DirEntry| {
        // A thread may have ended meanwhile. Nanoseconds on a core come first.
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let ran = Duration::from_nanos(text.split(' ').next()?.parse().ok()?);
        // The state follows the name, which may contain anything.
        let text = fs::read_to_string(task.path().join("stat")).ok()?;
        let is_ready = text.rsplit_once(") ")?.1.starts_with('R');
        Some((task.file_name(), Activity { ran, is_ready }))
    };
    others.filter_map(activity).collect()
}

/// Has the system provide as much free memory as so many transactions add. An engine allocates in advance, and in huge
/// pages, so twice as much and 64 MiB.
pub(crate) fn provide_memory(transactions: usize, transaction_bytes: u64) {
    // Without it the run is only slower.
    let _ = touch_and_release(2 * transactions * transaction_bytes as usize + (64 << 20));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_of_devices_are_added_up_by_core() {
        let text = "           CPU0       CPU2\n\
                     28:          7          0  PCI-MSIX   0-edge      disk\n\
                     36:         12    2388067  PCI-MSIX   1-edge      9 network\n\
                    LOC:    4000000          1   Local timer\n\
                    ERR:          0\n";
        assert_eq!([0, 1, 2].map(|core| interrupts(text, core)), [19, 0, 2_388_067]);
        assert_eq!(interrupts("", 0), 0);
    }

    #[test]
    fn every_core_is_listed_once() {
        let mut cores: Vec<_> = quietest_first().into_iter().map(|core| core.id).collect();
        cores.sort_unstable();
        let all: Vec<_> = core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
        assert_eq!(cores, all);
    }

    #[test]
    fn rest_waits_for_a_running_thread() {
        let works = Duration::from_millis(300);
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let started = Instant::now();
            sender.send(started).unwrap();
            while started.elapsed() < works {}
        });
        let started = receiver.recv().unwrap();
        rest();
        // Other tests may run at the same time, for any duration.
        assert!(started.elapsed() >= works || !std::path::Path::new("/proc/self/task").exists());
        thread.join().unwrap();
    }
}
